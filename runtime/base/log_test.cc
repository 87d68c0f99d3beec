// Goal: what is not written costs nothing, and a late line does no harm.
#include "runtime/base/log.h"

#include <gtest/gtest.h>

#include <string>

namespace reigen {
namespace {

int Count(int* calls) { return ++*calls; }

TEST(LogTest, ArgumentsAreEvaluatedOnlyIfTheLevelIsWritten) {
  int calls = 0;
  testing::internal::CaptureStdout();  // where lines go before StartLogging()
  SetLogLevel("warning");
  REIGEN_INFO("told {}", Count(&calls));
  REIGEN_WARN("told {}", Count(&calls));
  SetLogLevel("info");
  EXPECT_EQ(calls, 1);
  const std::string log = testing::internal::GetCapturedStdout();
  EXPECT_NE(log.find("told 1"), std::string::npos) << log;
  EXPECT_EQ(log.find("told 2"), std::string::npos) << log;
}

// The last of them ends logging for the whole process.
TEST(LogTest, ALineAfterTheEndIsDropped) {
  testing::internal::CaptureStderr();
  StartLogging("log_test", "info");
  REIGEN_INFO("before {}", 1);
  StopLogging();
  REIGEN_ERROR("behind {}", 2);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("log_test info: before 1"), std::string::npos) << log;
  EXPECT_EQ(log.find("behind"), std::string::npos) << log;
}

}  // namespace
}  // namespace reigen
