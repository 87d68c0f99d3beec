#include "worker/serve/tcp_options.h"

#include <gtest/gtest.h>

namespace reigen::worker {
namespace {

TEST(TcpOptionsTest, TheJobsOptionsArrive) {
  launch::GuardStart start;
  start.set_job("j");
  start.mutable_host()->set_host(3);
  start.mutable_options()->set_port_range("4000-4010");
  start.mutable_options()->set_channels(5);
  const auto options = MakeTcpOptions(start, "10.0.0.4");
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->host, 3);
  EXPECT_EQ(options->bind_addresses, std::vector<std::string>{"10.0.0.4"});
  EXPECT_EQ(options->ports.first, 4000);
  EXPECT_EQ(options->ports.last, 4010);
  EXPECT_EQ(options->channels, 5);
}

TEST(TcpOptionsTest, TimesFollowTheTimeoutScale) {
  launch::GuardStart start;
  const transport::TcpOptions fresh;
  EXPECT_EQ(MakeTcpOptions(start, "::1")->connect_deadline, fresh.connect_deadline);
  start.mutable_options()->set_timeout_scale(2.5);
  EXPECT_EQ(MakeTcpOptions(start, "::1")->connect_deadline, 2.5 * fresh.connect_deadline);
  EXPECT_EQ(MakeTcpOptions(start, "::1")->path_timeout, 2.5 * fresh.path_timeout);
}

TEST(TcpOptionsTest, APortRangeThatIsNoneIsNamed) {
  for (const char* bad : {"x", "4000", "4000-", "-4000", "4010-4000", "0-5", "1-70000", "1-2x"}) {
    const Status status = ParsePorts(bad).status();
    EXPECT_NE(status.ToString().find(bad), std::string::npos) << bad;
  }
  EXPECT_TRUE(ParsePorts("").ok());
}

}  // namespace
}  // namespace reigen::worker
