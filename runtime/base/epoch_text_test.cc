#include "runtime/base/epoch_text.h"

#include <gtest/gtest.h>

namespace reigen {
namespace {

TEST(EpochTextTest, IsIncarnationAndCounter) {
  EXPECT_EQ(EpochText(MakeEpoch(1, 1)), "1.1");
  EXPECT_EQ(EpochText(MakeEpoch(0xffffffff, 0xfffffffe)), "4294967295.4294967294");
}

}  // namespace
}  // namespace reigen
