// Goal: CUDA tensors through the C interface, against a scripted worker and the fake
// GPU: what the worker sees, what the caller's stream sees, and how faults end.
#include <cstring>
#include <string>
#include <vector>

#include "client/c/fake_worker.h"
#include "client/c/reigen.h"
#include "client/c/sums_on_gpus.h"
#include "client/cuda/kernel_image.h"
#include "client/cuda/testing/fake_driver.h"
#include "gtest/gtest.h"

namespace reigen::sdk {
namespace {

class SdkCudaTest : public testing::Test {
 protected:
  ~SdkCudaTest() override {
    reigen_shutdown();
    unsetenv("REIGEN_SOCKET");
    unsetenv("REIGEN_RANK");
  }

  // A worker that adds 100 to every float.
  void Begin() {
    FakeScript script;
    script.on_request = [](FakeWorker& worker, const SeenRequest& seen) {
      for (const local::TensorSlot& tensor : seen.tensors) {
        auto* values = reinterpret_cast<float*>(worker.Memory(tensor));
        for (uint64_t i = 0; i < tensor.count; ++i) values[i] += 100;
      }
      worker.Complete(seen.head.request);
    };
    Begin(std::move(script));
  }
  void Begin(FakeScript script) {
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
  // With a worker that takes the request and does no more.
  void StartUnanswered(reigen_handle* handle) {
    FakeScript silent;
    silent.on_request = nullptr;
    Begin(std::move(silent));
    const cuda::CuAddress x = driver_.Allocate(8);
    ASSERT_EQ(Start({Tensor(x, &two_, "x")}, handle), REIGEN_OK);
  }
  static reigen_status Finish(reigen_handle handle) {
    const reigen_status status = reigen_wait(handle, 10.0);
    const std::string text = status == REIGEN_OK ? "" : reigen_last_error();
    EXPECT_EQ(reigen_release(handle), REIGEN_OK);
    last_ = text;
    return status;
  }

  static inline std::string last_;
  cuda::FakeDriver driver_;
  cuda::CuStream stream_ = driver_.NewStream();
  const int64_t two_ = 2;
  std::unique_ptr<FakeWorker> worker_;
};

TEST_F(SdkCudaTest, AGroupGoesThroughTheArenaAndBackToTheCallersStream) {
  Begin();
  const cuda::CuAddress x = driver_.Allocate(8);
  const cuda::CuAddress y = driver_.Allocate(8);
  driver_.Write(x, {1, 2}, stream_);
  driver_.Write(y, {3, 4}, stream_);
  reigen_handle handle = 0;
  ASSERT_EQ(Start({Tensor(x, &two_, "x"), Tensor(y, &two_, "y")}, &handle), REIGEN_OK);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  EXPECT_EQ(driver_.Read(x, 2, stream_), (std::vector<float>{101, 102}));
  EXPECT_EQ(driver_.Read(y, 2, stream_), (std::vector<float>{103, 104}));
  const auto seen = worker_->WaitForRequests(1)[0];
  EXPECT_EQ(seen.head.device_kind, local::kCudaDevice);
  EXPECT_NE(seen.tensors[0].arena, local::kInlineArena);
}

TEST_F(SdkCudaTest, AGroupOfManyIsOneLaunchAndOneCopyEachWay) {
  Begin();
  constexpr size_t kTensors = 100;
  std::vector<cuda::CuAddress> memory(kTensors);
  std::vector<std::string> names(kTensors);
  std::vector<reigen_tensor> tensors(kTensors);
  for (size_t i = 0; i < kTensors; ++i) {
    memory[i] = driver_.Allocate(8);
    names[i] = "x" + std::to_string(i);
    driver_.Write(memory[i], {static_cast<float>(i), 1}, stream_);
    tensors[i] = Tensor(memory[i], &two_, names[i].c_str());
  }
  const int launches = driver_.calls("cuLaunchKernel");
  const int fetches = driver_.calls("cuMemcpyDtoHAsync_v2");
  const int sends = driver_.calls("cuMemcpyHtoDAsync_v2");
  reigen_handle handle = 0;
  ASSERT_EQ(Start(tensors, &handle), REIGEN_OK) << reigen_last_error();
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  const bool has_kernels = cuda::KernelImageText() != nullptr;
  const int copies = has_kernels ? 1 : static_cast<int>(kTensors);
  EXPECT_EQ(driver_.calls("cuLaunchKernel") - launches, has_kernels ? 2 : 0);
  EXPECT_EQ(driver_.calls("cuMemcpyDtoHAsync_v2") - fetches, copies);
  EXPECT_EQ(driver_.calls("cuMemcpyHtoDAsync_v2") - sends, copies);
  for (size_t i = 0; i < kTensors; ++i) {
    EXPECT_EQ(driver_.Read(memory[i], 2, stream_),
              (std::vector<float>{100 + static_cast<float>(i), 101}));
  }
}

TEST_F(SdkCudaTest, RequestsAreSentInTheOrderOfTheirCalls) {
  Begin();
  constexpr size_t kRequests = 50;  // more than are fetched at once
  std::vector<reigen_handle> handles(kRequests);
  std::vector<cuda::CuAddress> memory(kRequests);
  for (size_t i = 0; i < kRequests; ++i) {
    memory[i] = driver_.Allocate(8);
    driver_.Write(memory[i], {static_cast<float>(i), 0}, stream_);
    const std::string name = "x" + std::to_string(i);
    ASSERT_EQ(Start({Tensor(memory[i], &two_, name.c_str())}, &handles[i]), REIGEN_OK);
  }
  for (size_t i = 0; i < kRequests; ++i) {
    EXPECT_EQ(Finish(handles[i]), REIGEN_OK) << last_;
    EXPECT_EQ(driver_.Read(memory[i], 2, stream_)[0], 100 + static_cast<float>(i));
  }
  const auto seen = worker_->WaitForRequests(kRequests);
  for (size_t i = 1; i < kRequests; ++i) {
    EXPECT_GT(seen[i].head.request, seen[i - 1].head.request);
  }
}

TEST_F(SdkCudaTest, WithoutPageLockedMemoryItWorksToo) {
  Begin();
  driver_.FailOnce("cuMemHostRegister_v2", 1);
  const cuda::CuAddress x = driver_.Allocate(8);
  driver_.Write(x, {1, 2}, stream_);
  for (int i = 1; i <= 2; ++i) {
    reigen_handle handle = 0;
    ASSERT_EQ(Start({Tensor(x, &two_, "x")}, &handle), REIGEN_OK);
    EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
    EXPECT_EQ(driver_.Read(x, 1, stream_)[0], 1 + 100.0f * static_cast<float>(i));
  }
  EXPECT_EQ(driver_.registered(), 0);
}

TEST_F(SdkCudaTest, TheArenaIsPinnedWhileItLives) {
  Begin();
  const cuda::CuAddress x = driver_.Allocate(8);
  for (int i = 0; i < 3; ++i) {
    reigen_handle handle = 0;
    ASSERT_EQ(Start({Tensor(x, &two_, "x")}, &handle), REIGEN_OK);
    EXPECT_EQ(Finish(handle), REIGEN_OK);
  }
  EXPECT_EQ(driver_.registered(), 1);
  reigen_shutdown();
  EXPECT_EQ(driver_.registered(), 0);
}

TEST_F(SdkCudaTest, ATrainerMayUseSeveralGpus) {
  Begin();
  cuda::FakeDriver second(1);
  const cuda::CuStream second_stream = second.NewStream();
  const cuda::CuAddress y[2] = {second.Allocate(8), second.Allocate(8)};
  second.Write(y[0], {3, 4}, second_stream);
  second.Write(y[1], {5, 6}, second_stream);
  std::vector<reigen_tensor> group;
  for (const int i : {0, 1}) {
    group.push_back(Tensor(y[i], &two_, i == 0 ? "y0" : "y1"));
    group.back().device = 1;
    group.back().stream = reinterpret_cast<uintptr_t>(second_stream);
  }
  const cuda::CuAddress x = driver_.Allocate(8);
  driver_.Write(x, {1, 2}, stream_);
  reigen_handle handles[2] = {};
  ASSERT_EQ(Start({Tensor(x, &two_, "x")}, &handles[0]), REIGEN_OK) << reigen_last_error();
  ASSERT_EQ(Start(group, &handles[1]), REIGEN_OK) << reigen_last_error();
  EXPECT_EQ(Finish(handles[1]), REIGEN_OK) << last_;
  EXPECT_EQ(Finish(handles[0]), REIGEN_OK) << last_;
  EXPECT_EQ(second.Read(y[0], 2, second_stream), (std::vector<float>{103, 104}));
  EXPECT_EQ(second.Read(y[1], 2, second_stream), (std::vector<float>{105, 106}));
  EXPECT_EQ(driver_.Read(x, 2, stream_), (std::vector<float>{101, 102}));
  reigen_tensor by_address = group[0];
  by_address.device = -1;  // the one whose memory it is
  ASSERT_EQ(Start({by_address}, &handles[0]), REIGEN_OK) << reigen_last_error();
  EXPECT_EQ(Finish(handles[0]), REIGEN_OK) << last_;
  EXPECT_EQ(second.Read(y[0], 2, second_stream), (std::vector<float>{203, 204}));
}

TEST_F(SdkCudaTest, ADuplicateIsFoundAtEnqueue) {
  FakeScript silent;
  silent.take_requests = false;
  Begin(std::move(silent));
  const cuda::CuAddress x = driver_.Allocate(8);
  reigen_handle first = 0;
  reigen_handle second = 0;
  ASSERT_EQ(Start({Tensor(x, &two_, "x")}, &first), REIGEN_OK);
  EXPECT_EQ(Start({Tensor(x, &two_, "x")}, &second), REIGEN_INVALID_ARGUMENT);
  worker_->Die();
  EXPECT_EQ(Finish(first), REIGEN_UNAVAILABLE);
}

TEST_F(SdkCudaTest, AFailedCopyBackIsTheOperationsResult) {
  Begin();
  const cuda::CuAddress x = driver_.Allocate(8);
  reigen_handle handle = 0;
  driver_.FailOnce("cuMemcpyHtoDAsync_v2", 304);
  ASSERT_EQ(Start({Tensor(x, &two_, "x")}, &handle), REIGEN_OK);
  EXPECT_EQ(Finish(handle), REIGEN_INTERNAL);
  EXPECT_NE(last_.find("allreduce.x: CUDA device 0: cuMemcpyHtoDAsync"), std::string::npos);
  ASSERT_EQ(Start({Tensor(x, &two_, "x")}, &handle), REIGEN_OK);
  EXPECT_EQ(Finish(handle), REIGEN_OK);
}

TEST_F(SdkCudaTest, AWorkersDeathEndsWhatIsInFlight) {
  reigen_handle handle = 0;
  StartUnanswered(&handle);
  worker_->WaitForRequests(1);
  worker_->Die();
  EXPECT_EQ(Finish(handle), REIGEN_UNAVAILABLE);
}

TEST_F(SdkCudaTest, ShutdownEndsWhatIsInFlight) {
  reigen_handle handle = 0;
  StartUnanswered(&handle);
  reigen_shutdown();
  EXPECT_EQ(Finish(handle), REIGEN_ABORTED);
}

TEST_F(SdkCudaTest, WhatCannotBeRunIsRefused) {
  Begin();
  const cuda::CuAddress x = driver_.Allocate(64);
  reigen_handle handle = 0;
  reigen_tensor tensor = Tensor(x, &two_, "x");
  tensor.device = 7;
  EXPECT_EQ(Start({tensor}, &handle), REIGEN_INVALID_ARGUMENT);
  EXPECT_STREQ(reigen_last_error(),
               "allreduce.x: no CUDA device 7: this process sees 2 (CUDA_VISIBLE_DEVICES)");
  const int64_t gaps = 8;
  tensor = Tensor(x, &two_, "x");
  tensor.output_strides = &gaps;
  EXPECT_EQ(Start({tensor}, &handle), REIGEN_INVALID_ARGUMENT);
  reigen_tensor other = Tensor(x, &two_, "y");
  other.device = 1;
  EXPECT_EQ(Start({Tensor(x, &two_, "x"), other}, &handle), REIGEN_INVALID_ARGUMENT);
  other = Tensor(x, &two_, "y");
  other.device_kind = REIGEN_HOST;
  EXPECT_EQ(Start({Tensor(x, &two_, "x"), other}, &handle), REIGEN_INVALID_ARGUMENT);
  other = Tensor(x, &two_, "y");
  other.stream = 0;
  EXPECT_EQ(Start({Tensor(x, &two_, "x"), other}, &handle), REIGEN_INVALID_ARGUMENT);
}

TEST_F(SdkCudaTest, AJobOfOneRankScalesOnItsOwn) {
  ASSERT_EQ(reigen_init(), REIGEN_OK);
  const cuda::CuAddress x = driver_.Allocate(8);
  driver_.Write(x, {1, 2}, stream_);
  const reigen_allreduce_options options = {.struct_size = sizeof(reigen_allreduce_options),
                                            .op = REIGEN_SUM, .process_set = 0,
                                            .prescale = 3.0, .postscale = 1.0};
  reigen_handle handle = 0;
  reigen_tensor tensor = Tensor(x, &two_, "x");
  tensor.device = -1;
  ASSERT_EQ(reigen_allreduce_async(nullptr, &tensor, 1, &options, &handle), REIGEN_OK)
      << reigen_last_error();
  EXPECT_EQ(Finish(handle), REIGEN_OK);
  EXPECT_EQ(driver_.Read(x, 2, stream_), (std::vector<float>{3, 6}));
}

// The last one: the process has lost its GPU then.
TEST_F(SdkCudaTest, AStickyErrorFailsCudaTensorsWithItsNameAndNothingElse) {
  Begin();
  const cuda::CuAddress x = driver_.Allocate(8);
  reigen_handle handle = 0;
  driver_.FailOnce("cuMemcpyDtoHAsync_v2", cuda::kCuIllegalAddress);
  ASSERT_EQ(Start({Tensor(x, &two_, "x")}, &handle), REIGEN_OK);
  EXPECT_EQ(Finish(handle), REIGEN_UNAVAILABLE);
  EXPECT_EQ(last_,
            "allreduce.x: CUDA device 0: cuMemcpyDtoHAsync: CUDA_ERROR_ILLEGAL_ADDRESS "
            "(an illegal memory access was encountered)");
  EXPECT_EQ(Start({Tensor(x, &two_, "x")}, &handle), REIGEN_UNAVAILABLE);
  EXPECT_EQ(reigen_last_error(), last_);
  const int64_t twenty = 20;
  std::vector<float> values(20, 1.0f);
  reigen_tensor host = Tensor(0, &twenty, "x");
  host.input = host.output = values.data();
  host.device_kind = REIGEN_HOST;
  ASSERT_EQ(Start({host}, &handle), REIGEN_OK);
  EXPECT_EQ(Finish(handle), REIGEN_OK);
  EXPECT_EQ(values[19], 101);
}

}  // namespace
}  // namespace reigen::sdk
