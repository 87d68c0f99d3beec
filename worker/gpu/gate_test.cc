// Goal: buckets start in order, on GPUs where all can reach all, else mirrored, and a
// request that has begun on GPUs is whole when it goes on elsewhere.
// Method: GPUs by hand; addresses below 1000 are the host's, others GPUs'.
#include "worker/gpu/gate.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "proto/local/local.h"

namespace reigen::worker {
namespace {

using Verdict = GateGpus::Fitness::Verdict;

std::byte* At(uintptr_t address) { return reinterpret_cast<std::byte*>(address); }

class GateTest : public testing::Test, public GateGpus {
 protected:
  bool IsDevice(const std::byte* at) const override { return at >= At(1000); }
  Fitness Fits(const collective::Bucket&) override {
    return {fits_, fits_ == Verdict::kNot ? "no peer access" : ""};
  }
  std::string WhyNotUsed() const override { return why_not_used_; }
  void StopWaiting() override { fits_ = Verdict::kNot; }
  void Mirror(int local, const Request& request, const std::string&, Mirrored mirrored) override {
    mirrors_.push_back({local, request.id, std::move(mirrored)});
  }

  // One request of both ranks; rank 1's data a byte behind rank 0's.
  static InstancePtr MakeInstance(const std::string& name, const std::vector<uintptr_t>& data,
                                  uint32_t device_kind = local::kCudaDevice) {
    auto spec = std::make_shared<RequestSpec>();
    spec->device_kind = device_kind;
    spec->tensors.resize(data.size());
    auto instance = std::make_shared<Instance>();
    instance->name = name;
    for (uintptr_t local = 0; local < 2; ++local) {
      Request request;
      request.id = 10 * (local + 1);
      request.spec = spec;
      for (uintptr_t at : data) request.data.push_back(at == 0 ? nullptr : At(at + local));
      instance->requests.push_back(request);
    }
    return instance;
  }

  // Of one tensor of each instance.
  void Push(Gate& gate, const std::vector<std::pair<InstancePtr, uint32_t>>& tensors,
            int hosts = 1) {
    collective::Bucket bucket;
    bucket.id.sequence = next_++;
    if (hosts > 1) bucket.algorithm = Algorithm::kRing;
    for (int host = 0; host < hosts; ++host) bucket.hosts.push_back(host);
    std::vector<InstancePtr> instances;
    std::vector<uint32_t> indices;
    for (const auto& [instance, index] : tensors) {
      collective::BucketTensor tensor;
      for (const auto& request : instance->requests) {
        tensor.inputs.push_back(request->data[index]);
        tensor.outputs.push_back(request->data[index]);
      }
      bucket.tensors.push_back(tensor);
      instances.push_back(instance);
      indices.push_back(index);
    }
    bucket.done = [this, sequence = bucket.id.sequence](const Status& status) {
      ended_.push_back(std::to_string(sequence) + ":" + Message(status));
    };
    gate.Push(std::move(bucket), std::move(instances), std::move(indices), now_);
  }

  void AnswerMirror(size_t i, std::vector<uintptr_t> places) {
    std::vector<std::byte*> memory;
    for (uintptr_t at : places) memory.push_back(At(at));
    mirrors_[i].mirrored(memory);
  }

  struct MirrorAsked {
    int local = 0;
    uint64_t request = 0;
    Mirrored mirrored;
  };

