// Goal: CUDA tensors that stay on the GPU, against a scripted worker and the fake GPU: what
// the worker is told, what its commands do, and that whatever is not possible goes through
// host memory.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/c/sdk_device_fixture.h"

namespace reigen::sdk {
namespace {

TEST_F(SdkDeviceTest, AGroupStaysOnTheGpu) {
  Begin();
  const int to_host = driver_.calls("cuMemcpyDtoHAsync_v2");
  const int to_device = driver_.calls("cuMemcpyHtoDAsync_v2");
  const int64_t counts[] = {2, 1000, 300'000};
  std::vector<reigen_tensor> tensors;
  std::vector<cuda::CuAddress> memory;
  const char* const names[] = {"a", "b", "c"};
  for (const int i : {0, 1, 2}) {
    memory.push_back(driver_.Allocate(static_cast<size_t>(counts[i]) * sizeof(float)));
    driver_.Write(memory.back(),
                  std::vector<float>(static_cast<size_t>(counts[i]), 1.0f + static_cast<float>(i)),
                  stream_);
    tensors.push_back(Tensor(memory.back(), &counts[i], names[i]));
  }
  reigen_handle handle = 0;
  ASSERT_EQ(Start(tensors, &handle), REIGEN_OK) << reigen_last_error();
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  EXPECT_EQ(driver_.calls("cuMemcpyDtoHAsync_v2"), to_host);
  EXPECT_LE(driver_.calls("cuMemcpyHtoDAsync_v2") - to_device, 1) << "the arena's check";
  EXPECT_EQ(tripler_.on_device(), 3);
  for (const int i : {0, 1, 2}) {
    const auto count = static_cast<size_t>(counts[i]);
    EXPECT_EQ(driver_.Read(memory[static_cast<size_t>(i)], count, stream_),
              std::vector<float>(count, 3.0f + 3.0f * static_cast<float>(i)));
  }
}

TEST_F(SdkDeviceTest, StridedTensorsArePackedThere) {
  Begin();
  const int64_t shape[] = {2, 3};
  const int64_t strides[] = {4, 8};  // of a 3 x 2 one, transposed
  x_ = driver_.Allocate(24);
  driver_.Write(x_, {1, 2, 3, 4, 5, 6}, stream_);
  reigen_tensor tensor = Tensor(x_, shape, "x");
  tensor.ndim = 2;
  tensor.input_strides = tensor.output_strides = strides;
  reigen_handle handle = 0;
  ASSERT_EQ(Start({tensor}, &handle), REIGEN_OK) << reigen_last_error();
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  EXPECT_EQ(tripler_.on_device(), 1);
  EXPECT_EQ(driver_.Read(x_, 6, stream_), (std::vector<float>{3, 6, 9, 12, 15, 18}));
}

TEST_F(SdkDeviceTest, TensorsThatAreNotAlignedToTheirElementsWork) {
  for (const bool with_worker : {true, false}) {
    if (with_worker) {
      Begin();
    } else {
      unsetenv("REIGEN_SOCKET");
      ASSERT_EQ(reigen_init(), REIGEN_OK);  // a job of one rank, which leaves them as they are
    }
    std::vector<std::byte> records(20);
    const float values[] = {1, 2, 3, 4};
    for (size_t i = 0; i < 4; ++i) std::memcpy(&records[5 * i + 1], &values[i], 4);
    const cuda::CuAddress memory = driver_.Allocate(20);
    driver_.WriteBytes(memory, records, stream_);
    const cuda::CuAddress result = driver_.Allocate(20) + 3;
    const int64_t count = 4;
    const int64_t stride = 5;
    reigen_tensor tensor = Tensor(memory + 1, &count, "x");
    tensor.input_strides = &stride;
    tensor.output = reinterpret_cast<void*>(result);
    reigen_handle handle = 0;
    ASSERT_EQ(Start({tensor}, &handle), REIGEN_OK) << reigen_last_error();
    EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
    const float times = with_worker ? 3 : 1;
    EXPECT_EQ(driver_.Read(result, 4, stream_),
              (std::vector<float>{times, 2 * times, 3 * times, 4 * times}));
    tensor = Tensor(result, &count, "y");
    ASSERT_EQ(Start({tensor}, &handle), REIGEN_OK) << reigen_last_error();
    EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
    EXPECT_EQ(driver_.Read(result, 1, stream_), std::vector<float>{times * times});
    reigen_shutdown();
  }
}

TEST_F(SdkDeviceTest, AWorkerThatTakesNoDeviceArenasGetsHostMemory) {
  FakeScript script;
  tripler_.Install(&script);
  BeginWith(std::move(script));
  reigen_handle handle = 0;
  StartTwo(&handle);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  EXPECT_EQ(Two(), (std::vector<float>{3, 6}));
  EXPECT_EQ(tripler_.on_host(), 1);
  EXPECT_TRUE(worker_->device_arenas().empty());
}

TEST_F(SdkDeviceTest, TheWorkerIsToldOfArenaAndScratch) {
  FakeScript script;
  script.device_scratch_bytes = 4 * kMiB;
  Begin(std::move(script));
  EXPECT_TRUE(worker_->device_arenas().empty());  // nothing without CUDA tensors
  reigen_handle handle = 0;
  StartTwo(&handle);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  const auto arenas = worker_->device_arenas();
  ASSERT_EQ(arenas.size(), 2u);
  EXPECT_EQ(arenas[0].packet.kind, local::DeviceArenaKind::kTensors);
  EXPECT_EQ(arenas[1].packet.kind, local::DeviceArenaKind::kScratch);
  EXPECT_EQ(arenas[1].packet.bytes, 4 * kMiB);
  EXPECT_NE(arenas[1].packet.bus_id[0], '\0');
  EXPECT_EQ(arenas[1].has_dmabuf, arenas[1].packet.why_no_dmabuf[0] == '\0');
}

TEST_F(SdkDeviceTest, ArenasOfHostsAndGpusHaveIdsOfOneSeries) {
  Begin();
  reigen_handle handle = 0;
  StartTwo(&handle);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  void* const memory = reigen_alloc(100 * kMiB);  // arena 2
  EXPECT_NE(memory, nullptr);
  reigen_free(memory);
  const int64_t many = 20 * static_cast<int64_t>(kMiB);  // more than the first has
  const cuda::CuAddress y = driver_.Allocate(4 * static_cast<size_t>(many));
  ASSERT_EQ(Start({Tensor(y, &many, "y")}, &handle), REIGEN_OK);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  const auto arenas = worker_->device_arenas();
  ASSERT_EQ(arenas.size(), 2u);
  EXPECT_EQ(arenas[0].arena, 1u);
  EXPECT_EQ(arenas[1].arena, 3u);
  EXPECT_EQ(tripler_.on_device(), 2);
}

TEST_F(SdkDeviceTest, WhatDoesNotFitGoesThroughHostMemory) {
  setenv("REIGEN_CUDA_ARENA_MB", "2", 1);
  Begin();
  reigen_handle handle = 0;
  const int64_t many = static_cast<int64_t>(kMiB);
  const cuda::CuAddress y = driver_.Allocate(4 * static_cast<size_t>(many));
  driver_.Write(y, {5}, stream_);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(Start({Tensor(y, &many, "y")}, &handle), REIGEN_OK);
    EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
    StartTwo(&handle);
    EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
    EXPECT_EQ(Two(), (std::vector<float>{3, 6}));
  }
  EXPECT_EQ(driver_.Read(y, 1, stream_), std::vector<float>{45});
  EXPECT_EQ(tripler_.on_host(), 2);
  EXPECT_EQ(tripler_.on_device(), 2);
}

TEST_F(SdkDeviceTest, NoMegabytesIsNoArena) {
  setenv("REIGEN_CUDA_ARENA_MB", "0", 1);
  Begin();
  reigen_handle handle = 0;
  StartTwo(&handle);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  EXPECT_EQ(tripler_.on_host(), 1);
  reigen_shutdown();
  setenv("REIGEN_CUDA_ARENA_MB", "many", 1);
  EXPECT_EQ(reigen_init(), REIGEN_INVALID_ARGUMENT);
}

TEST_F(SdkDeviceTest, ARefusedArenaMeansHostMemory) {
  FakeScript script;
  script.refuse_device_arena = "too many";
  Begin(std::move(script));
  reigen_handle handle = 0;
  for (int i = 0; i < 2; ++i) {
    StartTwo(&handle);
    EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  }
  EXPECT_EQ(tripler_.on_host(), 2);
}

TEST_F(SdkDeviceTest, AFullGpuMeansHostMemory) {
  Begin();
  reigen_handle handle = 0;
  StartTwo(&handle);  // kernels and their ranges are there afterwards
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  const int64_t many = 30 * static_cast<int64_t>(kMiB);  // more than any session had
  const cuda::CuAddress y = driver_.Allocate(4 * static_cast<size_t>(many));
  driver_.FailOnce("cuMemAlloc_v2", 2);
  ASSERT_EQ(Start({Tensor(y, &many, "y")}, &handle), REIGEN_OK);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  EXPECT_EQ(tripler_.on_host(), 1);
}

TEST_F(SdkDeviceTest, OnlyTheFirstGpuHasArenas) {
  Begin();
  reigen_handle handle = 0;
  StartTwo(&handle);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  cuda::FakeDriver second(1);
  const cuda::CuStream second_stream = second.NewStream();
  const cuda::CuAddress y = second.Allocate(8);
  second.Write(y, {5, 6}, second_stream);
  reigen_tensor tensor = Tensor(y, &two_, "y");
  tensor.device = 1;
  tensor.stream = reinterpret_cast<uintptr_t>(second_stream);
  ASSERT_EQ(Start({tensor}, &handle), REIGEN_OK) << reigen_last_error();
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  EXPECT_EQ(second.Read(y, 2, second_stream), (std::vector<float>{15, 18}));
  EXPECT_EQ(tripler_.on_device(), 1);
  EXPECT_EQ(tripler_.on_host(), 1);
}

TEST_F(SdkDeviceTest, TheWorkerMaySayThatArenasOfGpusHaveNoUse) {
  Begin();
  reigen_handle handle = 0;
  StartTwo(&handle);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  worker_->SendDeviceUse(false, "a test says so");
  // The next packet's answer shows that it was taken.
  reigen_free(reigen_alloc(100 * kMiB));
  StartTwo(&handle);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  EXPECT_EQ(tripler_.on_host(), 1);
  worker_->SendDeviceUse(true, "");
  reigen_free(reigen_alloc(300 * kMiB));
  StartTwo(&handle);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  EXPECT_EQ(tripler_.on_device(), 2);
}

TEST_F(SdkDeviceTest, ManyAtOnceAreRightAndTheArenaIsUsedAgain) {
  setenv("REIGEN_CUDA_ARENA_MB", "4", 1);
  Begin();
  constexpr size_t kRequests = 40;
  for (int round = 0; round < 5; ++round) {
    std::vector<reigen_handle> handles(kRequests);
    std::vector<cuda::CuAddress> memory(kRequests);
    for (size_t i = 0; i < kRequests; ++i) {
      memory[i] = driver_.Allocate(8);
      driver_.Write(memory[i], {static_cast<float>(i), 1}, stream_);
      const std::string name = "x" + std::to_string(i);
      ASSERT_EQ(Start({Tensor(memory[i], &two_, name.c_str())}, &handles[i]), REIGEN_OK);
    }
    for (size_t i = 0; i < kRequests; ++i) {
      EXPECT_EQ(Finish(handles[i]), REIGEN_OK) << last_;
      EXPECT_EQ(driver_.Read(memory[i], 2, stream_),
                (std::vector<float>{3 * static_cast<float>(i), 3}));
    }
  }
  EXPECT_EQ(tripler_.on_device(), 5 * static_cast<int>(kRequests));
  EXPECT_EQ(worker_->device_arenas().size(), 1u);
}

TEST_F(SdkDeviceTest, CommandsAreAnsweredInOrderAndBadOnesWithAnError) {
  BeginSilent();
  reigen_handle handle = 0;
  StartTwo(&handle);
  const local::MemoryPlace place = worker_->Place(worker_->WaitForRequests(1)[0].tensors[0]);
  const local::ItemSize two{.count = 2, .reserved = 0};
  local::CommandSlot triple = Reduction();
  triple.prescale = 3;
  worker_->Command(triple, {two, place, place});
  local::MemoryPlace outside = place;
  outside.offset = uint64_t{1} << 50;
  worker_->Command(triple, {two, place, outside});
  outside = place;
  outside.owner = 9;
  worker_->Command(triple, {two, outside, place});
  local::CommandSlot nonsense = triple;
  nonsense.kind = static_cast<local::CommandKind>(77);
  worker_->Command(nonsense, {two, place, place});
  nonsense = triple;
  nonsense.inputs = 200;
  worker_->Command(nonsense, std::vector<CommandWord>(202, CommandWord(place)));
  worker_->Mirror(123456);
  worker_->Command(triple, {two, place, place});
  const auto dones = worker_->WaitForDone(7);
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(dones[i].id, i + 1);
    const bool good = i == 0 || i == 6;
    EXPECT_EQ(dones[i].code,
              good ? local::ResultCode::kOk : local::ResultCode::kInvalidArgument);
    EXPECT_EQ(dones[i].text_bytes > 0, !good);
  }
  EXPECT_STREQ(dones[2].text, "arena 1 of local rank 9 is not here");
  EXPECT_STREQ(dones[5].text, "no request 123456");
  worker_->Complete(worker_->WaitForRequests(1)[0].head.request);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  EXPECT_EQ(Two(), (std::vector<float>{9, 18}));
}

TEST_F(SdkDeviceTest, AQueueThatNobodyCanReadEndsTheSession) {
  BeginSilent();
  reigen_handle handle = 0;
  StartTwo(&handle);
  worker_->WaitForRequests(1);
  local::CommandSlot head = Reduction();
  head.item_count = UINT32_MAX;
  std::vector<local::Slot> slots(1);
  std::memcpy(slots[0].bytes, &head, sizeof(head));
  worker_->CommandSlots(slots);
  EXPECT_EQ(Finish(handle), REIGEN_UNAVAILABLE);
  EXPECT_NE(last_.find("bad commands"), std::string::npos) << last_;
}

TEST_F(SdkDeviceTest, AMirroredRequestIsOneOfHostMemory) {
  BeginSilent();
  const int64_t counts[] = {3, 2};
  const cuda::CuAddress memory[] = {driver_.Allocate(12), driver_.Allocate(8)};
  driver_.Write(memory[0], {1, 2, 3}, stream_);
  driver_.Write(memory[1], {4, 5}, stream_);
  reigen_handle handle = 0;
  ASSERT_EQ(Start({Tensor(memory[0], &counts[0], "a"), Tensor(memory[1], &counts[1], "b")},
                  &handle),
            REIGEN_OK);
  const SeenRequest seen = worker_->WaitForRequests(1)[0];
  ASSERT_TRUE(worker_->IsOnDevice(seen.tensors[0]));
  // What was written there before is in it.
  local::CommandSlot triple = Reduction();
  triple.prescale = 3;
  worker_->Command(triple, {local::ItemSize{.count = 3, .reserved = 0},
                            worker_->Place(seen.tensors[0]),
                            worker_->Place(seen.tensors[0])});
  const local::DoneSlot done = DoneOf(worker_->Mirror(seen.head.request));
  ASSERT_EQ(done.code, local::ResultCode::kOk) << done.text;
  EXPECT_EQ(done.arena, 0u);
  local::TensorSlot mirrored = seen.tensors[0];
  mirrored.arena = done.arena;
  mirrored.offset = done.offset;
  auto* const first = reinterpret_cast<float*>(worker_->Memory(mirrored));
  float* const second = first + local::kArenaAlignment / sizeof(float);
  EXPECT_EQ(std::vector<float>(first, first + 3), (std::vector<float>{3, 6, 9}));
  EXPECT_EQ(std::vector<float>(second, second + 2), (std::vector<float>{4, 5}));
  first[0] = 70;
  second[1] = 71;
  const local::DoneSlot again = DoneOf(worker_->Mirror(seen.head.request));
  EXPECT_EQ(again.code, local::ResultCode::kFailedPrecondition);
  worker_->Complete(seen.head.request);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  EXPECT_EQ(driver_.Read(memory[0], 3, stream_), (std::vector<float>{70, 6, 9}));
  EXPECT_EQ(driver_.Read(memory[1], 2, stream_), (std::vector<float>{4, 71}));
}

TEST_F(SdkDeviceTest, AMirrorMayNeedAnotherArena) {
  BeginSilent();
  const int64_t many = static_cast<int64_t>(kMiB);  // 4 MiB: the host's arena has 1
  const cuda::CuAddress y = driver_.Allocate(4 * static_cast<size_t>(many));
  driver_.Write(y, {5}, stream_);
  reigen_handle handle = 0;
  ASSERT_EQ(Start({Tensor(y, &many, "y")}, &handle), REIGEN_OK);
  const SeenRequest seen = worker_->WaitForRequests(1)[0];
  const local::DoneSlot done = DoneOf(worker_->Mirror(seen.head.request));
  ASSERT_EQ(done.code, local::ResultCode::kOk) << done.text;
  EXPECT_GT(done.arena, seen.tensors[0].arena);
  local::TensorSlot mirrored = seen.tensors[0];
  mirrored.arena = done.arena;
  mirrored.offset = done.offset;
  EXPECT_EQ(*reinterpret_cast<float*>(worker_->Memory(mirrored)), 5.0f);
  worker_->Complete(seen.head.request);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
}

TEST_F(SdkDeviceTest, AMirrorWithoutMemoryIsAnError) {
  FakeScript script;
  script.takes_device_arenas = true;
  script.refuse_growth = "no more";
  BeginWith(std::move(script));
  const int64_t many = static_cast<int64_t>(kMiB);
  const cuda::CuAddress y = driver_.Allocate(4 * static_cast<size_t>(many));
  reigen_handle handle = 0;
  ASSERT_EQ(Start({Tensor(y, &many, "y")}, &handle), REIGEN_OK);
  const SeenRequest seen = worker_->WaitForRequests(1)[0];
  const local::DoneSlot done = DoneOf(worker_->Mirror(seen.head.request));
  EXPECT_EQ(done.code, local::ResultCode::kResourceExhausted);
  EXPECT_STREQ(done.text, "no more");
  worker_->Complete(seen.head.request, local::ResultCode::kResourceExhausted, done.text);
  EXPECT_EQ(Finish(handle), REIGEN_RESOURCE_EXHAUSTED);
}

TEST_F(SdkDeviceTest, TheHostsScratchIsMappedAndCommandsWorkInIt) {
  BeginSilent();
  reigen_handle handle = 0;
  StartTwo(&handle);
  const SeenRequest seen = worker_->WaitForRequests(1)[0];
  worker_->SendHostScratch(kMiB, 4096);
  auto* const scratch = reinterpret_cast<float*>(worker_->SendHostScratch(kMiB, kMiB));
  const auto mapped = worker_->WaitForMapped(2);
  EXPECT_EQ(mapped[0].code, REIGEN_INTERNAL + 0u);
  EXPECT_STREQ(mapped[0].why_not,
               "the worker's scratch file has 4096 bytes, announced were 1048576");
  ASSERT_EQ(mapped[1].code, 0u) << mapped[1].why_not;
  scratch[16] = 10;
  scratch[17] = 20;
  const local::MemoryPlace place = worker_->Place(seen.tensors[0]);
  const local::MemoryPlace received{
      .arena = 0, .owner = local::kHostScratchOwner, .reserved = 0, .offset = 64};
  const local::MemoryPlace sent{
      .arena = 0, .owner = local::kHostScratchOwner, .reserved = 0, .offset = 128};
  local::CommandSlot head = Reduction();
  head.received = 1;
  head.outputs = 2;
  const local::DoneSlot done = DoneOf(worker_->Command(
      head, {local::ItemSize{.count = 2, .reserved = 0}, received, place, place, sent}));
  ASSERT_EQ(done.code, local::ResultCode::kOk) << done.text;
  EXPECT_EQ(std::vector<float>(scratch + 32, scratch + 34), (std::vector<float>{11, 22}));
  worker_->Complete(seen.head.request);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  EXPECT_EQ(Two(), (std::vector<float>{11, 22}));
  EXPECT_GT(driver_.registered(), 0);
  reigen_shutdown();
  EXPECT_EQ(driver_.registered(), 0);
}

TEST_F(SdkDeviceTest, AHandleOfNoMemoryIsNotOpened) {
  BeginSilent();
  reigen_handle handle = 0;
  StartTwo(&handle);
  worker_->WaitForRequests(1);
  local::PeerArena arena;
  arena.local_rank = 1;
  arena.arena = 7;
  arena.bytes = kMiB;
  worker_->SendPeerArena(arena);
  arena.local_rank = UINT32_MAX;
  worker_->SendPeerArena(arena);
  const auto opened = worker_->WaitForOpened(2);
  EXPECT_NE(opened[0].code, 0u);
  EXPECT_EQ(opened[0].local_rank, 1u);
  EXPECT_EQ(opened[0].arena, 7u);
  EXPECT_NE(opened[0].why_not[0], '\0');
  EXPECT_NE(opened[1].code, 0u);
}

TEST_F(SdkDeviceTest, TheCommandThreadSleepsWhileThereIsNothingToDo) {
  Begin();
  reigen_handle handle = 0;
  for (int i = 0; i < 3; ++i) {
    StartTwo(&handle);
    EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!worker_->TrainerSleeps() && std::chrono::steady_clock::now() < limit) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(worker_->TrainerSleeps());
  }
}

