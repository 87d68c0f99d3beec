// Goal: CUDA tensors wait for their own streams and for no other, disturb no capture of a
// graph, and memory on the GPU outlives a session for as long as others may have it open.
#include <gtest/gtest.h>

#include <utility>

#include "client/c/sdk_device_fixture.h"

namespace reigen::sdk {
namespace {

using SdkDeviceOrderTest = SdkDeviceTest;

TEST_F(SdkDeviceOrderTest, AMirrorDoesNotWaitForTheStreamOfALaterTensor) {
  BeginSilent();
  reigen_handle handles[2] = {};
  StartTwo(&handles[0], "x");
  const SeenRequest seen = worker_->WaitForRequests(1)[0];
  driver_.Hang(stream_);  // as if it waited for another rank
  StartTwo(&handles[1], "y");
  WaitForMoreCalls("cuEventQuery", driver_.calls("cuEventQuery") + 2);
  const local::DoneSlot done = DoneOf(worker_->Mirror(seen.head.request));
  EXPECT_EQ(done.code, local::ResultCode::kOk) << done.text;
  driver_.Mend();
  for (size_t i = 0; i < 2; ++i) {
    worker_->Complete(worker_->WaitForRequests(i + 1)[i].head.request);
    EXPECT_EQ(Finish(handles[i]), REIGEN_OK) << last_;
  }
}

TEST_F(SdkDeviceOrderTest, AStreamThatIsNotReadyHoldsUpNoOtherOne) {
  Begin();
  reigen_handle late = 0;
  reigen_handle behind = 0;
  driver_.Hang(stream_);  // until the result of the other one is there, say
  StartTwo(&late, "late");
  const cuda::CuAddress x = x_;
  StartTwo(&behind, "behind");
  const cuda::CuStream second = driver_.NewStream();
  const cuda::CuAddress y = driver_.Allocate(8);
  driver_.Write(y, {5, 6}, second);
  for (const bool ready : {true, false}) {
    reigen_tensor tensor = Tensor(y, &two_, "y");
    tensor.stream = ready ? reinterpret_cast<uintptr_t>(second) : 2;  // a thread's default one
    reigen_handle handle = 0;
    ASSERT_EQ(Start({tensor}, &handle), REIGEN_OK) << reigen_last_error();
    EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  }
  EXPECT_EQ(tripler_.on_device(), 2);
  EXPECT_EQ(reigen_wait(late, 0.0), REIGEN_TIMEOUT);
  driver_.Hang(stream_, false);
  EXPECT_EQ(Finish(late), REIGEN_OK) << last_;
  EXPECT_EQ(Finish(behind), REIGEN_OK) << last_;
  EXPECT_EQ(driver_.Read(x, 2, stream_), (std::vector<float>{3, 6}));
  const auto seen = worker_->WaitForRequests(4);
  EXPECT_LT(seen[2].head.request, seen[3].head.request) << "of one stream in order";
}

TEST_F(SdkDeviceOrderTest, WhatABroadcastGivesIsNotWrittenBeforeTheStreamIsThere) {
  Begin();
  const cuda::CuStream late = driver_.NewStream();
  const cuda::CuAddress y = driver_.Allocate(8);
  driver_.Write(y, {5, 6}, late);
  driver_.Hang(late);
  reigen_tensor tensor = Tensor(y, &two_, "y");
  tensor.stream = reinterpret_cast<uintptr_t>(late);
  const reigen_broadcast_options options = {
      .struct_size = sizeof(reigen_broadcast_options), .root_rank = 1, .process_set = 0};
  reigen_handle received = 0;
  ASSERT_EQ(reigen_broadcast_async(nullptr, &tensor, 1, &options, &received), REIGEN_OK)
      << reigen_last_error();
  reigen_handle other = 0;
  StartTwo(&other);
  EXPECT_EQ(Finish(other), REIGEN_OK) << last_;
  EXPECT_EQ(worker_->WaitForRequests(1).size(), 1u);
  driver_.Hang(late, false);
  EXPECT_EQ(Finish(received), REIGEN_OK) << last_;
  EXPECT_EQ(tripler_.on_device(), 2);
}

TEST_F(SdkDeviceOrderTest, TheEndOfTheSessionEndsWhatItsStreamHasNotComeTo) {
  BeginSilent();
  driver_.Hang(stream_);
  reigen_handle handle = 0;
  StartTwo(&handle);
  EXPECT_EQ(reigen_wait(handle, 0.0), REIGEN_TIMEOUT);
  worker_->Die();
  EXPECT_EQ(Finish(handle), REIGEN_UNAVAILABLE) << last_;
  driver_.Hang(stream_, false);
  EXPECT_EQ(Two(), (std::vector<float>{1, 2}));
}

TEST_F(SdkDeviceOrderTest, AGraphThatSomebodyCapturesIsNotDisturbed) {
  Begin();
  reigen_handle handle = 0;
  StartTwo(&handle);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  x_ = driver_.Allocate(8);
  driver_.Write(x_, {1, 2}, stream_);
  driver_.Capture(true);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(Start({Tensor(x_, &two_, "x")}, &handle), REIGEN_OK) << reigen_last_error();
    EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  }
  driver_.Capture(false);
  EXPECT_EQ(Two(), (std::vector<float>{27, 54}));
  EXPECT_EQ(tripler_.on_device(), 4);
}

TEST_F(SdkDeviceOrderTest, ATensorWhoseStreamCapturesAGraphIsRefused) {
  Begin();
  reigen_handle handle = 0;
  StartTwo(&handle);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  driver_.Capture(stream_, true);
  const int events = driver_.calls("cuEventRecord");
  reigen_tensor tensor = Tensor(x_, &two_, "x");
  EXPECT_EQ(Start({tensor}, &handle), REIGEN_FAILED_PRECONDITION);
  EXPECT_STREQ(reigen_last_error(), "allreduce.x: the stream is capturing a graph");
  tensor.stream = 0;
  EXPECT_EQ(Start({tensor}, &handle), REIGEN_FAILED_PRECONDITION);
  EXPECT_STREQ(reigen_last_error(),
               "allreduce.x: the default stream waits for one that is capturing a graph");
  EXPECT_EQ(driver_.calls("cuEventRecord"), events);
  driver_.Capture(stream_, false);
  StartTwo(&handle);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
}

TEST_F(SdkDeviceOrderTest, TheCallerWaitsItselfForAResultWhereItsStreamCapturesAGraph) {
  Begin();
  reigen_handle handle = 0;
  for (const bool by_poll : {false, true}) {
    StartTwo(&handle);
    driver_.Capture(stream_, true);
    const int waits = driver_.calls("cuStreamWaitEvent");
    int32_t done = 0;
    while (by_poll && done == 0) ASSERT_EQ(reigen_poll(handle, &done), REIGEN_OK);
    EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
    EXPECT_LE(driver_.calls("cuStreamWaitEvent") - waits, 1) << "the fetch's alone";
    driver_.Capture(stream_, false);
    EXPECT_EQ(ByAnotherStream(), (std::vector<float>{3, 6}));
  }
}

TEST_F(SdkDeviceOrderTest, AResultThatIsWaitedForUntilDeliveredIsSeenByEveryStream) {
  Begin();
  reigen_handle handle = 0;
  StartTwo(&handle);
  ASSERT_EQ(reigen_wait_delivered(handle, 60.0), REIGEN_OK) << reigen_last_error();
  EXPECT_EQ(ByAnotherStream(), (std::vector<float>{3, 6}));
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  StartTwo(&handle);
  ASSERT_EQ(reigen_wait(handle, 60.0), REIGEN_OK) << reigen_last_error();
  ASSERT_EQ(reigen_wait_delivered(handle, 60.0), REIGEN_OK) << reigen_last_error();
  EXPECT_EQ(ByAnotherStream(), (std::vector<float>{3, 6}));
  EXPECT_EQ(reigen_release(handle), REIGEN_OK);
  EXPECT_EQ(reigen_wait_delivered(handle, 0.0), REIGEN_INVALID_ARGUMENT);
}

TEST_F(SdkDeviceOrderTest, WhoWaitsUntilDeliveredHasALimitAndUsesNoStream) {
  BeginSilent();
  const cuda::CuStream stream = stream_;
  reigen_handle handle = 0;
  StartTwo(&handle);
  const SeenRequest seen = worker_->WaitForRequests(1)[0];
  EXPECT_EQ(reigen_wait_delivered(handle, 0.0), REIGEN_TIMEOUT);
  EXPECT_STREQ(reigen_last_error(), "allreduce.x: not done yet");
  driver_.Destroy(stream);
  stream_ = driver_.NewStream();
  worker_->Complete(seen.head.request);
  EXPECT_EQ(reigen_wait_delivered(handle, 60.0), REIGEN_OK) << reigen_last_error();
  EXPECT_EQ(reigen_release(handle), REIGEN_OK);
  EXPECT_EQ(Two(), (std::vector<float>{1, 2}));
}

TEST_F(SdkDeviceOrderTest, AJobOfOneRankWaitsUntilDeliveredToo) {
  ASSERT_EQ(reigen_init(), REIGEN_OK);
  reigen_handle handle = 0;
  StartTwo(&handle);
  driver_.Hang(stream_);
  EXPECT_EQ(reigen_wait(handle, 60.0), REIGEN_OK) << "its stream has it in order";
  EXPECT_EQ(reigen_wait_delivered(handle, 0.0), REIGEN_TIMEOUT);
  driver_.Hang(stream_, false);
  EXPECT_EQ(reigen_wait_delivered(handle, 60.0), REIGEN_OK) << reigen_last_error();
  EXPECT_EQ(ByAnotherStream(), (std::vector<float>{1, 2}));
  EXPECT_EQ(reigen_release(handle), REIGEN_OK);
}

TEST_F(SdkDeviceOrderTest, TheDefaultStreamOfAnotherContextIsNotTakenForThePrimaryOnes) {
  Begin();
  reigen_tensor tensor = Tensor(driver_.AllocateInOwnContext(8), &two_, "x");
  reigen_handle handle = 0;
  for (const uintptr_t stream : {0, 1, 2}) {
    tensor.stream = stream;
    EXPECT_EQ(Start({tensor}, &handle), REIGEN_INVALID_ARGUMENT);
    EXPECT_STREQ(reigen_last_error(),
                 "allreduce.x: CUDA device 0: its memory is of another context than the device's "
                 "primary one, whose streams alone are known here");
  }
  tensor = Tensor(driver_.Allocate(8), &two_, "x");
  tensor.stream = 0;
  ASSERT_EQ(Start({tensor}, &handle), REIGEN_OK) << reigen_last_error();
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
}

TEST_F(SdkDeviceOrderTest, AResultIsBroughtBackBeforeAnybodyWaits) {
  BeginSilent();
  reigen_handle handle = 0;
  StartTwo(&handle);
  const SeenRequest seen = worker_->WaitForRequests(1)[0];
  const int copies = driver_.calls("cuMemcpyAsync");
  worker_->Complete(seen.head.request);
  WaitForMoreCalls("cuMemcpyAsync", copies);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  EXPECT_EQ(driver_.calls("cuMemcpyAsync") - copies, 1) << "once";
  EXPECT_EQ(Two(), (std::vector<float>{1, 2}));
}

TEST_F(SdkDeviceOrderTest, ATensorIsTheCallersAgainOnceItsHandleWasReleased) {
  BeginSilent();
  const cuda::CuStream own = driver_.NewStream();
  size_t requests = 0;
  for (const bool delivered : {true, false}) {
    reigen_handle handle = 0;
    StartTwo(&handle);
    const cuda::CuAddress x = x_;
    const SeenRequest seen = worker_->WaitForRequests(++requests).back();
    const int copies = driver_.calls("cuMemcpyAsync");
    worker_->Complete(seen.head.request);
    if (delivered) WaitForMoreCalls("cuMemcpyAsync", copies);
    ASSERT_EQ(reigen_release(handle), REIGEN_OK);
    driver_.Write(x, {7, 8}, own);
    StartTwo(&handle, "y");  // what was started before is done then
    worker_->Complete(worker_->WaitForRequests(++requests).back().head.request);
    EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
    EXPECT_EQ(Two(), (std::vector<float>{1, 2}));
    EXPECT_EQ(driver_.Read(x, 2, own), (std::vector<float>{7, 8}));
  }
}

TEST_F(SdkDeviceOrderTest, WhatOthersMayHaveOpenIsKeptForTheNextSession) {
  reigen_handle handle = 0;
  int allocated = 0;
  for (int i = 0; i < 3; ++i) {
    Begin();
    StartTwo(&handle);
    EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
    reigen_shutdown();
    const int calls = driver_.calls("cuMemAlloc_v2");
    if (i > 0) {
      EXPECT_EQ(calls - allocated, 1);  // the tensor's
    }
    allocated = calls;
  }
}

TEST_F(SdkDeviceOrderTest, OneOfTheRangesThatWereKeptIsUsedAndTheRestIsGivenBack) {
  Begin();
  reigen_handle handle = 0;
  StartTwo(&handle);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  const int64_t many = static_cast<int64_t>(worker_->device_arenas()[0].packet.bytes) / 4 + 1;
  const cuda::CuAddress y = driver_.Allocate(4 * static_cast<size_t>(many));
  ASSERT_EQ(Start({Tensor(y, &many, "y")}, &handle), REIGEN_OK);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  ASSERT_EQ(worker_->device_arenas().size(), 2u);
  const uint64_t larger = worker_->device_arenas()[1].packet.bytes;
  reigen_shutdown();
  const int freed = driver_.calls("cuMemFree_v2");
  Begin();
  EXPECT_EQ(driver_.calls("cuMemFree_v2") - freed, 1);
  StartTwo(&handle);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  EXPECT_EQ(worker_->device_arenas()[0].packet.bytes, larger);
  reigen_shutdown();
  setenv("REIGEN_CUDA_ARENA_MB", "2", 1);
  Begin();
  EXPECT_EQ(driver_.calls("cuMemFree_v2") - freed, 2) << "more than the limit";
}

TEST_F(SdkDeviceOrderTest, AnArenaThatTheWorkerMayHaveToldOthersOfIsKept) {
  FakeScript script;
  script.die_at_device_arena = true;
  Begin(std::move(script));
  const int freed = driver_.calls("cuMemFree_v2");
  reigen_handle handle = 0;
  StartTwo(&handle);
  EXPECT_EQ(Finish(handle), REIGEN_UNAVAILABLE);
  EXPECT_EQ(worker_->device_arenas().size(), 1u);
  reigen_shutdown();
  EXPECT_EQ(driver_.calls("cuMemFree_v2"), freed);
  const int allocated = driver_.calls("cuMemAlloc_v2");
  Begin();
  StartTwo(&handle);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  EXPECT_EQ(driver_.calls("cuMemAlloc_v2") - allocated, 1);  // the tensor's
}

}  // namespace
}  // namespace reigen::sdk
