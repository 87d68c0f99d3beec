// What the core's own tests do not reach: names, batches, entry numbers.
#include "coordinator/core/plan_stream.h"

#include <gtest/gtest.h>

#include "coordinator/core/test_specs.h"
#include "coordinator/limits.h"

namespace reigen::coordinator {
namespace {

constexpr Time kStart = Time{} + seconds(100);

class PlanStreamTest : public testing::Test {
 protected:
  PlanStreamTest() : membership_(Config(), kStart) {
    membership_.BeginEpoch(kStart);
    stream_ = std::make_unique<PlanStream>(Config(), membership_);
    Flush();
  }
  static JobConfig Config() {
    JobConfig config;
    config.hosts = {{"a", {0}}, {"b", {1}}};
    config.max_names = 5;
    return config;
  }
  void Announce(int host, const std::vector<std::string>& names, uint64_t seen) {
    control::ReadyBatch batch;
    batch.set_epoch(stream_->epoch());
    batch.set_entries_seen(seen);
    for (const std::string& name : names) {
      control::Ready& ready = *batch.add_ready();
      ready.set_name(name);
      *ready.add_variants()->mutable_spec() = Allreduce(name, {4});
      ready.mutable_variants(0)->add_ranks(host);
    }
    ASSERT_TRUE(stream_->Announce(host, batch, kStart).ok());
  }
  // Entry numbers follow each other, whatever the message.
  std::vector<control::Entry> Flush() {
    std::vector<control::Entry> entries;
    for (const auto& message : stream_->Flush()) {
      EXPECT_EQ(message->entries().first_entry(), next_entry_);
      for (const auto& entry : message->entries().entry()) {
        entries.push_back(entry);
        ++next_entry_;
      }
      ++messages_;
    }
    return entries;
  }

  Membership membership_;
  std::unique_ptr<PlanStream> stream_;
  uint64_t next_entry_ = 1;
  int messages_ = 0;
};

TEST_F(PlanStreamTest, NothingReadyNothingSaid) {
  EXPECT_EQ(messages_, 1);
  Announce(0, {"x"}, 1);
  EXPECT_TRUE(Flush().empty());
  EXPECT_EQ(messages_, 1);
}

TEST_F(PlanStreamTest, NamesAreDefinedBeforeTheirFirstPlanAndOnce) {
  for (int round = 0; round < 2; ++round) {
    Announce(0, {"x"}, next_entry_ - 1);
    Announce(1, {"x"}, next_entry_ - 1);
    const auto entries = Flush();
    ASSERT_EQ(entries.size(), round == 0 ? 2u : 1u);
    EXPECT_EQ(entries.front().has_name_def(), round == 0);
    EXPECT_EQ(entries.back().plan().tensors(0).name_id(), 1u);
  }
}

TEST_F(PlanStreamTest, BeyondTheCapNamesTravelAsStrings) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < Config().max_names; ++i) names.push_back("n" + std::to_string(i));
  for (int host : {0, 1}) Announce(host, names, 1);
  Announce(0, {"one more"}, 1);
  Announce(1, {"one more"}, 1);
  const auto entries = Flush();
  const control::PlanTensor& last = entries.back().plan().tensors(
      entries.back().plan().tensors_size() - 1);
  EXPECT_EQ(last.name(), "one more");
  EXPECT_EQ(last.name_id(), 0u);
}

TEST_F(PlanStreamTest, ManyEntriesAreCutIntoMessagesOfBoundedSize) {
  std::vector<std::string> names;
  for (int i = 0; i < 3; ++i) names.push_back(std::string(kMaxNameBytes, 'a' + i));
  for (size_t sent = 0; sent <= 2 * kEntriesMessageBytes; sent += 3 * kMaxNameBytes) {
    for (int host : {0, 1}) Announce(host, names, 1);
    stream_->Leave({});  // plans at once
  }
  Flush();
  EXPECT_GT(messages_, 2);
}

TEST_F(PlanStreamTest, AFailIsForgottenWhenAllHaveSeenIt) {
  Announce(0, {"x"}, 1);
  stream_->FailAll(local::ResultCode::kAborted, "because", kStart);
  const auto entries = Flush();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].fail().name(), "x");
  EXPECT_EQ(entries[0].fail().reason(), "because");
  // Host 1 announced it before it saw entry 2: void. After that: valid.
  Announce(1, {"x"}, 1);
  EXPECT_TRUE(stream_->AwaitedFor(Duration::zero(), kStart).empty());
  Announce(0, {}, 2);
  Announce(1, {"x"}, 2);
  EXPECT_EQ(stream_->AwaitedFor(Duration::zero(), kStart).size(), 1u);
}

}  // namespace
}  // namespace reigen::coordinator
