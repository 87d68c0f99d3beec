#include "runtime/transport/conformance/conformance.h"

#include <array>

namespace reigen::transport {

std::string FabricName(const testing::TestParamInfo<FabricCase>& info) { return info.param.name; }

void LinkConformance::SetUp() { fabric_ = GetParam().make(); }

void LinkConformance::TearDown() {
  for (auto& link : links_) link.reset();
  regions_.clear();
  fabric_.reset();
}

void LinkConformance::ConnectBoth() {
  links_[0] = fabric_->transport(0).Connect(fabric_->peer(1));
  links_[1] = fabric_->transport(1).Connect(fabric_->peer(0));
}

void LinkConformance::ConnectAndUseBoth() {
  ConnectBoth();
  const Tag tag = {.collective = {.epoch = 0, .sequence = 0, .stream = 0}};
  constexpr uint64_t kCookie = 1'000'000'000;
  ASSERT_TRUE(links_[0]->PostSend(Filled(8, 1), tag, kCookie).ok());
  ASSERT_TRUE(links_[1]->PostRecv(Buffer(8), tag, kCookie).ok());
  ASSERT_EQ(Result(0, kCookie), OpResult::kOk);
  ASSERT_EQ(Result(1, kCookie), OpResult::kOk);
  for (auto& results : results_) results.clear();
}

std::span<std::byte> LinkConformance::Buffer(size_t bytes) {
  memory_.emplace_back(bytes);
  for (int host : {0, 1}) {
    auto region = fabric_->transport(host).Register(memory_.back());
    EXPECT_TRUE(region.ok());
    regions_.push_back(std::move(region).value());
  }
  return memory_.back();
}

static std::byte Pattern(size_t i, uint64_t seed) {
  return static_cast<std::byte>((i * 131 + (i >> 8) + seed * 17) & 0xff);
}

std::span<std::byte> LinkConformance::Filled(size_t bytes, uint64_t seed) {
  const std::span<std::byte> data = Buffer(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = Pattern(i, seed);
  return data;
}

void LinkConformance::ExpectFilled(std::span<const std::byte> data, uint64_t seed) {
  for (size_t i = 0; i < data.size(); ++i) {
    if (data[i] == Pattern(i, seed)) continue;
    FAIL() << "byte " << i << " of " << data.size() << " is wrong, seed " << seed;
  }
}

bool LinkConformance::StepUntil(const std::function<bool()>& done) {
  for (int i = 0; i < kStepsAtMost; ++i) {
    for (int host : {0, 1}) PollAll(host);
    if (done()) return true;
    fabric_->Step();
  }
  return false;
}

void LinkConformance::PollAll(int host) {
  if (links_[host] == nullptr) return;
  std::array<Completion, 7> out;
  while (const size_t count = links_[host]->Poll(out)) {
    for (size_t i = 0; i < count; ++i) {
      const bool fresh = results_[host].emplace(out[i].cookie, out[i].result).second;
      EXPECT_TRUE(fresh) << "post " << out[i].cookie << " ended twice";
    }
  }
}

std::optional<OpResult> LinkConformance::Result(int host, uint64_t cookie) {
  const auto& results = results_[host];
  if (!StepUntil([&] { return results.contains(cookie); })) return std::nullopt;
  return results.at(cookie);
}

void LinkConformance::ExpectQuiet() {
  const size_t before = results_[0].size() + results_[1].size();
  for (int i = 0; i < 20; ++i) {
    fabric_->Step();
    for (int host : {0, 1}) PollAll(host);
  }
  EXPECT_EQ(results_[0].size() + results_[1].size(), before) << "a completion without a post";
}

}  // namespace reigen::transport
