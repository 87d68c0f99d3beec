// Goal: tensors wait for room in the arenas of their GPU while it may come, and go through
// host memory where it does not, so that no rank waits for another for ever.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/c/sdk_device_fixture.h"

namespace reigen::sdk {
namespace {

class SdkDeviceRoomTest : public SdkDeviceTest {
 protected:
  SdkDeviceRoomTest() { setenv("REIGEN_CUDA_ARENA_MB", "2", 1); }
  // A wait for room ends after so many half seconds without any.
  static void Patience(const char* halves) { setenv("REIGEN_TIMEOUT_SCALE", halves, 1); }

  void BeginRequired() {
    FakeScript script;
    script.requires_device_arenas = true;
    BeginSilent(std::move(script));
  }

  // Of `count` floats, the first of which is `value`.
  cuda::CuAddress StartOne(const char* name, const int64_t& count, float value,
                           reigen_handle* handle) {
    const cuda::CuAddress memory = driver_.Allocate(sizeof(float) * static_cast<size_t>(count));
    driver_.Write(memory, {value}, stream_);
    EXPECT_EQ(Start({Tensor(memory, &count, name)}, handle), REIGEN_OK) << reigen_last_error();
    return memory;
  }

  // Two do not fit into the arena.
  const int64_t most_ = 400'000;
};

TEST_F(SdkDeviceRoomTest, ATensorWaitsForWhatIsInFlightWhoeverWaitsForThat) {
  Patience("100");
  BeginSilent();
  const char* const names[] = {"a", "b", "c"};
  reigen_handle handles[3] = {};
  cuda::CuAddress memory[3] = {};
  for (const size_t i : {0, 1, 2}) {
    memory[i] = StartOne(names[i], most_, 1.0f + static_cast<float>(i), &handles[i]);
  }
  for (const size_t i : {0, 1, 2}) {
    const SeenRequest seen = worker_->WaitForRequests(i + 1)[i];
    EXPECT_TRUE(worker_->IsOnDevice(seen.tensors[0])) << i;
    worker_->Complete(seen.head.request);
  }
  for (const size_t i : {2, 1, 0}) {
    EXPECT_EQ(Finish(handles[i]), REIGEN_OK) << last_;
    EXPECT_EQ(driver_.Read(memory[i], 1, stream_)[0], 1.0f + static_cast<float>(i));
  }
  EXPECT_EQ(worker_->device_arenas().size(), 1u);
}

// On another rank the other stream may be the first.
TEST_F(SdkDeviceRoomTest, RoomIsTakenInTheOrderOfTheCallsWhicheverStreamIsReadyFirst) {
  Patience("100");
  BeginSilent();
  const cuda::CuStream first = stream_;
  const cuda::CuStream second = driver_.NewStream();
  reigen_handle handles[2] = {};
  driver_.Hang(first);
  StartOne("x", most_, 1, &handles[0]);
  stream_ = second;
  StartOne("y", most_, 2, &handles[1]);
  WaitForMoreCalls("cuEventQuery", driver_.calls("cuEventQuery") + 20);
  EXPECT_EQ(worker_->requests_seen(), 0u);
  driver_.Hang(first, false);
  for (const size_t i : {0, 1}) {
    const SeenRequest seen = worker_->WaitForRequests(i + 1)[i];
    EXPECT_EQ(seen.name, i == 0 ? "allreduce.x" : "allreduce.y");
    EXPECT_TRUE(worker_->IsOnDevice(seen.tensors[0])) << i;
    worker_->Complete(seen.head.request);
    EXPECT_EQ(Finish(handles[i]), REIGEN_OK) << last_;
  }
}

TEST_F(SdkDeviceRoomTest, OneThatIsReadyDoesNotWaitForEverForTheRoomOfOneThatIsNot) {
  BeginSilent();
  const cuda::CuStream first = stream_;
  reigen_handle handles[2] = {};
  driver_.Hang(first);  // until y is there, say
  StartOne("x", most_, 1, &handles[0]);
  stream_ = driver_.NewStream();
  StartOne("y", most_, 2, &handles[1]);
  const SeenRequest y = worker_->WaitForRequests(1)[0];
  EXPECT_EQ(y.name, "allreduce.y");
  EXPECT_FALSE(worker_->IsOnDevice(y.tensors[0]));
  worker_->Complete(y.head.request);
  EXPECT_EQ(Finish(handles[1]), REIGEN_OK) << last_;
  driver_.Hang(first, false);
  worker_->Complete(worker_->WaitForRequests(2)[1].head.request);
  EXPECT_EQ(Finish(handles[0]), REIGEN_OK) << last_;
}

// As in a step that the host enqueues far ahead of its GPU.
TEST_F(SdkDeviceRoomTest, WhatIsNotReadyHasNoLimitForItsRoom) {
  BeginSilent();
  reigen_handle handles[2] = {};
  driver_.Hang(stream_);
  StartOne("x", most_, 1, &handles[0]);
  StartOne("y", most_, 2, &handles[1]);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // three times as long as else
  driver_.Hang(stream_, false);
  for (const size_t i : {0, 1}) {
    const SeenRequest seen = worker_->WaitForRequests(i + 1)[i];
    EXPECT_TRUE(worker_->IsOnDevice(seen.tensors[0])) << i;
    worker_->Complete(seen.head.request);
    EXPECT_EQ(Finish(handles[i]), REIGEN_OK) << last_;
  }
}

// As if another rank saved its model meanwhile: one in host memory would end the job.
TEST_F(SdkDeviceRoomTest, WhereTheJobRequiresItATensorWaitsForARankThatIsLate) {
  BeginRequired();
  reigen_handle handles[2] = {};
  StartOne("a", most_, 1, &handles[0]);
  StartOne("b", most_, 2, &handles[1]);
  const uint64_t a = worker_->WaitForRequests(1)[0].head.request;
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // three times as long as else
  EXPECT_EQ(worker_->requests_seen(), 1u);
  worker_->Complete(a);
  const SeenRequest b = worker_->WaitForRequests(2)[1];
  EXPECT_TRUE(worker_->IsOnDevice(b.tensors[0]));
  worker_->Complete(b.head.request);
  for (const size_t i : {0, 1}) EXPECT_EQ(Finish(handles[i]), REIGEN_OK) << last_;
}

TEST_F(SdkDeviceRoomTest, AShutdownWaitsNoLongerWhereTheJobRequiresIt) {
  BeginRequired();
  reigen_handle handles[2] = {};
  StartOne("a", most_, 1, &handles[0]);
  StartOne("b", most_, 2, &handles[1]);
  worker_->WaitForRequests(1);
  const auto begin = std::chrono::steady_clock::now();
  reigen_shutdown();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(100));
  for (const size_t i : {0, 1}) EXPECT_EQ(Finish(handles[i]), REIGEN_ABORTED) << last_;
  EXPECT_EQ(worker_->requests_seen(), 2u) << "what was enqueued before is sent";
}

TEST_F(SdkDeviceRoomTest, ATensorWaitsNoLongerOnceItsGpuIsOfNoUse) {
  BeginRequired();
  reigen_handle handles[2] = {};
  StartOne("a", most_, 1, &handles[0]);
  StartOne("b", most_, 2, &handles[1]);
  worker_->WaitForRequests(1);
  worker_->SendDeviceUse(false, "no peer access");
  const SeenRequest b = worker_->WaitForRequests(2)[1];
  EXPECT_FALSE(worker_->IsOnDevice(b.tensors[0]));
}

TEST_F(SdkDeviceRoomTest, ACallersLimitHoldsWhileATensorWaits) {
  BeginRequired();
  reigen_handle handles[2] = {};
  StartOne("a", most_, 1, &handles[0]);
  StartOne("b", most_, 2, &handles[1]);
  worker_->WaitForRequests(1);
  EXPECT_EQ(reigen_wait(handles[1], 0.1), REIGEN_TIMEOUT);
  EXPECT_EQ(worker_->requests_seen(), 1u);
}

// As if another rank had no room for what is in flight here.
TEST_F(SdkDeviceRoomTest, WhereNoRoomComesATensorGoesThroughHostMemory) {
  BeginSilent();
  reigen_handle handles[3] = {};
  StartOne("a", most_, 1, &handles[0]);
  StartOne("b", most_, 2, &handles[1]);
  StartOne("c", most_, 3, &handles[2]);
  for (const size_t i : {0, 1, 2}) {
    const SeenRequest seen = worker_->WaitForRequests(i + 1)[i];
    EXPECT_EQ(worker_->IsOnDevice(seen.tensors[0]), i == 0) << i;
  }
  for (const size_t i : {2, 1, 0}) {
    worker_->Complete(worker_->WaitForRequests(3)[i].head.request);
    EXPECT_EQ(Finish(handles[i]), REIGEN_OK) << last_;
  }
  // Later ones find room, once the GPU has read a's result.
  bool on_device = false;
  for (size_t i = 3; i < 1000 && !on_device; ++i) {
    StartOne("a", most_, 1, &handles[0]);
    const SeenRequest seen = worker_->WaitForRequests(i + 1)[i];
    on_device = worker_->IsOnDevice(seen.tensors[0]);
    worker_->Complete(seen.head.request);
    EXPECT_EQ(Finish(handles[0]), REIGEN_OK) << last_;
  }
  EXPECT_TRUE(on_device);
}

TEST_F(SdkDeviceRoomTest, OneThatIsLargerThanTheArenasGoesThroughHostMemoryWhichIsToldOnce) {
  testing::internal::CaptureStderr();
  Begin();
  const int64_t larger = 1 << 20;
  reigen_handle handle = 0;
  for (int i = 0; i < 3; ++i) {
    const cuda::CuAddress x = StartOne("x", larger + i, 5, &handle);
    EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
    EXPECT_EQ(driver_.Read(x, 1, stream_)[0], 15);
  }
  EXPECT_EQ(tripler_.on_host(), 3);
  reigen_shutdown();
  const std::string said = testing::internal::GetCapturedStderr();
  const std::string text =
      "CUDA device 0: a request of 4 MiB is larger than an arena there can be, with 2 MiB for "
      "all: such ones go through host memory (REIGEN_CUDA_ARENA_MB)\n";
  const size_t first = said.find(text);
  EXPECT_NE(first, std::string::npos) << said;
  EXPECT_EQ(said.find("is larger than", first + text.size()), std::string::npos) << said;
}

// The host's others are told then, too.
TEST_F(SdkDeviceRoomTest, TheWorkerIsToldWhyThereIsNoArena) {
  setenv("REIGEN_CUDA_ARENA_MB", "1", 1);
  Begin();
  reigen_handle handle = 0;
  for (int i = 0; i < 2; ++i) {
    StartTwo(&handle);
    EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  }
  EXPECT_EQ(tripler_.on_host(), 2);
  const auto said = worker_->WaitForNoUse(1);
  EXPECT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].use, 0u);
  EXPECT_STREQ(said[0].why_not, "REIGEN_CUDA_ARENA_MB allows for no arena on a GPU");
}

TEST_F(SdkDeviceRoomTest, TheEndOfTheSessionEndsTheWait) {
  Patience("10000");
  BeginSilent();
  reigen_handle handles[2] = {};
  StartOne("a", most_, 1, &handles[0]);
  StartOne("b", most_, 2, &handles[1]);
  worker_->WaitForRequests(1);
  worker_->Die();
  EXPECT_EQ(Finish(handles[1]), REIGEN_UNAVAILABLE);
  EXPECT_EQ(Finish(handles[0]), REIGEN_UNAVAILABLE);
}

}  // namespace
}  // namespace reigen::sdk
