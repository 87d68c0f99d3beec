#include "runtime/gpudirect/flush.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace reigen::gpudirect {
namespace {

TEST(FlushTest, TheFirstRowThatFitsDecides) {
  const struct {
    const char* name;
    FlushFacts facts;
    bool read_back;
    const char* reason;
  } kCases[] = {
      {"nothing known", {}, true, "below compute capability"},
      {"Ampere", {8, WritesOrdering::kNone, false, Reader::kOwner}, true, "below compute capability"},
      {"Ampere, ordered", {8, WritesOrdering::kOwner, false, Reader::kOwner}, false, "driver says"},
      {"Hopper", {9, WritesOrdering::kNone, false, Reader::kOwner}, false, "9.0 or higher"},
      {"Blackwell", {10, WritesOrdering::kNone, false, Reader::kOwner}, false, "9.0 or higher"},
      {"Grace Hopper", {9, WritesOrdering::kAllDevices, true, Reader::kOwner}, true,
       "another way"},
      {"Hopper, peer", {9, WritesOrdering::kOwner, false, Reader::kOtherGpu}, true, "at most"},
      {"Hopper, peer, ordered", {9, WritesOrdering::kAllDevices, false, Reader::kOtherGpu}, false,
       "driver says"},
      {"Hopper, sent on", {9, WritesOrdering::kAllDevices, false, Reader::kSameNic}, true,
       "own earlier writes"},
      {"Hopper, sent on by another", {9, WritesOrdering::kAllDevices, false, Reader::kOtherNic}, true,
       "another RDMA device"},
      {"all bad", {7, WritesOrdering::kNone, true, Reader::kOtherNic}, true, "another RDMA device"},
  };
  for (const auto& c : kCases) {
    const FlushVerdict verdict = ChooseFlush(c.facts);
    EXPECT_EQ(verdict.read_back, c.read_back) << c.name;
    EXPECT_NE(verdict.reason.find(c.reason), std::string::npos) << c.name << ": " << verdict.reason;
  }
}

// Its GPU's order does not help the devices that send its segments on.
TEST(FlushTest, AScratchIsReadBackWhateverItsGpuOrders) {
  const struct {
    const char* name;
    int capability_major;
    WritesOrdering ordering;
    size_t devices;
    const char* reason;
  } kCases[] = {
      {"Ampere", 8, WritesOrdering::kNone, 2, "below compute capability"},
      {"Ampere, ordered", 8, WritesOrdering::kOwner, 1, "own earlier writes"},
      {"Hopper", 9, WritesOrdering::kNone, 1, "own earlier writes"},
      {"Hopper, two devices", 9, WritesOrdering::kAllDevices, 2, "another RDMA device"},
  };
  for (const auto& c : kCases) {
    const FlushVerdict verdict = FlushOfScratch(c.capability_major, c.ordering, c.devices);
    EXPECT_TRUE(verdict.read_back) << c.name;
    EXPECT_NE(verdict.reason.find(c.reason), std::string::npos) << c.name << ": " << verdict.reason;
  }
}

TEST(FlushTest, TheDriversNumberIsAnOrder) {
  EXPECT_EQ(OrderingOf(0), WritesOrdering::kNone);
  EXPECT_EQ(OrderingOf(-1), WritesOrdering::kNone);
  EXPECT_EQ(OrderingOf(100), WritesOrdering::kOwner);
  EXPECT_EQ(OrderingOf(200), WritesOrdering::kAllDevices);
}

}  // namespace
}  // namespace reigen::gpudirect