  std::string why_not_used_;
  Verdict fits_ = Verdict::kFits;
  Time now_{};
  uint64_t next_ = 0;
  std::vector<MirrorAsked> mirrors_;
  std::vector<collective::Bucket> started_;
  std::vector<std::string> ended_;
  Gate gate_{Gate::Options(), this,
             [this](collective::Bucket bucket) { started_.push_back(std::move(bucket)); }};
};

TEST_F(GateTest, HostBucketsPassAtOnceAndFittingOnesRunOnGpus) {
  Push(gate_, {{MakeInstance("x", {8}, local::kHostDevice), 0}});
  Push(gate_, {{MakeInstance("y", {5000}), 0}});
  ASSERT_EQ(started_.size(), 2u);
  EXPECT_FALSE(started_[0].on_gpus);
  EXPECT_TRUE(started_[1].on_gpus);
  EXPECT_EQ(gate_.waiting(), 0u);
}

TEST_F(GateTest, NothingOvertakesABucketThatWaits) {
  fits_ = Verdict::kLater;
  Push(gate_, {{MakeInstance("x", {5000}), 0}});
  Push(gate_, {{MakeInstance("y", {8}, local::kHostDevice), 0}});
  EXPECT_TRUE(started_.empty());
  EXPECT_EQ(gate_.NextDeadline(), now_ + seconds(60));
  fits_ = Verdict::kFits;
  EXPECT_TRUE(gate_.Step(now_));
  ASSERT_EQ(started_.size(), 2u);
  EXPECT_TRUE(started_[0].on_gpus);
  EXPECT_EQ(gate_.NextDeadline(), std::nullopt);
}

TEST_F(GateTest, AfterTheLimitItIsMirrored) {
  fits_ = Verdict::kLater;
  Push(gate_, {{MakeInstance("x", {5000}), 0}});
  gate_.Step(now_ + seconds(59));
  EXPECT_TRUE(mirrors_.empty());
  gate_.Step(now_ + seconds(60));
  ASSERT_EQ(mirrors_.size(), 2u);
  EXPECT_EQ(mirrors_[1].local, 1);
  EXPECT_EQ(mirrors_[1].request, 20u);
  EXPECT_EQ(gate_.NextDeadline(), std::nullopt) << "mirrors have their own limit";
  AnswerMirror(0, {64});
  EXPECT_FALSE(gate_.Step(now_));
  AnswerMirror(1, {128});
  EXPECT_TRUE(gate_.Step(now_));
  ASSERT_EQ(started_.size(), 1u);
  EXPECT_FALSE(started_[0].on_gpus);
  EXPECT_EQ(started_[0].tensors[0].inputs, (std::vector<const std::byte*>{At(64), At(128)}));
  EXPECT_EQ(started_[0].tensors[0].outputs, (std::vector<std::byte*>{At(64), At(128)}));
}

TEST_F(GateTest, OfMixedPayloadsOnlyThoseOnGpusAreMirrored) {
  const InstancePtr instance = MakeInstance("x", {5000});
  instance->requests[0]->data[0] = At(64);
  Push(gate_, {{instance, 0}});
  ASSERT_EQ(mirrors_.size(), 1u);
  EXPECT_EQ(mirrors_[0].local, 1);
  AnswerMirror(0, {128});
  gate_.Step(now_);
  EXPECT_EQ(started_[0].tensors[0].inputs, (std::vector<const std::byte*>{At(64), At(128)}));
  EXPECT_EQ(instance->requests[1]->data[0], At(128)) << "for its other buckets";
}

TEST_F(GateTest, ARequestThatBeganOnGpusIsMirroredOnceThatIsDone) {
  const InstancePtr group = MakeInstance("g", {5000, 6000, 0});
  Push(gate_, {{group, 0}});
  ASSERT_EQ(started_.size(), 1u);
  const InstancePtr mixed = MakeInstance("m", {64});
  Push(gate_, {{group, 1}, {mixed, 0}});
  Push(gate_, {{group, 2}});
  EXPECT_TRUE(mirrors_.empty()) << "its first bucket writes to the GPUs";
  started_[0].done(OkStatus());
  gate_.Step(now_);
  ASSERT_EQ(mirrors_.size(), 2u);
  AnswerMirror(0, {128, 192, 0});
  AnswerMirror(1, {256, 320, 0});
  gate_.Step(now_);
  ASSERT_EQ(started_.size(), 3u);
  EXPECT_EQ(started_[1].tensors[0].inputs, (std::vector<const std::byte*>{At(192), At(320)}));
  EXPECT_EQ(started_[1].tensors[1].inputs, (std::vector<const std::byte*>{At(64), At(65)}));
  EXPECT_FALSE(started_[2].on_gpus) << "a tensor without elements";
}

TEST_F(GateTest, AMirrorThatFailsFailsItsBucketAndTheNextOnesGoOn) {
  fits_ = Verdict::kNot;
  Push(gate_, {{MakeInstance("x", {5000}), 0}});
  Push(gate_, {{MakeInstance("y", {64}), 0}});
  mirrors_[0].mirrored(Internal("rank 0's GPU: out of memory"));
  AnswerMirror(1, {64});
  gate_.Step(now_);
  EXPECT_EQ(ended_, (std::vector<std::string>{"0:x: rank 0's GPU: out of memory"}));
  EXPECT_EQ(started_.size(), 1u);
}

TEST_F(GateTest, RequireFailsWhatCannotRunOnGpusBetweenHosts) {
  Gate gate({.require = true}, this,
            [this](collective::Bucket bucket) { started_.push_back(std::move(bucket)); });
  Push(gate, {{MakeInstance("fits", {5000}), 0}}, 2);
  Push(gate, {{MakeInstance("host", {64}, local::kHostDevice), 0}}, 2);
  EXPECT_EQ(started_.size(), 2u);
  fits_ = Verdict::kNot;
  Push(gate, {{MakeInstance("x", {5000}), 0}}, 2);
  Push(gate, {{MakeInstance("y", {64}), 0}}, 2);
  ASSERT_EQ(ended_.size(), 2u);
  EXPECT_EQ(ended_[0], "2:x: no peer access, but --gpu-direct is require");
  EXPECT_EQ(ended_[1],
            "3:y: not all ranks of this host have it on their GPUs (they say why; more room "
            "there: REIGEN_CUDA_ARENA_MB), but --gpu-direct is require");
  why_not_used_ = "rank 1 has no tensors on its GPU: no kernels";
  Push(gate, {{MakeInstance("z", {64}), 0}}, 2);
  EXPECT_EQ(ended_.at(2),
            "4:z: not all ranks of this host have it on their GPUs (rank 1 has no tensors on its "
            "GPU: no kernels), but --gpu-direct is require");
  Push(gate, {{MakeInstance("one host", {5000}), 0}});
  EXPECT_EQ(mirrors_.size(), 2u);
}

TEST_F(GateTest, CancelEndsWhatWaitsAndLateMirrorsDoNothing) {
  fits_ = Verdict::kNot;
  Push(gate_, {{MakeInstance("x", {5000}), 0}});
  gate_.CancelAll(Aborted("over"));
  EXPECT_EQ(ended_, (std::vector<std::string>{"0:over"}));
  EXPECT_EQ(gate_.waiting(), 0u);
  AnswerMirror(0, {64});
  EXPECT_FALSE(gate_.Step(now_));
  EXPECT_TRUE(started_.empty());
}

}  // namespace
}  // namespace reigen::worker