TEST_F(SdkDeviceTest, AWorkersDeathEndsWhatIsInFlight) {
  BeginSilent();
  reigen_handle handle = 0;
  StartTwo(&handle);
  const SeenRequest seen = worker_->WaitForRequests(1)[0];
  const local::MemoryPlace place = worker_->Place(seen.tensors[0]);
  for (int i = 0; i < 100; ++i) {
    worker_->Command(Reduction(), {local::ItemSize{.count = 2, .reserved = 0}, place, place});
  }
  worker_->Die();
  EXPECT_EQ(Finish(handle), REIGEN_UNAVAILABLE);
}

TEST_F(SdkDeviceTest, ShutdownEndsWhatIsInFlightAndTheNextSessionStartsAnew) {
  BeginSilent();
  reigen_handle handle = 0;
  StartTwo(&handle);
  worker_->WaitForRequests(1);
  reigen_shutdown();
  EXPECT_EQ(Finish(handle), REIGEN_ABORTED);
  Begin();
  StartTwo(&handle);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
  EXPECT_EQ(Two(), (std::vector<float>{3, 6}));
  EXPECT_EQ(tripler_.on_device(), 1);
}

TEST_F(SdkDeviceTest, AFailedLaunchFailsItsCommandAlone) {
  BeginSilent();
  reigen_handle handle = 0;
  StartTwo(&handle);
  const SeenRequest seen = worker_->WaitForRequests(1)[0];
  const local::MemoryPlace place = worker_->Place(seen.tensors[0]);
  const local::ItemSize two{.count = 2, .reserved = 0};
  driver_.FailOnce("cuLaunchKernel", 1);
  const local::DoneSlot failed = DoneOf(worker_->Command(Reduction(), {two, place, place}));
  EXPECT_EQ(failed.code, local::ResultCode::kInternal);
  EXPECT_EQ(std::string(failed.text).find("CUDA device 0: cuLaunchKernel"), 0u) << failed.text;
  EXPECT_EQ(DoneOf(worker_->Command(Reduction(), {two, place, place})).code,
            local::ResultCode::kOk);
  worker_->Complete(seen.head.request);
  EXPECT_EQ(Finish(handle), REIGEN_OK) << last_;
}

