// Goal: the C interface against a scripted worker: what goes over the local
// protocol, what comes back into the caller's memory, and how everything ends.
#include <chrono>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "client/c/fake_worker.h"
#include "client/c/reigen.h"
#include "gtest/gtest.h"

namespace reigen::sdk {
namespace {

using Shape = std::vector<int64_t>;

class SdkTest : public testing::Test {
 protected:
  ~SdkTest() override {
    reigen_shutdown();
    unsetenv("REIGEN_SOCKET");
    unsetenv("REIGEN_RANK");
  }

  void Begin(FakeScript script) {
    worker_ = std::make_unique<FakeWorker>(std::move(script));
    worker_->SetEnvironment();
    ASSERT_EQ(reigen_init(), REIGEN_OK) << reigen_last_error();
  }

  std::unique_ptr<FakeWorker> worker_;
};

FakeScript Echoing() {
  FakeScript script;
  script.on_request = [](FakeWorker& worker, const SeenRequest& seen) { worker.Echo(seen); };
  return script;
}

reigen_tensor Tensor(const void* input, void* output, int32_t dtype, const Shape& shape,
                     const char* name = nullptr) {
  reigen_tensor tensor = {};
  tensor.struct_size = sizeof(tensor);
  tensor.name = name;
  tensor.input = input;
  tensor.output = output;
  tensor.dtype = dtype;
  tensor.ndim = static_cast<int32_t>(shape.size());
  tensor.shape = shape.data();
  return tensor;
}

reigen_allreduce_options Sum() {
  return {.struct_size = sizeof(reigen_allreduce_options), .op = REIGEN_SUM, .process_set = 0,
          .prescale = 1.0, .postscale = 1.0};
}

reigen_status Allreduce(const reigen_tensor& tensor, reigen_handle* handle) {
  const reigen_allreduce_options options = Sum();
  return reigen_allreduce_async(nullptr, &tensor, 1, &options, handle);
}

reigen_status Finish(reigen_handle handle) {
  const reigen_status status = reigen_wait(handle, 10.0);
  const std::string text = reigen_last_error();
  EXPECT_EQ(reigen_release(handle), REIGEN_OK);
  return status;
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(SdkTest, InitGivesThePlaceThatTheWorkerAssigned) {
  FakeScript script;
  script.rank = 2;
  Begin(script);
  EXPECT_EQ(reigen_is_initialized(), 1);
  EXPECT_EQ(reigen_rank(), 2);
  EXPECT_EQ(reigen_size(), 4);
  EXPECT_EQ(reigen_local_rank(), 2);
  EXPECT_EQ(reigen_cross_size(), 1);
  EXPECT_EQ(reigen_init(), REIGEN_OK);
  EXPECT_EQ(reigen_shutdown(), REIGEN_OK);
  EXPECT_EQ(reigen_is_initialized(), 0);
  EXPECT_EQ(reigen_rank(), -REIGEN_FAILED_PRECONDITION);
  EXPECT_EQ(reigen_shutdown(), REIGEN_OK);
}

TEST_F(SdkTest, ASmallTensorTravelsInTheRecord) {
  FakeScript script;
  script.on_request = [](FakeWorker& worker, const SeenRequest& seen) {
    float values[3];
    std::memcpy(values, seen.tensors[0].inline_bytes, sizeof(values));
    for (float& value : values) value *= 4;
    worker.Complete(seen.head.request, local::ResultCode::kOk, "", values, sizeof(values));
  };
  Begin(script);
  const float input[3] = {1, 2, 3};
  float output[3] = {};
  const Shape shape = {3};
  reigen_handle handle = 0;
  ASSERT_EQ(Allreduce(Tensor(input, output, REIGEN_FLOAT32, shape, "x"), &handle), REIGEN_OK);
  EXPECT_EQ(Finish(handle), REIGEN_OK);
  EXPECT_EQ(output[2], 12);
  const auto seen = worker_->WaitForRequests(1)[0];
  EXPECT_EQ(seen.name, "allreduce.x");
  EXPECT_EQ(seen.tensors[0].arena, local::kInlineArena);
  EXPECT_EQ(seen.tensors[0].shape[0], 3u);
}

TEST_F(SdkTest, ALargeTensorTravelsInTheArenaAndBackIntoAStridedView) {
  FakeScript script;
  script.on_request = [](FakeWorker& worker, const SeenRequest& seen) {
    auto* values = reinterpret_cast<int32_t*>(worker.Memory(seen.tensors[0]));
    for (uint64_t i = 0; i < seen.tensors[0].count; ++i) values[i] += 1000;
    worker.Complete(seen.head.request);
  };
  Begin(script);
  std::vector<int32_t> memory(64);
  std::iota(memory.begin(), memory.end(), 0);
  const Shape shape = {2, 16};        // the transposed even columns of a 16x4 matrix
  const Shape strides = {8, 16};
  reigen_tensor tensor = Tensor(memory.data(), memory.data(), REIGEN_INT32, shape, "view");
  tensor.input_strides = strides.data();
  tensor.output_strides = strides.data();
  reigen_handle handle = 0;
  ASSERT_EQ(Allreduce(tensor, &handle), REIGEN_OK);
  EXPECT_EQ(Finish(handle), REIGEN_OK);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(memory[i], i % 2 == 0 ? i + 1000 : i);
}

TEST_F(SdkTest, PollWritesTheResultAndNeverWaits) {
  Begin({});
  std::vector<double> values(100, 1.0);
  const Shape shape = {100};
  reigen_handle handle = 0;
  ASSERT_EQ(Allreduce(Tensor(values.data(), values.data(), REIGEN_FLOAT64, shape), &handle),
            REIGEN_OK);
  int32_t done = 1;
  ASSERT_EQ(reigen_poll(handle, &done), REIGEN_OK);
  EXPECT_EQ(done, 0);
  EXPECT_EQ(reigen_wait(handle, 0.01), REIGEN_TIMEOUT);
  const auto seen = worker_->WaitForRequests(1)[0];
  EXPECT_EQ(seen.name, "allreduce.noname.1");
  reinterpret_cast<double*>(worker_->Memory(seen.tensors[0]))[99] = 7.0;
  worker_->Complete(seen.head.request);
  ASSERT_EQ(reigen_poll(handle, &done), REIGEN_OK);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(values[99], 7.0);
  EXPECT_EQ(Finish(handle), REIGEN_OK);
  EXPECT_EQ(reigen_wait(handle, 0), REIGEN_INVALID_ARGUMENT);
}

TEST_F(SdkTest, AWaitThatSleepsIsWoken) {
  Begin({});
  std::thread late([&] {
    const auto seen = worker_->WaitForRequests(1)[0];
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    worker_->Complete(seen.head.request);
  });
  reigen_handle handle = 0;
  ASSERT_EQ(reigen_barrier_async(0, &handle), REIGEN_OK);
  EXPECT_EQ(reigen_wait(handle, -1), REIGEN_OK);
  EXPECT_EQ(reigen_release(handle), REIGEN_OK);
  late.join();
  EXPECT_EQ(worker_->WaitForRequests(1)[0].name, "barrier.noname.1");
}

TEST_F(SdkTest, AFailureHasTheWorkersCodeAndWholeText) {
  const std::string text = "allreduce.x: ranks disagree on shape: " + std::string(1000, 'y');
  FakeScript script;
  script.on_request = [text](FakeWorker& worker, const SeenRequest& seen) {
    worker.Complete(seen.head.request, local::ResultCode::kFailedPrecondition, text);
  };
  Begin(script);
  std::vector<float> values(10, 1.0f);
  const Shape shape = {10};
  reigen_handle handle = 0;
  ASSERT_EQ(Allreduce(Tensor(values.data(), values.data(), REIGEN_FLOAT32, shape, "x"), &handle),
            REIGEN_OK);
  EXPECT_EQ(reigen_wait(handle, 10), REIGEN_FAILED_PRECONDITION);
  EXPECT_EQ(reigen_last_error(), text);
  EXPECT_EQ(reigen_release(handle), REIGEN_OK);
}

TEST_F(SdkTest, AGroupIsOneRequestWithNamedMembers) {
  Begin(Echoing());
  float a[2] = {1, 2}, b[20] = {};
  const Shape two = {2}, twenty = {4, 5}, none = {3, 0};
  const reigen_tensor tensors[] = {Tensor(a, a, REIGEN_FLOAT32, two),
                                   Tensor(b, b, REIGEN_FLOAT32, twenty, "own"),
                                   Tensor(nullptr, nullptr, REIGEN_INT8, none)};
  const reigen_allreduce_options options = Sum();
  reigen_handle handle = 0;
  ASSERT_EQ(reigen_allreduce_async("g", tensors, 3, &options, &handle), REIGEN_OK);
  EXPECT_EQ(Finish(handle), REIGEN_OK);
  const auto seen = worker_->WaitForRequests(1)[0];
  EXPECT_EQ(seen.name, "allreduce.g");
  EXPECT_EQ(seen.tensor_names,
            (std::vector<std::string>{"allreduce.g_1of3", "allreduce.own", "allreduce.g_3of3"}));
  EXPECT_NE(seen.tensors[0].arena, local::kInlineArena);
  EXPECT_EQ(seen.tensors[2].count, 0u);
}

TEST_F(SdkTest, APendingNameIsADuplicateUntilItsRequestEnds) {
  Begin({});
  float value = 1;
  reigen_handle first = 0, second = 0;
  const reigen_tensor tensor = Tensor(&value, &value, REIGEN_FLOAT32, {}, "x");
  ASSERT_EQ(Allreduce(tensor, &first), REIGEN_OK);
  EXPECT_EQ(Allreduce(tensor, &second), REIGEN_INVALID_ARGUMENT);
  EXPECT_TRUE(Contains(reigen_last_error(), "allreduce.x: duplicate name")) << reigen_last_error();
  worker_->Echo(worker_->WaitForRequests(1)[0]);
  ASSERT_EQ(Allreduce(tensor, &second), REIGEN_OK);  // ended, though nobody has waited
  worker_->Echo(worker_->WaitForRequests(2)[1]);
  EXPECT_EQ(Finish(first), REIGEN_OK);
  EXPECT_EQ(Finish(second), REIGEN_OK);
  EXPECT_EQ(worker_->names_defined(), 1u);
}

TEST_F(SdkTest, MoreNamesThanNumbersAreDefinedAnew) {
  Begin(Echoing());
  float value = 1;
  for (uint32_t i = 0; i <= local::kMaxNames; ++i) {
    reigen_handle handle = 0;
    const std::string name = std::to_string(i);
    ASSERT_EQ(Allreduce(Tensor(&value, &value, REIGEN_FLOAT32, {}, name.c_str()), &handle),
              REIGEN_OK);
    ASSERT_EQ(Finish(handle), REIGEN_OK);
  }
  EXPECT_EQ(worker_->names_defined(), local::kMaxNames + 1);
  const auto seen = worker_->WaitForRequests(local::kMaxNames + 1);
  EXPECT_EQ(seen.back().name, "allreduce." + std::to_string(local::kMaxNames));
  EXPECT_EQ(seen.back().head.name, seen.front().head.name);
}

TEST_F(SdkTest, AFullQueueMakesEnqueueWaitForTheWorker) {
  Begin({});
  worker_->TakeRequests(false);
  std::vector<float> values(5000);
  std::vector<reigen_handle> handles(5000);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    worker_->TakeRequests(true);
  });
  for (size_t i = 0; i < handles.size(); ++i) {  // 15,000 slots, names included
    ASSERT_EQ(Allreduce(Tensor(&values[i], &values[i], REIGEN_FLOAT32, {}), &handles[i]),
              REIGEN_OK);
  }
  later.join();
  for (const auto& seen : worker_->WaitForRequests(handles.size())) {
    // The completion queue holds them all.
    worker_->Echo(seen);
  }
  for (const reigen_handle handle : handles) ASSERT_EQ(Finish(handle), REIGEN_OK);
}

TEST_F(SdkTest, TheArenaGrowsWhenItIsFull) {
  Begin(Echoing());
  std::vector<std::byte> large(3 << 20, std::byte{5});
  const Shape shape = {3 << 20};
  reigen_handle handle = 0;
  ASSERT_EQ(Allreduce(Tensor(large.data(), large.data(), REIGEN_UINT8, shape), &handle),
            REIGEN_OK);
  EXPECT_EQ(Finish(handle), REIGEN_OK);
  EXPECT_EQ(worker_->arena_count(), 2u);
  EXPECT_EQ(worker_->WaitForRequests(1)[0].tensors[0].arena, 1u);
}

TEST_F(SdkTest, RefusedGrowthNamesTheTensorAndTheJobGoesOn) {
  FakeScript script = Echoing();
  script.refuse_growth = "this host has no memory left";
  Begin(script);
  std::vector<std::byte> large(3 << 20);
  const Shape shape = {3 << 20};
  reigen_handle handle = 0;
  EXPECT_EQ(Allreduce(Tensor(large.data(), large.data(), REIGEN_UINT8, shape, "big"), &handle),
            REIGEN_RESOURCE_EXHAUSTED);
  EXPECT_TRUE(Contains(reigen_last_error(), "allreduce.big: no memory for 3145728 bytes: this"))
      << reigen_last_error();
  float value = 3;
  ASSERT_EQ(Allreduce(Tensor(&value, &value, REIGEN_FLOAT32, {}), &handle), REIGEN_OK);
  EXPECT_EQ(Finish(handle), REIGEN_OK);
}

TEST_F(SdkTest, TensorsInAllocatedMemoryGoByReference) {
  FakeScript script;
  script.on_request = [](FakeWorker& worker, const SeenRequest& seen) {
    auto* values = reinterpret_cast<float*>(worker.Memory(seen.tensors[0]));
    values[0] *= 2;
    worker.Complete(seen.head.request);
  };
  Begin(script);
  auto* shared = static_cast<float*>(reigen_alloc(4096));
  ASSERT_NE(shared, nullptr) << reigen_last_error();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(shared) % 64, 0u);
  shared[16] = 21;
  const Shape shape = {100};
  reigen_handle handle = 0;
  ASSERT_EQ(Allreduce(Tensor(shared + 16, shared + 16, REIGEN_FLOAT32, shape), &handle),
            REIGEN_OK);
  worker_->WaitForRequests(1);
  while (shared[16] != 42) std::this_thread::yield();  // before any wait: nothing is copied
  EXPECT_EQ(Finish(handle), REIGEN_OK);
  // Another input: copied to where the result will be.
  std::vector<float> input(100, 4.0f);
  ASSERT_EQ(Allreduce(Tensor(input.data(), shared, REIGEN_FLOAT32, shape), &handle), REIGEN_OK);
  EXPECT_EQ(Finish(handle), REIGEN_OK);
  EXPECT_EQ(shared[0], 8);
  EXPECT_EQ(input[0], 4);
  // Not aligned: copied, and right.
  ASSERT_EQ(Allreduce(Tensor(shared + 1, shared + 1, REIGEN_FLOAT32, shape), &handle), REIGEN_OK);
  EXPECT_EQ(Finish(handle), REIGEN_OK);
  EXPECT_EQ(shared[1], 8);
  reigen_shutdown();
  shared[16] = 5;  // ordinary memory
  reigen_free(shared);
}

