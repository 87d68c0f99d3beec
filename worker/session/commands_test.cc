#include "worker/session/commands.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "proto/local/local.h"
#include "worker/session/queues.h"

namespace reigen::worker {
namespace {

class CommandsTest : public testing::Test {
 protected:
  local::QueueHeader& header() { return *reinterpret_cast<local::QueueHeader*>(memory_.data()); }
  std::byte* CommandAt(uint32_t slot) {
    return memory_.data() + local::CommandOffset() + slot * sizeof(local::Slot);
  }
  local::CommandSlot ReadCommand(uint32_t slot) {
    local::CommandSlot out;
    std::memcpy(static_cast<void*>(&out), CommandAt(slot % local::kCommandSlots), sizeof out);
    return out;
  }
  void Answer(uint64_t id, local::ResultCode code = local::ResultCode::kOk) {
    local::DoneSlot done;
    done.id = id;
    done.code = code;
    const uint32_t head = header().done_head.load();
    std::memcpy(memory_.data() + local::DoneOffset() +
                    head % local::kDoneSlots * sizeof(local::Slot),
                &done, sizeof done);
    header().done_head.store(head + 1);
  }
  uint64_t Push(size_t words = 0) {
    return commands_.Push(local::CommandSlot{}, std::vector<CommandWord>(words));
  }

  struct Page {
    alignas(64) std::byte bytes[64];
  };
  std::vector<Page> pages_ = std::vector<Page>(local::QueuesBytes() / 64);
  std::span<std::byte> memory_{pages_[0].bytes, local::QueuesBytes()};
  Queues queues_{memory_};
  Commands commands_{memory_};
};

TEST_F(CommandsTest, ACommandIsSeenWholeOncePublished) {
  std::vector<CommandWord> words(9);
  words[0][0] = std::byte{1};
  words[8][0] = std::byte{9};
  local::CommandSlot slot;
  slot.item_count = 3;
  EXPECT_EQ(commands_.Push(slot, words), 1u);
  EXPECT_EQ(header().command_head.load(), 0u);
  commands_.Publish();
  EXPECT_EQ(header().command_head.load(), 3u) << "itself, and nine words, eight to a slot";
  EXPECT_EQ(ReadCommand(0).id, 1u);
  EXPECT_EQ(ReadCommand(0).item_count, 3u);
  EXPECT_EQ(CommandAt(1)[0], std::byte{1});
  EXPECT_EQ(CommandAt(2)[0], std::byte{9});
}

TEST_F(CommandsTest, AnswersComeInOrderAndOthersAreErrors) {
  Push();
  Push();
  commands_.Publish();
  local::DoneSlot done;
  EXPECT_FALSE(*commands_.TakeDone(done));
  Answer(1);
  EXPECT_TRUE(commands_.HasDone());
  ASSERT_TRUE(*commands_.TakeDone(done));
  EXPECT_EQ(done.id, 1u);
  EXPECT_EQ(header().done_tail.load(), 1u);
  Answer(1);
  EXPECT_FALSE(commands_.TakeDone(done).ok()) << "it was answered";
  Answer(2, static_cast<local::ResultCode>(77));
  EXPECT_FALSE(commands_.TakeDone(done).ok());
  header().done_head.store(header().done_head.load() + local::kDoneSlots + 1);
  EXPECT_FALSE(commands_.TakeDone(done).ok());
}

TEST_F(CommandsTest, AnAnswerBeforeAnyCommandIsAnError) {
  Push();
  Answer(1);
  local::DoneSlot done;
  EXPECT_FALSE(commands_.TakeDone(done).ok()) << "it is not published";
}

TEST_F(CommandsTest, NoMoreAreOutThanHaveRoomForAnAnswer) {
  for (uint32_t i = 0; i < local::kDoneSlots + 5; ++i) Push();
  commands_.Publish();
  EXPECT_EQ(header().command_head.load(), local::kDoneSlots);
  header().command_tail.store(local::kDoneSlots);
  commands_.Publish();
  EXPECT_EQ(header().command_head.load(), local::kDoneSlots);
  local::DoneSlot done;
  Answer(1);
  ASSERT_TRUE(*commands_.TakeDone(done));
  commands_.Publish();
  EXPECT_EQ(header().command_head.load(), local::kDoneSlots + 1);
}

TEST_F(CommandsTest, WhatFindsTheQueueFullWaitsInOrder) {
  const size_t kWords = (local::kCommandSlots / 2) * 8;  // with its head: more than half of it
  Push(kWords);
  Push(kWords);
  Push();
  commands_.Publish();
  const uint32_t first = local::kCommandSlots / 2 + 1;
  EXPECT_EQ(header().command_head.load(), first) << "a small one does not overtake";
  header().command_tail.store(first);
  commands_.Publish();
  EXPECT_EQ(ReadCommand(first).id, 2u);
  EXPECT_EQ(header().command_head.load(), 2 * first + 1);
  header().command_tail.store(77777777);  // nonsense makes no room
  Push(kWords);
  commands_.Publish();
  EXPECT_EQ(header().command_head.load(), 2 * first + 1);
}

TEST_F(CommandsTest, OnlyASleepingCommandThreadIsWoken) {
  header().trainer_sleeping.store(1);
  commands_.Publish();
  EXPECT_EQ(header().trainer_sleeping.load(), 1u) << "nothing was published";
  Push();
  commands_.Publish();
  EXPECT_EQ(header().trainer_sleeping.load(), 0u);
}

}  // namespace
}  // namespace reigen::worker
