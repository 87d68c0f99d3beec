// Goal: every way in which a work request can end, and the limit of locked memory, in
// words that tell a lost path from a bug.
#include "runtime/transport/rdma/words.h"

#include <gtest/gtest.h>

#include <string>

#include "runtime/base/clock.h"
#include "runtime/transport/link_limits.h"
#include "runtime/transport/rdma/control_queue.h"
#include "runtime/transport/rdma/rdma_limits.h"

namespace reigen::transport::rdma {
namespace {

// Some devices end what a port that goes down was sending with the status of a broken queue pair.
TEST(WordsTest, OfAPortThatWentDownSomeStatusesAreALostPathToo) {
  const std::string down = "port rxe2:1 went down (port error)";
  for (int i = 1; i < kWorkStatuses; ++i) {
    WorkCompletion completion;
    completion.status = static_cast<WorkStatus>(i);
    completion.vendor_error = 129;
    const bool lost = IsLostPath(completion.status) || MayBeOfADeadPort(completion.status);
    const Status said = DescribeCompletion(completion, "a write of data", seconds(4), down);
    EXPECT_EQ(said.code(), lost ? StatusCode::kUnavailable : StatusCode::kInternal);
    const std::string text = said.ToString();
    EXPECT_EQ(text.find(down) != std::string::npos, lost) << text;
    EXPECT_EQ(text.find("cables"), std::string::npos) << text;
    for (const char* part : {Name(completion.status), "vendor code 129", "a write of data"}) {
      EXPECT_NE(text.find(part), std::string::npos) << text;
    }
  }
  for (const WorkStatus fault :
       {WorkStatus::kLocalLength, WorkStatus::kLocalProtection, WorkStatus::kLocalAccess,
        WorkStatus::kRemoteAccess, WorkStatus::kRemoteInvalidRequest, WorkStatus::kRemoteOperation,
        WorkStatus::kBadResponse, WorkStatus::kRnrRetryExceeded}) {
    EXPECT_FALSE(MayBeOfADeadPort(fault)) << Name(fault);
  }
}

TEST(WordsTest, OnlyAFlushAndExceededRetriesAreALostPath) {
  for (int i = 1; i < kWorkStatuses; ++i) {
    const auto status = static_cast<WorkStatus>(i);
    const bool lost = status == WorkStatus::kFlushed || status == WorkStatus::kRetryExceeded;
    EXPECT_EQ(IsLostPath(status), lost) << Name(status);
    WorkCompletion completion;
    completion.status = status;
    completion.vendor_error = 129;
    const Status said = DescribeCompletion(completion, "a write of data", milliseconds(3760), "");
    EXPECT_EQ(said.code(), lost ? StatusCode::kUnavailable : StatusCode::kInternal) << Name(status);
    const std::string text = said.ToString();
    for (const char* part : {Name(status), "a write of data"}) {
      EXPECT_NE(text.find(part), std::string::npos) << text;
    }
    EXPECT_EQ(text.find("for about 3.8 s") != std::string::npos,
              status == WorkStatus::kRetryExceeded) << text;
    EXPECT_EQ(text.find("look at cables") != std::string::npos, lost) << text;
    if (lost) continue;
    EXPECT_NE(text.find("status " + std::to_string(i)), std::string::npos) << text;
    EXPECT_NE(text.find("vendor code 129"), std::string::npos) << text;
  }
}

// C43
TEST(WordsTest, LockedMemoryIsNamedWithLimitNeedAndRemedy) {
  LockedMemory allowed;
  allowed.limit_bytes = 64 << 10;
  EXPECT_TRUE(CheckLockedMemory(allowed, 64 << 10).ok());
  const Status status = CheckLockedMemory(allowed, 80 << 20);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  const std::string text = status.ToString();
  for (const char* part : {"64 KiB", "80 MiB", "ulimit -l", "LimitMEMLOCK", "memlock=-1"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  allowed.unlimited = true;
  EXPECT_TRUE(CheckLockedMemory(allowed, uint64_t{80} << 30).ok());
}

// A limit that holds the registered memory and no link would be hit after the start.
TEST(WordsTest, LinksAndEachDeviceCountToWhatIsNeeded) {
  constexpr uint64_t kScratch = 64 << 20;
  EXPECT_EQ(LockedBytes(kScratch, 2, 3), 2 * kScratch + 3 * LockedBytes(0, 1, 1));
  EXPECT_EQ(LockedBytes(0, 4, 1), LockedBytes(0, 1, 1, 4)) << "each has a queue at least";
  const Status status = CheckLockedMemory({.limit_bytes = kScratch}, LockedBytes(kScratch, 1, 1));
  EXPECT_NE(status.ToString().find("limited to 64 MiB, RDMA needs about 66 MiB"),
            std::string::npos) << status.ToString();
}

// Such cards lock the rings of queues as well, whose sizes are powers of two.
TEST(WordsTest, WhatIsCountedHoldsALinkOfARealCard) {
  constexpr uint32_t kControl = 2 * kControlQueue;
  for (uint32_t queues = 1; queues <= kMaxChannels; ++queues) {
    const uint64_t completions = LockedBytesOfCompletions(kControl + queues * (kDataSends + kDataReceives));
    const uint64_t rings = LockedBytesOfRings(kControlQueue, kControlQueue) +
                           queues * LockedBytesOfRings(kDataSends, kDataReceives);
    const uint64_t loopback = kLoopbackSlots * kEagerBytes + LockedBytesOfCompletions(kLoopbackWrs) +
                              LockedBytesOfRings(kLoopbackWrs, 1);
    EXPECT_LE(ControlQueue::kMemoryBytes + completions + rings + queues * loopback,
              LockedBytes(0, 1, 1, queues))
        << queues;
  }
  EXPECT_EQ(LockedBytesOfCompletions(8388), 1u << 20);
  EXPECT_GE(LockedBytesOfRings(32, 4096), 64u << 10);
}

TEST(WordsTest, AFailedRegistrationIsExplainedOnlyIfTheLimitCanBeTheCause) {
  LockedMemory allowed;
  allowed.limit_bytes = 64 << 10;
  const Status out = ErrnoStatus(StatusCode::kResourceExhausted, "ibv_reg_mr", 12);
  EXPECT_NE(DescribeRegistration(out, allowed, 1 << 20).ToString().find("1024 KiB"),
            std::string::npos);
  allowed.unlimited = true;
  EXPECT_EQ(DescribeRegistration(out, allowed, 1 << 20), out);
  const Status other = Internal("ibv_reg_mr: bad address");
  EXPECT_EQ(DescribeRegistration(other, {}, 1), other);
}

}  // namespace
}  // namespace reigen::transport::rdma