TEST_F(SdkTest, OnlyTheRootsTensorIsSentByABroadcast) {
  FakeScript script = Echoing();
  script.rank = 1;
  Begin(script);
  std::vector<int64_t> values(100, 6);
  const Shape shape = {100};
  reigen_broadcast_options options = {
      .struct_size = sizeof(options), .root_rank = 1, .process_set = 0};
  reigen_tensor tensor = Tensor(values.data(), values.data(), REIGEN_INT64, shape, "b");
  reigen_handle handle = 0;
  ASSERT_EQ(reigen_broadcast_async(nullptr, &tensor, 1, &options, &handle), REIGEN_OK);
  EXPECT_EQ(Finish(handle), REIGEN_OK);
  auto seen = worker_->WaitForRequests(1)[0];
  EXPECT_EQ(seen.name, "broadcast.b");
  EXPECT_EQ(seen.head.root, 1);
  int64_t sent = 0;
  std::memcpy(&sent, worker_->Memory(seen.tensors[0]) + 8, sizeof(sent));
  EXPECT_EQ(sent, 6);
  options.root_rank = 0;
  tensor.input = nullptr;
  ASSERT_EQ(reigen_broadcast_async(nullptr, &tensor, 1, &options, &handle), REIGEN_OK);
  EXPECT_EQ(Finish(handle), REIGEN_OK);
  options.root_rank = 4;
  EXPECT_EQ(reigen_broadcast_async(nullptr, &tensor, 1, &options, &handle),
            REIGEN_INVALID_ARGUMENT);
  EXPECT_TRUE(Contains(reigen_last_error(), "root_rank 4 is not in a job of size 4"));
}

}  // namespace
}  // namespace reigen::sdk