// The last one: the process has lost its GPU then.
TEST_F(SdkDeviceTest, AStickyErrorOfACommandFailsCudaTensorsWithItsName) {
  BeginSilent();
  reigen_handle handle = 0;
  StartTwo(&handle);
  const SeenRequest seen = worker_->WaitForRequests(1)[0];
  const local::MemoryPlace place = worker_->Place(seen.tensors[0]);
  const local::ItemSize two{.count = 2, .reserved = 0};
  driver_.FailOnce("cuLaunchKernel", cuda::kCuIllegalAddress);
  for (int i = 0; i < 2; ++i) {
    const local::DoneSlot failed = DoneOf(worker_->Command(Reduction(), {two, place, place}));
    EXPECT_EQ(failed.code, local::ResultCode::kUnavailable);
    EXPECT_STREQ(failed.text, "CUDA device 0: cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS");
    EXPECT_EQ(failed.text_bytes, std::strlen(failed.text));
  }
  worker_->Complete(seen.head.request);  // as if another's GPU had done it
  EXPECT_EQ(Finish(handle), REIGEN_UNAVAILABLE);
  EXPECT_NE(last_.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos) << last_;
  EXPECT_EQ(Start({Tensor(x_, &two_, "x")}, &handle), REIGEN_UNAVAILABLE);
  EXPECT_NE(std::string(reigen_last_error()).find("CUDA_ERROR_ILLEGAL_ADDRESS"),
            std::string::npos);
}

}  // namespace
}  // namespace reigen::sdk
