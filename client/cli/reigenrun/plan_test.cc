#include "client/cli/reigenrun/plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reigen::run {
namespace {

using Words = std::vector<std::string>;

Surroundings Around() {
  Surroundings around;
  around.interfaces = {{.interface = "lo", .address = "127.0.0.1", .loopback = true},
                       {.interface = "docker0", .address = "172.17.0.1"},
                       {.interface = "eth0", .address = "10.0.0.1"}};
  around.machine = {{"localhost", "alpha"}, {"10.0.0.1"}};
  around.resolve = [](const std::string&) { return Words{}; };
  around.environment = {"PATH=/bin:/usr/bin", "A.B=1", "DISPLAY=:0"};
  around.working_directory = "/data/dir";
  around.worker_path = "/opt/bin/reigen-worker";
  return around;
}

Options Command(const Words& words) {
  Options options;
  options.command = words;
  return options;
}

TEST(MakePlanTest, OneMachineNeedsNoRshAndStaysOnLoopback) {
  Options options = Command({"sh", "-c", "true"});
  options.hosts = "localhost:2,127.0.0.1:2,alpha:1";
  const auto plan = MakePlan(options, "", Around());
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->hosts.size(), 3u);  // named differently: separate hosts
  for (const HostPlan& host : plan->hosts) {
    EXPECT_EQ(host.guard_words, (Words{"/opt/bin/reigen-worker", "guard"}));
  }
  EXPECT_TRUE(plan->loopback_only);
  EXPECT_EQ(plan->listen_addresses, (Words{"127.0.0.1"}));
  EXPECT_EQ(plan->size, 5);
  EXPECT_EQ(plan->program, "/bin/sh");
}

TEST(MakePlanTest, GpuDirectComesFromTheFlagOrTheEnvironment) {
  Options options = Command({"sh"});
  Surroundings around = Around();
  EXPECT_EQ(MakePlan(options, "", around)->job_options.gpu_direct(), "auto");
  around.environment.push_back("REIGEN_GPU_DIRECT=off");
  EXPECT_EQ(MakePlan(options, "", around)->job_options.gpu_direct(), "off");
  options.gpu_direct = "require";
  EXPECT_EQ(MakePlan(options, "", around)->job_options.gpu_direct(), "require");
  options.gpu_direct = "";
  around.environment.back() = "REIGEN_GPU_DIRECT=of";
  EXPECT_FALSE(MakePlan(options, "", around).ok());
}

TEST(MakePlanTest, WithoutIpv4LoopbackIsThatOfIpv6) {
  Surroundings around = Around();
  around.interfaces = {{.interface = "lo", .address = "::1", .loopback = true}};
  Options options = Command({"sh"});
  options.np = 2;
  EXPECT_EQ(MakePlan(options, "", around)->listen_addresses, (Words{"::1"}));
}

TEST(MakePlanTest, OtherHostsAreReachedByRshAndARealNetwork) {
  Options options = Command({"sh"});
  options.hosts = "alpha:1,beta:1";
  options.worker_path = "/elsewhere/reigen-worker";
  const auto plan = MakePlan(options, "", Around());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_FALSE(plan->loopback_only);
  EXPECT_EQ(plan->listen_addresses, (Words{"10.0.0.1"}));
  EXPECT_EQ(plan->hosts[0].guard_words.front(), "/opt/bin/reigen-worker");
  EXPECT_EQ(plan->hosts[1].guard_words.front(), "ssh");
  EXPECT_EQ(plan->hosts[1].guard_words.back(), "/elsewhere/reigen-worker guard");
}

TEST(MakePlanTest, TheHostfileIsNamedInItsErrors) {
  Options options = Command({"sh"});
  options.hostfile = "my_hosts";
  const auto plan = MakePlan(options, "a\nb:x\n", Around());
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(Message(plan.status()).find("my_hosts: line 2: \"b:x\""), std::string::npos)
      << plan.status();
}

TEST(MakePlanTest, AMissingProgramIsAnErrorAtOnceWhereItIsNeededHere) {
  Options options = Command({"python99"});
  options.hosts = "localhost:1";
  EXPECT_FALSE(MakePlan(options, "", Around()).ok());
  options.hosts = "beta:1";  // it may have it
  EXPECT_EQ(MakePlan(options, "", Around())->program, "");
}

TEST(MakeGuardStartTest, CarriesRanksEnvironmentAndProgram) {
  Options options = Command({"sh", "a b", ""});
  options.hosts = "alpha:1,beta:2";
  const auto plan = MakePlan(options, "", Around());
  ASSERT_TRUE(plan.ok());
  const JobNames names{"job1", "secret", "/tmp/c"};
  const launch::GuardStart start = MakeGuardStart(*plan, names, 1, {"10.0.0.1:7000"});
  EXPECT_EQ(start.host().host(), 1);
  EXPECT_EQ(start.host().ranks(1), 2);
  EXPECT_EQ(start.size(), 3);
  EXPECT_EQ(start.hosts(), 2);
  EXPECT_EQ(start.argv(1), "a b");
  EXPECT_EQ(start.argv(2), "");
  EXPECT_EQ(start.cross_sizes(0), 2);
  EXPECT_EQ(start.cross_sizes(1), 1);
  EXPECT_EQ(start.environment_size(), 2);  // DISPLAY is of this machine
  EXPECT_EQ(start.program(), "/bin/sh");
  EXPECT_EQ(start.working_directory(), "/data/dir");
  EXPECT_EQ(start.coordinator_addresses(0), "10.0.0.1:7000");
  const launch::CoordinatorStart coordinator = MakeCoordinatorStart(*plan, names);
  EXPECT_EQ(coordinator.hosts_size(), 2);
  EXPECT_EQ(coordinator.hosts(1).ranks_size(), 2);
  EXPECT_EQ(coordinator.secret(), "secret");
}

}  // namespace
}  // namespace reigen::run
