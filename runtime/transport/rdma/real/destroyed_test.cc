#include "runtime/transport/rdma/real/destroyed.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace reigen::transport::rdma {
namespace {

TEST(DestroyedTest, ADeviceThatHasGoneIsAWarningOtherErrorsEndTheProcess) {
  CheckDestroyed(0, "ibv_destroy_qp");
  testing::internal::CaptureStdout();  // where the log goes in a test
  CheckDestroyed(EIO, "ibv_destroy_qp");
  const std::string log = testing::internal::GetCapturedStdout();
  EXPECT_NE(log.find("ibv_destroy_qp: the device has gone"), std::string::npos) << log;
  EXPECT_DEATH(CheckDestroyed(EBUSY, "ibv_dealloc_pd"), "still uses");
  EXPECT_DEATH(CheckDestroyed(ETIMEDOUT, "ibv_destroy_qp"), "does not give it back");
}

}  // namespace
}  // namespace reigen::transport::rdma
