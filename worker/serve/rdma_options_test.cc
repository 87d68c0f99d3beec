#include "worker/serve/rdma_options.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "runtime/transport/rdma/variables.h"

namespace reigen::worker {
namespace {

using Variables = std::map<std::string, std::string>;

StatusOr<transport::rdma::RdmaOptions> Make(const launch::GuardStart& start,
                                            const Variables& variables) {
  return MakeRdmaOptions(start, [&](const std::string& name) -> std::optional<std::string> {
    const auto at = variables.find(name);
    return at == variables.end() ? std::nullopt : std::optional<std::string>(at->second);
  });
}

TEST(RdmaOptionsTest, AFlagWinsOverTheHostsVariableAndThatOverTheLaunchers) {
  launch::GuardStart start;
  start.add_environment("REIGEN_RDMA_DEVICES=launcher");
  start.add_environment("REIGEN_RDMA_TRAFFIC_CLASS=106");
  EXPECT_EQ(Make(start, {})->wish.devices, std::vector<std::string>{"launcher"});
  const Variables here = {{"REIGEN_RDMA_DEVICES", "a,b:2,"}, {"REIGEN_RDMA_GID_INDEX", "5"}};
  EXPECT_EQ(Make(start, here)->wish.devices, (std::vector<std::string>{"a", "b:2"}));
  EXPECT_EQ(Make(start, here)->wish.gid_index, 5);
  EXPECT_EQ(Make(start, here)->traffic_class, 106);
  start.mutable_options()->add_rdma_devices("flag");
  start.mutable_options()->set_rdma_gid_index(0);
  EXPECT_EQ(Make(start, here)->wish.devices, std::vector<std::string>{"flag"});
  EXPECT_EQ(Make(start, here)->wish.gid_index, 0);
}

TEST(RdmaOptionsTest, WithoutAnythingTheDefaultsHold) {
  const auto options = Make({}, {});
  ASSERT_TRUE(options.ok());
  EXPECT_TRUE(options->wish.devices.empty());
  EXPECT_EQ(options->wish.gid_index, -1);
  EXPECT_FALSE(options->wish.pkey.has_value());
  EXPECT_TRUE(options->relaxed_ordering);
  EXPECT_EQ(options->retry_budget, seconds(4));
}

TEST(RdmaOptionsTest, EveryVariableArrivesOrIsNamed) {
  launch::GuardStart start;
  start.mutable_options()->set_rdma_retry_seconds(8);
  start.mutable_options()->set_timeout_scale(2);
  const auto options = Make(start, {{"REIGEN_RDMA_PKEY", "0x8001"},
                                    {"REIGEN_RDMA_SERVICE_LEVEL", "3"},
                                    {"REIGEN_RDMA_QUEUES", "4"},
                                    {"REIGEN_RDMA_MTU", "1024"},
                                    {"REIGEN_RDMA_RELAXED_ORDERING", "0"}});
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  EXPECT_EQ(options->wish.pkey, 0x8001);
  EXPECT_EQ(options->service_level, 3);
  EXPECT_EQ(options->channels, 4);
  EXPECT_EQ(options->wish.mtu_bytes, 1024u);
  EXPECT_FALSE(options->relaxed_ordering);
  EXPECT_EQ(options->retry_budget, seconds(8));
  EXPECT_EQ(options->connect_deadline, 2 * transport::rdma::RdmaOptions().connect_deadline);
  for (const char* name :
       {"REIGEN_RDMA_GID_INDEX", "REIGEN_RDMA_PKEY", "REIGEN_RDMA_QUEUES", "REIGEN_RDMA_MTU",
        "REIGEN_RDMA_SERVICE_LEVEL", "REIGEN_RDMA_TRAFFIC_CLASS", "REIGEN_RDMA_RELAXED_ORDERING"}) {
    for (const char* bad : {"x", "-1", "70000", "3x", "0x"}) {
      const Status status = Make({}, {{name, bad}}).status();
      EXPECT_NE(status.ToString().find(name), std::string::npos) << name << "=" << bad;
    }
  }
}

TEST(RdmaOptionsTest, AnEmptyVariableIsAsNone) {
  Variables empty;
  for (const std::string& name : transport::rdma::VariableNames()) empty[name] = "";
  const auto options = Make({}, empty);
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  const auto defaults = Make({}, {});
  EXPECT_TRUE(options->wish.devices.empty());
  EXPECT_EQ(options->wish.gid_index, -1);
  EXPECT_FALSE(options->wish.pkey.has_value());
  EXPECT_EQ(options->wish.mtu_bytes, 0u);
  EXPECT_EQ(options->service_level, defaults->service_level);
  EXPECT_EQ(options->traffic_class, defaults->traffic_class);
  EXPECT_EQ(options->channels, defaults->channels);
  EXPECT_TRUE(options->relaxed_ordering);
}

TEST(RdmaOptionsTest, EveryVariableThatIsReadIsAmongTheirNames) {
  std::set<std::string> read;
  ASSERT_TRUE(MakeRdmaOptions({}, [&](const std::string& name) -> std::optional<std::string> {
                read.insert(name);
                return std::nullopt;
              }).ok());
  const std::vector<std::string> names = transport::rdma::VariableNames();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()), read);
}

}  // namespace
}  // namespace reigen::worker
