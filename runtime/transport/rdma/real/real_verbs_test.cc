// Goal: what holds of the real library also where no device is.
#include "runtime/transport/rdma/real/real_verbs.h"

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <cstdlib>

#include "runtime/base/status.h"
#include "runtime/transport/rdma/verbs.h"

namespace reigen::transport::rdma {
namespace {

// Kernels that copy pinned pages at a fork (IBV_FORK_UNNEEDED) need no call, and show none.
TEST(RealVerbsTest, AProcessThatForksKeepsItsRegisteredMemory) {
  ASSERT_EQ(getenv("RDMAV_FORK_SAFE"), nullptr) << "the library would do it by itself";
  ASSERT_EQ(getenv("IBV_FORK_SAFE"), nullptr) << "the library would do it by itself";
  const auto verbs = MakeRealVerbs();
  ASSERT_TRUE(verbs.ok()) << verbs.status().ToString();
  EXPECT_NE(ibv_is_fork_initialized(), IBV_FORK_DISABLED);
}

}  // namespace
}  // namespace reigen::transport::rdma
