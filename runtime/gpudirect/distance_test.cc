#include "runtime/gpudirect/distance.h"

#include <gtest/gtest.h>

namespace reigen::gpudirect {
namespace {

TEST(DistanceTest, IsThatOfTheDeepestBridgeInCommon) {
  const PciPlace gpu{"0000:3b:00.0", {"0000:3a", "0000:3a:00.0", "0000:3b:01.0"}, 0};
  const struct {
    PciPlace other;
    Distance distance;
  } kCases[] = {
      {{"a", {"0000:3a", "0000:3a:00.0", "0000:3b:02.0"}, 0}, Distance::kSameSwitch},
      {{"b", {"0000:3a", "0000:3a:00.0"}, 0}, Distance::kSameSwitch},
      {{"c", {"0000:3a", "0000:3a:02.0", "0000:3b:01.0"}, 0}, Distance::kSameRootComplex},
      {{"d", {"0000:3a"}, 0}, Distance::kSameRootComplex},
      {{"e", {"0000:5d", "0000:3a:00.0"}, 0}, Distance::kSameNode},
      {{"f", {"0000:80", "0000:80:00.0"}, 1}, Distance::kAcrossNodes},
      {{"g", {"0000:80", "0000:80:00.0"}, -1}, Distance::kUnknown},
      {{"h", {}, 0}, Distance::kUnknown},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(DistanceOf(gpu, c.other), c.distance) << c.other.bus_id;
    EXPECT_EQ(DistanceOf(c.other, gpu), c.distance) << c.other.bus_id;
  }
}

TEST(DistanceTest, SpellingsOfABusIdAreOne) {
  for (const char* text : {"0000:3B:00.0", "00000000:3b:00.0", "3b:00.0", "0:3b:00.0"}) {
    EXPECT_EQ(NormalBusId(text), "0000:3b:00.0") << text;
  }
  EXPECT_EQ(NormalBusId("10000:01:00.0"), "10000:01:00.0");
}

}  // namespace
}  // namespace reigen::gpudirect
