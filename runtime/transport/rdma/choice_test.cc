// Goal: the right device, port, address and partition, or words that say why not.
// Method: tables of what a machine may have.
#include "runtime/transport/rdma/choice.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/transport/frame.h"

namespace reigen::transport::rdma {
namespace {

GidEntry Entry(int index, const std::string& address, GidType type) {
  return {index, *GidOfAddress(address), type};
}

PortInfo RocePort(const std::vector<GidEntry>& gids) {
  PortInfo port;
  port.active = true;
  port.state = "ACTIVE";
  port.active_mtu_bytes = 1024;
  port.gbits_per_s = 100;
  port.gids = gids;
  port.pkeys = {0xffff};
  return port;
}

Candidate Device(const std::string& name, const std::vector<PortInfo>& ports) {
  Candidate candidate;
  candidate.name = name;
  candidate.info.name = name;
  candidate.info.ports = ports;
  for (size_t i = 0; i < ports.size(); ++i) {
    candidate.info.ports[i].number = static_cast<uint8_t>(i + 1);
  }
  return candidate;
}

constexpr GidType kV1 = GidType::kRoceV1;
constexpr GidType kV2 = GidType::kRoceV2;

TEST(GidTest, IsWrittenAsAnAddressAndReadFromOne) {
  EXPECT_EQ(ToString(*GidOfAddress("10.1.2.3")), "10.1.2.3");
  EXPECT_EQ(ToString(*GidOfAddress("fd00::7")), "fd00::7");
  EXPECT_EQ(ToString(*GidOfAddress("fe80::1%eth0")), "fe80::1");
  EXPECT_FALSE(GidOfAddress("eth0").has_value());
  EXPECT_TRUE(IsLinkLocal(*GidOfAddress("fe80::1")));
  EXPECT_TRUE(IsLinkLocal(*GidOfAddress("169.254.1.1")));
  EXPECT_FALSE(IsLinkLocal(*GidOfAddress("10.0.0.1")));
}

TEST(ChoiceTest, TheAddressOfAPortIsChosenByRule) {
  struct Row {
    const char* what;
    std::vector<GidEntry> gids;
    std::vector<std::string> networks;
    int chosen;
  };
  const Row rows[] = {
      {"v2 before v1", {Entry(0, "10.0.0.1", kV1), Entry(1, "10.0.0.1", kV2)}, {"10.0.0.1"}, 1},
      {"v1 if it is all", {Entry(0, "fe80::1", kV1), Entry(2, "10.0.0.1", kV1)}, {"10.0.0.1"}, 2},
      {"never link-local",
       {Entry(0, "fe80::1", kV1), Entry(1, "fe80::1", kV2), Entry(2, "10.0.0.1", kV1)},
       {"10.0.0.1"},
       2},
      {"link-local if alone", {Entry(0, "fe80::1", kV1), Entry(1, "fe80::1", kV2)}, {}, 1},
      {"the network's address",
       {Entry(1, "10.0.0.1", kV2), Entry(3, "10.9.0.1", kV2), Entry(5, "10.7.0.1", kV2)},
       {"10.9.0.1"},
       3},
      {"the network's family, IPv6",
       {Entry(1, "10.0.0.1", kV2), Entry(3, "fd00::1", kV2)},
       {"fd00::9"},
       3},
      {"the network's family, IPv4",
       {Entry(1, "fd00::1", kV2), Entry(3, "10.0.0.1", kV2)},
       {"10.0.0.9"},
       3},
      {"v2 counts more than the family",
       {Entry(1, "10.0.0.1", kV1), Entry(3, "fd00::1", kV2)},
       {"10.0.0.1"},
       3},
      {"unused entries do not count", {Entry(0, "::", kV2), Entry(4, "10.0.0.1", kV2)}, {}, 4},
      {"what an address vector cannot name does not count",
       {Entry(256, "10.0.0.1", kV2), Entry(4, "10.0.0.2", kV1)},
       {"10.0.0.1"},
       4},
      {"the lowest of equals", {Entry(7, "10.0.0.1", kV2), Entry(6, "10.0.0.2", kV2)}, {}, 6},
  };
  for (const Row& row : rows) {
    Wish wish;
    wish.networks = row.networks;
    const auto gid = ChooseGid(RocePort(row.gids), wish);
    ASSERT_TRUE(gid.ok()) << row.what;
    EXPECT_EQ(gid->index, row.chosen) << row.what;
  }
}

TEST(ChoiceTest, OnInfiniBandTheFirstAddressIsTaken) {
  PortInfo port = RocePort({Entry(0, "fe80::1", GidType::kInfiniBand),
                            Entry(1, "fe80::2", GidType::kInfiniBand)});
  port.layer = LinkLayer::kInfiniBand;
  EXPECT_EQ(ChooseGid(port, {})->index, 0);
}

TEST(ChoiceTest, AnAddressAskedForIsTakenOrMissed) {
  const PortInfo port = RocePort({Entry(0, "fe80::1", kV1), Entry(1, "10.0.0.1", kV2)});
  Wish wish;
  wish.gid_index = 0;
  EXPECT_EQ(ChooseGid(port, wish)->index, 0);
  wish.gid_index = 9;
  const Status missing = ChooseGid(port, wish).status();
  EXPECT_EQ(missing.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(missing.ToString().find("no GID with index 9"), std::string::npos);
  wish.gid_index = 300;
  EXPECT_FALSE(ChooseGid(port, wish).ok());
  EXPECT_NE(ChooseGid(RocePort({}), {}).status().ToString().find("no address"), std::string::npos);
}

TEST(ChoiceTest, APartitionIsFoundByItsLowBits) {
  PortInfo port;
  port.pkeys = {0x7fff, 0x8001, 0xffff, 0x0001};
  EXPECT_EQ(*ChoosePkey(port, {}), 2) << "a full member before a limited one";
  EXPECT_EQ(*ChoosePkey(port, 0x0001), 1);
  EXPECT_EQ(*ChoosePkey(port, 0x8001), 1);
  const Status missing = ChoosePkey(port, 0x1234).status();
  EXPECT_NE(missing.ToString().find("0x1234"), std::string::npos) << missing.ToString();
  EXPECT_EQ(*ChoosePkey(PortInfo(), {}), 0);
  RailChoice rail;
  EXPECT_EQ(PkeyOf(rail), 0xffff) << "a port without any";
  rail.port.pkeys = {0, 0x8005, 0x8006};
  EXPECT_EQ(PkeyOf(rail), 0xffff);
  rail.pkey_index = *ChoosePkey(rail.port, {});
  EXPECT_EQ(PkeyOf(rail), 0x8005) << "not in the default partition";
}

// C45
TEST(ChoiceTest, AnMtuAskedForIsTakenOrRefusedWithBothNumbers) {
  const std::vector<Candidate> machine = {Device("a", {RocePort({Entry(1, "10.0.0.1", kV2)})})};
  Wish wish;
  EXPECT_EQ(ChooseRails(machine, wish)->rails[0].mtu_bytes, 1024u) << "the port's";
  wish.mtu_bytes = 512;
  EXPECT_EQ(ChooseRails(machine, wish)->rails[0].mtu_bytes, 512u);
  wish.mtu_bytes = 4096;
  const Status above = ChooseRails(machine, wish).status();
  for (const char* part : {"a:1", "4096", "1024"}) {
    EXPECT_NE(above.ToString().find(part), std::string::npos) << above.ToString();
  }
  for (const uint32_t bad : {1u, 128u, 1000u, 8192u}) {
    wish.mtu_bytes = bad;
    const Status status = ChooseRails(machine, wish).status();
    EXPECT_NE(status.ToString().find(std::to_string(bad)), std::string::npos)
        << status.ToString();
  }
}

// C45: the port of the job's network cannot have it, one of another network could.
TEST(ChoiceTest, AnMtuAskedForIsNoReasonToTakeAPortOfAnotherNetwork) {
  PortInfo other = RocePort({Entry(1, "10.1.0.1", kV2)});
  other.active_mtu_bytes = 4096;
  const std::vector<Candidate> machine = {
      Device("mlx5_0", {RocePort({Entry(1, "10.0.0.1", kV2)})}), Device("mlx5_1", {other})};
  Wish wish;
  wish.networks = {"10.0.0.1"};
  wish.mtu_bytes = 4096;
  const Status refused = ChooseRails(machine, wish).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  for (const char* part : {"mlx5_0:1", "4096", "1024"}) {
    EXPECT_NE(refused.ToString().find(part), std::string::npos) << refused.ToString();
  }
}

// The same of any other wish.
TEST(ChoiceTest, AWishThatThePortOnTheJobsNetworkCannotMeetIsRefusedThoughAnotherCould) {
  PortInfo member = RocePort({Entry(1, "10.1.0.1", kV2)});
  member.pkeys = {0x8123};
  const std::vector<Candidate> machine = {
      Device("mlx5_0", {RocePort({Entry(1, "10.0.0.1", kV2)})}), Device("mlx5_1", {member})};
  Wish wish;
  wish.pkey = 0x8123;
  wish.networks = {"10.0.0.1"};
  const Status refused = ChooseRails(machine, wish).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(refused.ToString().find("mlx5_0:1: it is not in the partition with PKey 0x8123"),
            std::string::npos)
      << refused.ToString();
  wish.networks = {"192.168.0.1"};
  EXPECT_EQ(ChooseRails(machine, wish)->rails[0].device, "mlx5_1");
}

TEST(ChoiceTest, ThePortOnTheJobsNetworkIsTaken) {
  const std::vector<Candidate> machine = {
      Device("mlx5_0", {RocePort({Entry(1, "10.0.0.1", kV2)})}),
      Device("mlx5_1", {RocePort({Entry(1, "10.1.0.1", kV2)})}),
  };
  Wish wish;
  wish.networks = {"10.1.0.1"};
  const auto choice = ChooseRails(machine, wish);
  ASSERT_TRUE(choice.ok());
  ASSERT_EQ(choice->rails.size(), 1u);
  EXPECT_EQ(choice->rails[0].device, "mlx5_1");
  EXPECT_EQ(choice->reason, "on the job's network");
}

TEST(ChoiceTest, ElseTheFastestActivePortsAreTaken) {
  PortInfo slow = RocePort({Entry(1, "10.0.0.1", kV2)});
  slow.gbits_per_s = 25;
  PortInfo down = RocePort({Entry(1, "10.0.0.3", kV2)});
  down.active = false;
  const std::vector<Candidate> machine = {
      Device("mlx5_0", {slow}),
      Device("mlx5_1", {RocePort({Entry(1, "10.1.0.1", kV2)}), down}),
      Device("mlx5_2", {RocePort({Entry(1, "10.2.0.1", kV2)})}),
  };
  Wish wish;
  wish.networks = {"192.168.0.1"};
  const auto choice = ChooseRails(machine, wish);
  ASSERT_TRUE(choice.ok());
  ASSERT_EQ(choice->rails.size(), 2u);
  EXPECT_EQ(choice->rails[0].device, "mlx5_1");
  EXPECT_EQ(choice->rails[1].device, "mlx5_2");
}

// Peers leave their likes out, too: ports are paired by name where one is missing.
TEST(ChoiceTest, PortsThatWouldBeTakenTooAreNamed) {
  PortInfo good = RocePort({Entry(0, "fe80::1", GidType::kInfiniBand)});
  good.layer = LinkLayer::kInfiniBand;
  PortInfo down = good, slow = good;
  down.active = false;
  slow.gbits_per_s = 10;
  const std::vector<Candidate> all = {Device("m0", {down}), Device("m1", {good, slow}),
                                      Device("r0", {RocePort({})}), Device("m2", {good, down})};
  const auto left_out = [&](const Wish& wish) { return ChooseRails(all, wish)->left_out; };
  using Ports = std::vector<PortName>;
  EXPECT_EQ(left_out({}), (Ports{{"m0", 1}, {"m2", 2}})) << "no RoCE port";
  EXPECT_EQ(ChooseRails(all, {})->spare, (Ports{{"m1", 2}})) << "slower";
  Wish wish;
  wish.devices = {"m2", "m1:1"};
  EXPECT_EQ(left_out(wish), (Ports{{"m2", 2}}));
  wish.devices = {"m2:1"};
  EXPECT_EQ(left_out(wish), Ports{});

  wish = {};
  wish.networks = {"10.0.0.1"};
  const std::vector<Candidate> roce = {
      Device("r0", {RocePort({Entry(0, "10.0.0.1", kV2)})}),
      Device("r1", {RocePort({Entry(0, "10.1.0.1", kV2)})})};
  EXPECT_EQ(ChooseRails(roce, wish)->left_out, Ports{}) << "the address says which, not the name";

  const std::vector<Candidate> many = {Device("m0", std::vector<PortInfo>(kMaxRails + 1, good))};
  EXPECT_EQ(ChooseRails(many, {})->spare, (Ports{{"m0", kMaxRails + 1}}));
}

// A host whose card was reset lists it behind the others.
TEST(ChoiceTest, PortsNobodyAskedForAreInTheOrderOfTheirNames) {
  PortInfo port = RocePort({Entry(0, "fe80::1", GidType::kInfiniBand)});
  port.layer = LinkLayer::kInfiniBand;
  const std::vector<Candidate> machine = {Device("m1", {port, port}), Device("m10", {port}),
                                          Device("m2", {port}), Device("m0", {port})};
  const auto choice = ChooseRails(machine, {});
  ASSERT_TRUE(choice.ok()) << choice.status();
  std::string order;
  for (const RailChoice& rail : choice->rails) {
    order += rail.device + ":" + std::to_string(rail.port.number) + " ";
  }
  EXPECT_EQ(order, "m0:1 m1:1 m1:2 m2:1 m10:1 ");
}

TEST(ChoiceTest, DevicesAskedForAreTakenInThatOrder) {
  const std::vector<Candidate> machine = {
      Device("a", {RocePort({Entry(1, "10.0.0.1", kV2)}), RocePort({Entry(1, "10.0.1.1", kV2)})}),
      Device("b", {RocePort({Entry(1, "10.1.0.1", kV2)})}),
  };
  Wish wish;
  wish.devices = {"b", "a:2"};
  const auto choice = ChooseRails(machine, wish);
  ASSERT_TRUE(choice.ok());
  ASSERT_EQ(choice->rails.size(), 2u);
  EXPECT_EQ(choice->rails[0].device, "b");
  EXPECT_EQ(choice->rails[1].port.number, 2);
  for (const char* wrong : {"c", "a:3", "a:x", "a:99999999999"}) {
    wish.devices = {wrong};
    const Status status = ChooseRails(machine, wish).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << wrong;
    EXPECT_NE(status.ToString().find("without --rdma-devices"), std::string::npos)
        << status.ToString();
  }
  wish.devices = {"a:2", "a", "a:1"};
  EXPECT_EQ(ChooseRails(machine, wish)->rails.size(), 2u) << "each once";
}

// C45: a wrong name is a mistake; a device that is there and cannot be used is a fault of this
// host, on which links may go over TCP, as it is without a wish.
TEST(ChoiceTest, ADeviceAskedForThatIsBrokenIsToldFromOneThatDoesNotExist) {
  PortInfo down = RocePort({Entry(1, "10.0.0.1", kV2)});
  down.active = false;
  down.state = "DOWN";
  Candidate closed;
  closed.name = "closed";
  closed.status = Unavailable("closed cannot be opened");
  const std::vector<Candidate> machine = {Device("a", {down, RocePort({})}), closed,
                                          Device("b", {RocePort({Entry(1, "10.1.0.1", kV2)})})};
  const struct {
    std::vector<std::string> devices;
    StatusCode code;
    const char* words;
  } rows[] = {
      {{"a"}, StatusCode::kFailedPrecondition, "RDMA device a cannot be used: a:1 is not active"},
      {{"a:2"}, StatusCode::kFailedPrecondition, "a:2: it has no GID"},
      {{"closed"}, StatusCode::kFailedPrecondition, "closed cannot be opened"},
      {{"closed", "a"}, StatusCode::kFailedPrecondition, "closed cannot be opened"},
      {{"a", "b:7"}, StatusCode::kInvalidArgument, "b:7 cannot be used: it has no such port"},
      {{"a", "c"}, StatusCode::kInvalidArgument, "there is no RDMA device c (there are: a, closed"},
  };
  for (const auto& row : rows) {
    Wish wish;
    wish.devices = row.devices;
    const Status status = ChooseRails(machine, wish).status();
    EXPECT_EQ(status.code(), row.code) << status.ToString();
    EXPECT_NE(status.ToString().find(row.words), std::string::npos) << status.ToString();
    EXPECT_NE(status.ToString().find("without --rdma-devices"), std::string::npos)
        << status.ToString();
  }
  Wish wish;
  wish.devices = {"b"};
  wish.gid_index = 7;
  EXPECT_EQ(ChooseRails(machine, wish).status().code(), StatusCode::kInvalidArgument);
  const Status none = ChooseRails({}, wish).status();
  EXPECT_EQ(none.code(), StatusCode::kInvalidArgument) << none.ToString();
  EXPECT_NE(none.ToString().find("no RDMA device b"), std::string::npos) << none.ToString();
}

// A host of eight cards that lacks one has seven.
TEST(ChoiceTest, OfDevicesAskedForTheBrokenAreLeftWithAWarning) {
  PortInfo good = RocePort({Entry(1, "10.0.0.1", kV2)}), down = good;
  down.active = false;
  Candidate closed, other_protocol;
  closed.name = "closed";
  closed.status = Unavailable("closed cannot be opened");
  other_protocol.name = "efa";
  other_protocol.status = FailedPrecondition("efa speaks a protocol of its own");
  const std::vector<Candidate> machine = {Device("a", {good}), Device("b", {down}), closed,
                                          other_protocol, Device("c", {good})};
  Wish wish;
  wish.devices = {"closed", "c", "b", "efa", "a"};
  const auto choice = ChooseRails(machine, wish);
  ASSERT_TRUE(choice.ok()) << choice.status();
  ASSERT_EQ(choice->rails.size(), 2u);
  EXPECT_EQ(choice->rails[0].device, "c");
  EXPECT_EQ(choice->rails[1].device, "a");
  ASSERT_EQ(choice->warnings.size(), 3u);
  EXPECT_NE(choice->warnings[0].find("closed cannot be opened"), std::string::npos);
  EXPECT_NE(choice->warnings[1].find("RDMA device b cannot be used: b:1 is not active"),
            std::string::npos)
      << choice->warnings[1];
  EXPECT_NE(choice->warnings[2].find("a protocol of its own"), std::string::npos);
  EXPECT_EQ(choice->left_out, (std::vector<PortName>{{"b", 1}, {"closed", 1}}))
      << "their likes are not used at the other end";
  // In a container that was given some of the machine's devices.
  const auto unasked = ChooseRails(machine, {});
  ASSERT_TRUE(unasked.ok()) << unasked.status();
  EXPECT_EQ(unasked->left_out, std::vector<PortName>({{"b", 1}}));
}

// To connect, peers' interfaces are looked for on its network: that they are there is not known.
TEST(ChoiceTest, ARocePortWithALinkLocalAddressOnlyIsTakenIfItIsTheJobsOrAskedFor) {
  const PortInfo no_ip = RocePort({Entry(0, "fe80::7", kV1), Entry(1, "fe80::7", kV2)});
  const std::vector<Candidate> machine = {Device("a", {no_ip})};
  Wish wish;
  wish.networks = {"10.0.0.1"};
  const Status refused = ChooseRails(machine, wish).status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  for (const char* part : {"a:1", "link-local (fe80::7)", "--rdma-devices"}) {
    EXPECT_NE(refused.ToString().find(part), std::string::npos) << refused.ToString();
  }
  EXPECT_FALSE(ChooseAgain(machine[0], 1, wish).ok()) << "nor later";
  Wish device = wish, gid = wish, network = wish;
  device.devices = {"a"};
  gid.gid_index = 1;
  network.networks = {"fe80::7%eth0"};
  for (const Wish& each : {device, gid, network}) {
    const auto choice = ChooseRails(machine, each);
    ASSERT_TRUE(choice.ok()) << choice.status();
    EXPECT_EQ(choice->rails[0].gid.index, 1);
  }
  const auto other = ChooseRails({machine[0], Device("b", {RocePort({Entry(3, "10.9.0.1", kV2)})})},
                                 wish);
  ASSERT_TRUE(other.ok()) << other.status();
  ASSERT_EQ(other->rails.size(), 1u);
  EXPECT_EQ(other->rails[0].device, "b");
  PortInfo infiniband = no_ip;
  infiniband.layer = LinkLayer::kInfiniBand;
  EXPECT_TRUE(ChooseRails({Device("i", {infiniband})}, wish).ok()) << "its subnet is enough";
}

TEST(ChoiceTest, APortOfNeitherInfiniBandNorEthernetIsNotTaken) {
  PortInfo port = RocePort({Entry(0, "fe80::1", GidType::kInfiniBand)});
  port.layer = LinkLayer::kUnspecified;
  const Status status = ChooseRails({Device("a", {port})}, {}).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(status.ToString().find("a:1 is a port of neither"), std::string::npos);
}

// Hosts with many fast cards for data have a slow one for all else.
TEST(ChoiceTest, FasterInfiniBandIsTakenBeforeTheJobsNetworkOtherRoceIsNamedOnly) {
  const auto port = [](double gbits_per_s, const char* address) {
    PortInfo made = RocePort({Entry(0, address, kV2)});
    made.gbits_per_s = gbits_per_s;
    return made;
  };
  const auto infiniband = [&](double gbits_per_s) {
    PortInfo made = port(gbits_per_s, "fe80::1");
    made.layer = LinkLayer::kInfiniBand;
    return made;
  };
  const auto limited = [&](double gbits_per_s) {
    PortInfo made = infiniband(gbits_per_s);
    made.pkeys = {0x7fff};
    return made;
  };
  const PortInfo of_job = port(100, "10.0.0.1");
  const struct {
    const char* what;
    std::vector<PortInfo> others;
    std::vector<std::string> chosen;
    const char* reason;
    const char* warning;
  } rows[] = {
      {"faster InfiniBand", {infiniband(400), infiniband(400)}, {"d1", "d2"},
       "InfiniBand, faster than d0:1 on the job's network", nullptr},
      {"InfiniBand of limited members", {limited(400)}, {"d0"}, "on the job's network", nullptr},
      {"only the fastest of it", {infiniband(400), infiniband(25)}, {"d1"}, "InfiniBand", nullptr},
      {"faster together", {infiniband(56), infiniband(56)}, {"d1", "d2"}, "InfiniBand", nullptr},
      {"slower InfiniBand", {infiniband(56)}, {"d0"}, "on the job's network", nullptr},
      {"as fast", {infiniband(100)}, {"d0"}, "on the job's network", nullptr},
      {"faster RoCE", {port(400, "10.1.0.1"), port(400, "10.2.0.1")}, {"d0"},
       "on the job's network", "d1:1,d2:1 would be faster than d0:1 on the job's network"},
      {"as fast RoCE", {port(100, "10.1.0.1")}, {"d0"}, "on the job's network", nullptr},
      {"RoCE without an address", {port(400, "fe80::2")}, {"d0"}, "on the job's network", nullptr},
  };
  for (const auto& row : rows) {
    std::vector<Candidate> machine = {Device("d0", {of_job})};
    for (const PortInfo& other : row.others) {
      machine.push_back(Device("d" + std::to_string(machine.size()), {other}));
    }
    Wish wish;
    wish.networks = {"10.0.0.1"};
    const auto choice = ChooseRails(machine, wish);
    ASSERT_TRUE(choice.ok()) << choice.status();
    std::vector<std::string> chosen;
    for (const RailChoice& rail : choice->rails) chosen.push_back(rail.device);
    EXPECT_EQ(chosen, row.chosen) << row.what;
    EXPECT_EQ(choice->reason.find(row.reason), 0u) << row.what << ": " << choice->reason;
    ASSERT_EQ(choice->warnings.size(), row.warning == nullptr ? 0u : 1u) << row.what;
    if (row.warning == nullptr) continue;
    EXPECT_EQ(choice->warnings[0].find(row.warning), 0u) << choice->warnings[0];
    EXPECT_NE(choice->warnings[0].find("--rdma-devices d1:1,d2:1"), std::string::npos);
  }
}

// What somebody asked for and cannot have is an error of its own, what is not there is not.
TEST(ChoiceTest, AWishThatNoPortMeetsIsToldFromAMachineThatHasNone) {
  PortInfo down = RocePort({Entry(1, "10.0.0.1", kV2)});
  down.active = false;
  const std::vector<Candidate> machine = {Device("a", {RocePort({Entry(1, "10.0.0.1", kV2)})})};
  const std::vector<Candidate> all_down = {Device("a", {down})};
  Wish mtu, gid, pkey, number;
  mtu.mtu_bytes = 4096;
  number.mtu_bytes = 1000;
  gid.gid_index = 7;
  pkey.pkey = 0x8123;
  for (const Wish& wish : {mtu, gid, pkey, number}) {
    EXPECT_EQ(ChooseRails(machine, wish).status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(ChooseRails(all_down, wish).status().code(), StatusCode::kFailedPrecondition);
    EXPECT_EQ(ChooseRails({}, wish).status().code(), StatusCode::kNotFound);
  }
  const std::string text = ChooseRails(machine, pkey).status().ToString();
  EXPECT_NE(text.find("0x8123"), std::string::npos) << text;
  EXPECT_NE(text.find("it is in: "), std::string::npos) << text;
}

// C47: what cannot be used is said, with what to do.
TEST(ChoiceTest, NoUsableDeviceIsSaidInWords) {
  EXPECT_EQ(ChooseRails({}, {}).status().code(), StatusCode::kNotFound);
  EXPECT_NE(ChooseRails({}, {}).status().ToString().find("/dev/infiniband"), std::string::npos);

  PortInfo down = RocePort({Entry(1, "10.0.0.1", kV2)});
  down.active = false;
  down.state = "DOWN";
  Candidate closed;
  closed.name = "mlx5_9";
  closed.status = Unavailable("mlx5_9 cannot be opened");
  const Status status =
      ChooseRails({Device("mlx5_0", {down}), closed, Device("mlx5_1", {RocePort({})})}, {}).status();
  const std::string text = status.ToString();
  for (const char* part : {"mlx5_0:1 is not active (DOWN)", "mlx5_9 cannot be opened",
                           "mlx5_1:1: it has no GID"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(ChoiceTest, NoMoreRailsAreTakenThanACreditHasKeysFor) {
  std::vector<Candidate> machine;
  for (int i = 0; i < 12; ++i) {
    machine.push_back(Device("d" + std::to_string(i),
                             {RocePort({Entry(1, "10.0.0." + std::to_string(i + 1), kV2)})}));
  }
  EXPECT_EQ(ChooseRails(machine, {})->rails.size(), 8u);
}

}  // namespace
}  // namespace reigen::transport::rdma
