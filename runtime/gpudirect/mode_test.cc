#include "runtime/gpudirect/mode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reigen::gpudirect {
namespace {

constexpr Pair kBest{.gpu_exports_dmabuf = true,
                     .gpu_allows_rdma = true,
                     .nic_registers_dmabuf = true,
                     .distance = Distance::kSameSwitch};

template <typename Change>
Pair But(Change change) {
  Pair pair = kBest;
  change(pair);
  return pair;
}

TEST(ModeTest, TheFirstThingInTheWayIsTheReason) {
  const struct {
    const char* name;
    Pair pair;
    Mode mode;
    const char* reason;
    bool remedy;
  } kCases[] = {
      {"best", kBest, Mode::kDirect, "", false},
      {"GPU", But([](Pair& p) { p.gpu_allows_rdma = false; }), Mode::kStaged,
       "cannot be reached by other devices", false},
      {"driver", But([](Pair& p) { p.gpu_exports_dmabuf = false; }), Mode::kStaged,
       "driver exports no dma-buf", true},
      {"NIC", But([](Pair& p) { p.nic_registers_dmabuf = false; }), Mode::kStaged,
       "registers no dma-buf", true},
      {"node", But([](Pair& p) { p.distance = Distance::kSameNode; }), Mode::kStaged,
       "same NUMA node", true},
      {"sockets", But([](Pair& p) { p.distance = Distance::kAcrossNodes; }), Mode::kStaged,
       "across NUMA nodes", true},
      {"unknown", But([](Pair& p) { p.distance = Distance::kUnknown; }), Mode::kStaged,
       "not known", true},
      {"IOMMU", But([](Pair& p) { p.iommu_translates = true; }), Mode::kStaged, "IOMMU", true},
      {"root complex", But([](Pair& p) { p.distance = Distance::kSameRootComplex; }),
       Mode::kDirect, "by the root complex", false},
      {"groups in a root complex", But([](Pair& p) {
         p.distance = Distance::kSameRootComplex;
         p.separate_groups = true;
       }),
       Mode::kDirect, "no switch has both", false},
      {"ACS", But([](Pair& p) { p.separate_groups = true; }), Mode::kDirect, "ACS", true},
      {"driver before distance", But([](Pair& p) {
         p.gpu_exports_dmabuf = false;
         p.distance = Distance::kAcrossNodes;
       }),
       Mode::kStaged, "driver exports no dma-buf", true},
  };
  for (const auto& c : kCases) {
    const Verdict verdict = ChooseMode(c.pair);
    EXPECT_EQ(verdict.mode, c.mode) << c.name;
    EXPECT_THAT(verdict.reason, testing::HasSubstr(c.reason)) << c.name;
    EXPECT_EQ(verdict.reason.empty(), *c.reason == '\0') << c.name;
    EXPECT_EQ(!verdict.remedy.empty(), c.remedy) << c.name;
  }
}

}  // namespace
}  // namespace reigen::gpudirect
