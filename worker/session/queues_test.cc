// Goal: the queues keep order and lose nothing, also when the trainer is slow, and
// nonsense in the shared words is an error or a wait.
// Method: the test is the trainer, in the same memory.
#include "worker/session/queues.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace reigen::worker {
namespace {

class QueuesTest : public testing::Test {
 protected:
  local::QueueHeader& header() { return *reinterpret_cast<local::QueueHeader*>(memory_.data()); }
  local::Slot* submissions() {
    return reinterpret_cast<local::Slot*>(memory_.data() + local::SubmissionOffset());
  }
  const local::Slot* completions() {
    return reinterpret_cast<local::Slot*>(memory_.data() + local::CompletionOffset());
  }

  void Submit(uint64_t value) {
    const uint32_t head = header().submission_head.load();
    std::memcpy(submissions()[head % local::kSubmissionSlots].bytes, &value, sizeof value);
    header().submission_head.store(head + 1);
  }

  local::CompletionSlot TakeCompletion(std::string* text = nullptr) {
    uint32_t tail = header().completion_tail.load();
    local::CompletionSlot slot;
    std::memcpy(static_cast<void*>(&slot), &completions()[tail++ % local::kCompletionSlots], sizeof slot);
    std::string read;
    for (uint32_t i = 0; i < slot.text_slots; ++i) {
      read.append(reinterpret_cast<const char*>(
                      completions()[tail++ % local::kCompletionSlots].bytes),
                  sizeof(local::Slot));
    }
    if (text != nullptr) *text = read.substr(0, slot.text_bytes);
    header().completion_tail.store(tail);
    return slot;
  }

  struct alignas(64) Line { std::byte bytes[64]; };
  std::vector<Line> lines_ = std::vector<Line>(local::QueuesBytes() / 64);
  std::span<std::byte> memory_ = std::as_writable_bytes(std::span(lines_));
  Queues queues_{memory_};
};

TEST_F(QueuesTest, TakesSlotsInOrderOverTheEndOfTheRing) {
  uint64_t sent = 0, got = 0;
  for (int round = 0; round < 5; ++round) {
    for (uint32_t i = 0; i < local::kSubmissionSlots * 3 / 4; ++i) Submit(sent++);
    local::Slot slot;
    while (*queues_.Take(slot)) {
      uint64_t value = 0;
      std::memcpy(&value, slot.bytes, sizeof value);
      ASSERT_EQ(value, got++);
    }
    queues_.Release();
    EXPECT_EQ(header().submission_tail.load(), header().submission_head.load());
  }
  EXPECT_EQ(got, sent);
}

TEST_F(QueuesTest, APositionOutOfRangeIsAnError) {
  header().submission_head.store(local::kSubmissionSlots + 1);
  local::Slot slot;
  EXPECT_FALSE(queues_.Take(slot).ok());
}

TEST_F(QueuesTest, ACompletionCarriesItsTextAndIsCutToTheLimit) {
  queues_.Push({.request = 5, .code = local::ResultCode::kAborted,
                .text = std::string(300, 't'), .inline_bytes = {}});
  queues_.Push({.request = 6, .code = local::ResultCode::kInternal,
                .text = std::string(10000, 'u'), .inline_bytes = {}});
  queues_.Publish();
  std::string text;
  EXPECT_EQ(TakeCompletion(&text).request, 5u);
  EXPECT_EQ(text, std::string(300, 't'));
  EXPECT_EQ(TakeCompletion(&text).request, 6u);
  EXPECT_EQ(text, std::string(local::kMaxErrorBytes, 'u'));
}

TEST_F(QueuesTest, WhatFindsNoSpaceWaitsAndKeepsItsOrderAndItsBytes) {
  constexpr uint64_t kCount = local::kCompletionSlots * 3;
  for (uint64_t i = 0; i < kCount; ++i) {
    const auto byte = static_cast<std::byte>(i);
    queues_.Push({.request = i, .code = local::ResultCode::kOk, .text = "",
                  .inline_bytes = {&byte, 1}});
  }
  queues_.Publish();
  EXPECT_EQ(header().completion_wanted.load(), 1u);
  for (uint64_t i = 0; i < kCount; ++i) {
    if (header().completion_tail.load() == header().completion_head.load()) queues_.Publish();
    const local::CompletionSlot slot = TakeCompletion();
    ASSERT_EQ(slot.request, i);
    ASSERT_EQ(slot.inline_bytes[0], static_cast<uint8_t>(i));
    ASSERT_EQ(slot.inline_count, 1u);
  }
}

TEST_F(QueuesTest, ATailOutOfRangeMakesNoSpace) {
  header().completion_tail.store(12345);
  queues_.Push({.request = 1, .code = local::ResultCode::kOk, .text = "", .inline_bytes = {}});
  queues_.Publish();
  EXPECT_EQ(header().completion_head.load(), 0u);
}

}  // namespace
}  // namespace reigen::worker
