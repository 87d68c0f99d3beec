// CUDA tensors of a trainer over the fake GPU, against a scripted worker, for tests.
#ifndef REIGEN_CLIENT_C_SDK_DEVICE_FIXTURE_H_
#define REIGEN_CLIENT_C_SDK_DEVICE_FIXTURE_H_

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/c/fake_worker.h"
#include "client/c/reigen.h"
#include "client/c/sums_on_gpus.h"
#include "client/cuda/kernel_image.h"
#include "client/cuda/testing/fake_driver.h"
#include "runtime/base/dtype.h"

namespace reigen::sdk {

inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr uint8_t kFloat = static_cast<uint8_t>(DataType::kFloat32);

inline local::CommandSlot Reduction() {
  local::CommandSlot head;
  head.kind = local::CommandKind::kReduce;
  head.item_count = 1;
  head.dtype = head.received_dtype = head.out_dtype = kFloat;
  head.op = static_cast<uint8_t>(ReduceOp::kSum);
  head.inputs = 1;
  head.outputs = 1;
  return head;
}

// Multiplies every float by 3: on the GPU, by a command for each tensor, what lies there.
class Tripler {
 public:
  void Install(FakeScript* script) {
    script->on_request = [this](FakeWorker& worker, const SeenRequest& seen) {
      OnRequest(worker, seen);
    };
    script->on_done = [this](FakeWorker& worker, const local::DoneSlot& done) {
      OnDone(worker, done);
    };
  }
  int on_device() const { return on_device_.load(); }
  int on_host() const { return on_host_.load(); }

 private:
  struct Waiting {
    int commands = 0;
    local::ResultCode code = local::ResultCode::kOk;
    std::string text;
  };

  void OnRequest(FakeWorker& worker, const SeenRequest& seen) {
    for (const local::TensorSlot& tensor : seen.tensors) {
      if (!worker.IsOnDevice(tensor)) {
        ++on_host_;
        auto* values = reinterpret_cast<float*>(worker.Memory(tensor));
        for (uint64_t i = 0; i < tensor.count; ++i) values[i] *= 3;
        continue;
      }
      ++on_device_;
      local::CommandSlot head = Reduction();
      head.prescale = 3;
      const uint64_t id = worker.Command(
          head, {local::ItemSize{.count = tensor.count, .reserved = 0}, worker.Place(tensor),
                 worker.Place(tensor)});
      request_of_[id] = seen.head.request;
      ++waiting_[seen.head.request].commands;
    }
    if (!waiting_.contains(seen.head.request)) worker.Complete(seen.head.request);
  }
  void OnDone(FakeWorker& worker, const local::DoneSlot& done) {
    const auto found = request_of_.find(done.id);
    if (found == request_of_.end()) return;
    Waiting& waiting = waiting_[found->second];
    if (done.code != local::ResultCode::kOk) {
      waiting.code = done.code;
      waiting.text.assign(done.text, done.text_bytes);
    }
    if (--waiting.commands > 0) return;
    worker.Complete(found->second, waiting.code, waiting.text);
    waiting_.erase(found->second);
  }

  std::atomic<int> on_device_{0};
  std::atomic<int> on_host_{0};
  std::map<uint64_t, uint64_t> request_of_;  // by command
  std::map<uint64_t, Waiting> waiting_;      // by request
};

class SdkDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda::KernelImageText() == nullptr) GTEST_SKIP() << "built without nvcc";
  }
  ~SdkDeviceTest() override {
    driver_.Mend();
    reigen_shutdown();
    for (const char* name :
         {"REIGEN_SOCKET", "REIGEN_RANK", "REIGEN_CUDA_ARENA_MB", "REIGEN_TIMEOUT_SCALE"}) {
      unsetenv(name);
    }
  }

  void Begin() { Begin({}); }
  void Begin(FakeScript script) {
    script.takes_device_arenas = true;
    tripler_.Install(&script);
    BeginWith(std::move(script));
  }
  // Nothing is done with what comes.
  void BeginSilent() { BeginSilent({}); }
  void BeginSilent(FakeScript script) {
    script.takes_device_arenas = true;
    BeginWith(std::move(script));
  }
  void BeginWith(FakeScript script) {
    worker_ = std::make_unique<FakeWorker>(std::move(script));
    worker_->SetEnvironment();
    ASSERT_EQ(reigen_init(), REIGEN_OK) << reigen_last_error();
  }

  reigen_tensor Tensor(cuda::CuAddress memory, const int64_t* count, const char* name) const {
    return FloatsOnGpu(memory, count, name, stream_);
  }
  static reigen_status Start(const std::vector<reigen_tensor>& tensors, reigen_handle* handle) {
    return StartSum(tensors, handle);
  }
  reigen_status Finish(reigen_handle handle) {
    const reigen_status status = reigen_wait(handle, 60.0);
    last_ = status == REIGEN_OK ? "" : reigen_last_error();
    EXPECT_EQ(reigen_release(handle), REIGEN_OK);
    return status;
  }
  // A tensor of two, started; `x_` has it.
  void StartTwo(reigen_handle* handle, const char* name = "x") {
    x_ = driver_.Allocate(8);
    driver_.Write(x_, {1, 2}, stream_);
    ASSERT_EQ(Start({Tensor(x_, &two_, name)}, handle), REIGEN_OK) << reigen_last_error();
  }
  // As a stream sees it that waits for no other one.
  std::vector<float> ByAnotherStream() { return driver_.Read(x_, 2, driver_.NewStream()); }
  std::vector<float> Two() { return driver_.Read(x_, 2, stream_); }

  // Of this process, until there are more than `before`; 30 s at most.
  void WaitForMoreCalls(const char* symbol, int before) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (driver_.calls(symbol) <= before && std::chrono::steady_clock::now() < limit) {
      std::this_thread::yield();
    }
    EXPECT_GT(driver_.calls(symbol), before) << symbol;
  }

  local::DoneSlot DoneOf(uint64_t id) {
    for (size_t count = 1;; ++count) {
      for (const local::DoneSlot& done : worker_->WaitForDone(count)) {
        if (done.id == id) return done;
      }
    }
  }

  std::string last_;
  cuda::FakeDriver driver_;
  cuda::CuStream stream_ = driver_.NewStream();
  cuda::CuAddress x_ = 0;
  const int64_t two_ = 2;
  Tripler tripler_;
  std::unique_ptr<FakeWorker> worker_;
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_SDK_DEVICE_FIXTURE_H_
