#include "runtime/gpudirect/scratch_choice.h"

#include <gtest/gtest.h>

#include <vector>

namespace reigen::gpudirect {
namespace {

using Names = std::vector<std::string>;

ScratchFacts Good() {
  ScratchFacts facts;
  facts.has_scratch = true;
  facts.allows_rdma = true;
  facts.capability_major = 9;
  facts.writes_ordering = 200;
  facts.nics = {{.name = "far", .distance = Distance::kAcrossNodes},
                {.name = "near", .distance = Distance::kSameSwitch},
                {.name = "root", .distance = Distance::kSameRootComplex},
                {.name = "near2", .distance = Distance::kSameSwitch}};
  return facts;
}

TEST(ScratchChoiceTest, WithNothingAgainstItItIsDirectByTheNearestDevices) {
  const ScratchChoice choice = ChooseScratch(Good());
  EXPECT_TRUE(choice.direct);
  EXPECT_EQ(choice.near, (Names{"near", "near2"}));
  EXPECT_TRUE(choice.read_back) << "two devices send on what the other wrote";
  EXPECT_EQ(ToString(choice), "gpu-direct: dmabuf");
}

// Which of them a peer's bytes come by is not this host's to say alone.
TEST(ScratchChoiceTest, WhatAnyOtherDeviceMayHaveWrittenIsReadBack) {
  ScratchFacts facts = Good();
  facts.nics.resize(2);
  EXPECT_EQ(ChooseScratch(facts).near, Names{"near"});
  EXPECT_TRUE(ChooseScratch(facts).read_back);
  facts.nics = {facts.nics[1]};
  EXPECT_TRUE(ChooseScratch(facts).read_back) << "one device sends on what it wrote itself";
}

TEST(ScratchChoiceTest, EachReasonForStagingIsSaid) {
  const auto text = [](auto change) {
    ScratchFacts facts = Good();
    change(facts);
    return ToString(ChooseScratch(facts));
  };
  EXPECT_EQ(text([](auto& f) { f.links = Unavailable("tcp to b moves host memory"); }),
            "gpu-direct: staged (tcp to b moves host memory)");
  EXPECT_EQ(text([](auto& f) { f.has_scratch = false; }),
            "gpu-direct: staged (there is no scratch on the GPU)");
  EXPECT_EQ(text([](auto& f) { f.why_no_dmabuf = "CUDA_ERROR_NOT_SUPPORTED"; }),
            "gpu-direct: staged (CUDA_ERROR_NOT_SUPPORTED)");
  EXPECT_EQ(text([](auto& f) { f.allows_rdma = false; }),
            "gpu-direct: staged (far: this GPU's memory cannot be reached by other devices)");
  EXPECT_EQ(text([](auto& f) { f.nics.clear(); }),
            "gpu-direct: staged (the links use no RDMA device)");
  EXPECT_EQ(text([](auto& f) { f.nics = {{.name = "rxe0"}}; }),
            "gpu-direct: staged (rxe0: it is not known how far they are from each other)");
  EXPECT_NE(text([](auto& f) { f.nics.resize(1); }).find("different root complexes"),
            std::string::npos);
}

TEST(ScratchChoiceTest, AReasonThatSomethingCanBeDoneAboutHasItsRemedy) {
  ScratchFacts facts = Good();
  facts.nics = {{.name = "rxe0"}};
  EXPECT_NE(ChooseScratch(facts).remedy.find("virtual machine"), std::string::npos);
  facts.has_scratch = false;
  EXPECT_NE(ChooseScratch(facts).remedy.find("stderr"), std::string::npos);
  facts = Good();
  EXPECT_EQ(ChooseScratch(facts).remedy, "") << "one device is far, another is near";
  facts.why_no_dmabuf = "CUDA_ERROR_NOT_SUPPORTED";
  EXPECT_NE(ChooseScratch(facts).remedy.find("open kernel modules"), std::string::npos);
}

// Links use one device; each GPU may have one of its own beside it.
TEST(ScratchChoiceTest, ANearerDeviceThatLinksDoNotUseIsNamedWithTheRemedy) {
  ScratchFacts facts = Good();
  for (NicFacts& nic : facts.nics) nic.used = nic.name == "far";
  EXPECT_EQ(ToString(ChooseScratch(facts)),
            "gpu-direct: staged (far: they are of different root complexes (across NUMA nodes), "
            "where page-locked memory of the host is faster; nearer, and not used by the links: "
            "near,root,near2)");
  EXPECT_NE(ChooseScratch(facts).remedy.find("`--rdma-devices near,root,near2`"), std::string::npos);
  facts.nics[1].distance = facts.nics[2].distance = facts.nics[3].distance = Distance::kSameNode;
  EXPECT_EQ(ChooseScratch(facts).reason.find("nearer"), std::string::npos);
  facts = Good();
  facts.nics = {facts.nics[1], facts.nics[2]};
  facts.nics[1].used = false;
  EXPECT_EQ(ChooseScratch(facts).near, Names{"near"});
  facts.nics[0].used = false;
  EXPECT_EQ(ChooseScratch(facts).reason, "the links use no RDMA device");
}

TEST(ScratchChoiceTest, AScratchHoldsTheWindowAndThreeTimesItInSurplus) {
  EXPECT_EQ(ScratchBytes(1 << 20), 4u << 20);
  EXPECT_EQ(ScratchBytes(32 << 20), 64u << 20);
  EXPECT_EQ(ScratchBytes(100 << 20), 100u << 20) << "never less than the window";
}

}  // namespace
}  // namespace reigen::gpudirect
