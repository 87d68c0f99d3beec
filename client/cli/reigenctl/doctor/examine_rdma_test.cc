#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "client/cli/reigenctl/doctor/examine.h"
#include "client/cli/reigenctl/doctor/testing/hosts_of_tests.h"
#include "runtime/transport/rdma/gid.h"

namespace reigen::ctl {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

probe::HostFacts RdmaHost() {
  probe::HostFacts facts = PlainHost();
  facts.rdma.devices = {GoodDevice("mlx5_0", "10.0.0.1")};
  facts.rdma.locked_unlimited = true;
  return facts;
}

struct Case {
  const char* name;
  std::function<void(probe::RdmaFacts&, Wishes&)> change;
  const char* subject;  // of the finding
  Level level;
  const char* text;
  const char* remedy;     // part of it; "": none
  const char* transport;  // that links use; none: a job is refused
};

const Case kCases[] = {
    {"good", [](auto&, auto&) {}, "mlx5_0:1", Level::kOk,
     "ACTIVE, RoCE, 100 Gbit/s, MTU 4096, eth0, GIDs 0 fe80::1 (RoCE v1)", "", "rdma"},
    {"choice", [](auto&, auto&) {}, "between hosts", Level::kOk,
     "mlx5_0:1 gid 3 10.0.0.1 (RoCE v2, MTU 4096) (on the job's network)", "", "rdma"},
    {"locked memory is not limited", [](auto&, auto&) {}, "locked memory", Level::kOk,
     "not limited", "", "rdma"},
    {"locked memory suffices",
     [](auto& f, auto&) {
       f.locked_unlimited = false;
       f.locked_bytes = 128 << 20;
     },
     "locked memory", Level::kOk,
     "up to 128 MiB, 65.9 MiB are needed by a job of two hosts, 1.9 MiB more by each further one",
     "", "rdma"},
    {"64 KiB of locked memory",
     [](auto& f, auto&) {
       f.locked_unlimited = false;
       f.locked_bytes = 64 << 10;
     },
     "locked memory", Level::kProblem, "limited to 64 KiB, RDMA needs about 66 MiB",
     "ulimit -l unlimited", "tcp"},
    {"no node", [](auto& f, auto&) { f.devices[0].node = ""; }, "mlx5_0", Level::kProblem,
     "made no /dev/infiniband/uverbs", "modprobe ib_uverbs", "tcp"},
    {"no /dev/infiniband in a container",
     [](auto& f, auto&) { f.devices[0].node_error = "No such file or directory"; }, "mlx5_0",
     Level::kProblem, "/dev/infiniband/uverbs0: No such file or directory",
     "--device /dev/infiniband", "tcp"},
    {"node not readable", [](auto& f, auto&) { f.devices[0].node_error = "Permission denied"; },
     "mlx5_0", Level::kProblem, "Permission denied", "chmod 0666 /dev/infiniband/uverbs0", "tcp"},
    {"no provider", [](auto& f, auto&) { f.devices[0].in_library = false; }, "mlx5_0",
     Level::kProblem, "libibverbs does not know it", "ibverbs-providers", "tcp"},
    {"does not open", [](auto& f, auto&) { f.devices[0].open_error = "ibv_open_device: I/O"; },
     "mlx5_0", Level::kProblem, "ibv_open_device: I/O", "dmesg", "tcp"},
    {"a protocol of its own",
     [](auto& f, auto&) { f.devices[0].not_for_links = "it speaks iWARP"; }, "mlx5_0",
     Level::kNote, "it speaks iWARP", "", "tcp"},
    {"a protocol of its own, and what follows",
     [](auto& f, auto&) { f.devices[0].not_for_links = "it speaks iWARP"; }, "devices",
     Level::kNote, "there is no RDMA device that links could use: links use TCP", "", "tcp"},
    {"one of two asked for is down",
     [](auto& f, auto& w) {
       f.devices.push_back(GoodDevice("mlx5_1", "10.1.0.1"));
       f.devices[1].info.ports[0].active = false;
       w.rdma.devices = {"mlx5_1", "mlx5_0"};
     },
     "devices", Level::kNote, "RDMA device mlx5_1 cannot be used: mlx5_1:1 is not active", "",
     "rdma"},
    {"port down",
     [](auto& f, auto&) {
       f.devices[0].info.ports[0].active = false;
       f.devices[0].info.ports[0].state = "DOWN";
     },
     "mlx5_0:1", Level::kNote, "DOWN", "cable", "tcp"},
    {"no port is up",
     [](auto& f, auto&) {
       f.devices[0].info.ports[0].active = false;
       f.devices[0].info.ports[0].state = "DOWN";
     },
     "between hosts", Level::kProblem, "mlx5_0:1 is not active (DOWN)", "--transport tcp", "tcp"},
    {"no GID", [](auto& f, auto&) { f.devices[0].info.ports[0].gids.clear(); }, "between hosts",
     Level::kProblem, "mlx5_0:1", "--transport tcp", "tcp"},
    {"no GID, the port", [](auto& f, auto&) { f.devices[0].info.ports[0].gids.clear(); },
     "mlx5_0:1", Level::kOk, "no GID", "", "tcp"},
    {"small MTU", [](auto& f, auto&) { f.devices[0].info.ports[0].active_mtu_bytes = 1024; },
     "mlx5_0:1", Level::kNote, "MTU 1024", "mtu 9000", "rdma"},
    {"the device that was asked for is not there",
     [](auto&, auto& w) { w.rdma.devices = {"mlx5_7"}; }, "between hosts", Level::kProblem,
     "there is no RDMA device mlx5_7 (there are: mlx5_0)", "--transport tcp", "none"},
    {"the device that was asked for is not there, and what follows",
     [](auto&, auto& w) { w.rdma.devices = {"mlx5_7"}; }, "between hosts", Level::kProblem,
     ": a job with this wish is refused", "REIGEN_RDMA_*", "none"},
    {"the device that was asked for is down",
     [](auto& f, auto& w) {
       f.devices[0].info.ports[0].active = false;
       w.rdma.devices = {"mlx5_0"};
     },
     "between hosts", Level::kProblem, "they are chosen, --transport tcp needs none; links use TCP",
     "mend a port", "tcp"},
    {"a device asked for where there is none",
     [](auto& f, auto& w) {
       f.devices.clear();
       w.rdma.devices = {"mlx5_7"};
     },
     "devices", Level::kProblem, "mlx5_7 was asked for: a job with this wish is refused",
     "neither --rdma-devices nor REIGEN_RDMA_DEVICES", "none"},
    {"the same with TCP, which needs none",
     [](auto& f, auto& w) {
       f.devices.clear();
       w.rdma.devices = {"mlx5_7"};
       w.transport = "tcp";
     },
     "devices", Level::kNote, "not used: --transport tcp", "--rdma-devices", "tcp"},
    {"a GID that was asked for and is not there",
     [](auto&, auto& w) { w.rdma.gid_index = 9; }, "between hosts", Level::kProblem,
     "a job with this wish is refused", "--rdma-gid-index", "none"},
    {"the GID that was asked for", [](auto&, auto& w) { w.rdma.gid_index = 2; }, "between hosts",
     Level::kOk, "gid 2 10.0.0.1 (RoCE v1", "", "rdma"},
    {"a path MTU that the port cannot", [](auto& f, auto& w) {
       f.devices[0].info.ports[0].active_mtu_bytes = 1024;
       w.rdma.mtu_bytes = 2048;
     },
     "between hosts", Level::kProblem, "2048", "--transport tcp", "none"},
    {"the same of a job over TCP", [](auto& f, auto& w) {
       f.devices[0].info.ports[0].active_mtu_bytes = 1024;
       w.rdma.mtu_bytes = 2048;
       w.transport = "tcp";
     },
     "between hosts", Level::kNote, "not used: --transport tcp", "--transport tcp", "tcp"},
    {"a partition that it is not in", [](auto&, auto& w) { w.rdma.pkey = 0x8005; },
     "between hosts", Level::kProblem, "PKey 0x8005", "--transport tcp", "none"},
    {"a variable that makes no sense",
     [](auto&, auto& w) { w.variable_error = "REIGEN_RDMA_MTU: \"big\" is not a number"; },
     "variables", Level::kProblem,
     "REIGEN_RDMA_MTU: \"big\" is not a number: a job with this wish is refused", "unset it",
     "none"},
    {"a variable that makes no sense where there is no device",
     [](auto& f, auto& w) {
       f.devices.clear();
       w.variable_error = "REIGEN_RDMA_MTU: \"big\" is not a number";
     },
     "variables", Level::kProblem, "a job with this wish is refused", "unset it", "none"},
    {"a variable that makes no sense, and nobody asks for RDMA",
     [](auto& f, auto& w) {
       f.devices.clear();
       w.variable_error = "REIGEN_RDMA_MTU: \"big\" is not a number";
       w.transport = "tcp";
     },
     "variables", Level::kNote, "not used: --transport tcp", "unset it", "tcp"},
    {"a variable that makes no sense, the choice",
     [](auto&, auto& w) { w.variable_error = "REIGEN_RDMA_MTU: \"big\" is not a number"; },
     "between hosts", Level::kOk, "not used as long as a variable makes no sense: a job is refused", "",
     "none"},
    {"nobody asks for it", [](auto&, auto& w) { w.transport = "tcp"; }, "between hosts",
     Level::kOk, "not used: --transport tcp", "", "tcp"},
    {"nobody asks for a broken one",
     [](auto& f, auto& w) {
       f.devices[0].node = "";
       w.transport = "tcp";
     },
     "mlx5_0", Level::kNote, "made no /dev/infiniband/uverbs", "modprobe", "tcp"},
    {"none, and asked for",
     [](auto& f, auto& w) {
       f.devices.clear();
       w.transport = "rdma";
     },
     "devices", Level::kProblem, "a job that asks for RDMA is refused", "--device /dev/infiniband",
     "none"},
    {"none is up, and asked for",
     [](auto& f, auto& w) {
       f.devices[0].info.ports[0].active = false;
       w.transport = "rdma";
     },
     "between hosts", Level::kProblem, "a job that asks for RDMA is refused", "--transport tcp",
     "none"},
    {"64 KiB of locked memory, and asked for",
     [](auto& f, auto& w) {
       f.locked_unlimited = false;
       f.locked_bytes = 64 << 10;
       w.transport = "rdma";
     },
     "between hosts", Level::kOk, "is limited: a job that asks for RDMA is refused", "", "none"},
    {"the library is broken and there is nothing",
     [](auto& f, auto&) {
       f.devices.clear();
       f.list_error = "ibv_fork_init: Cannot allocate memory";
     },
     "devices", Level::kNote, "ibv_fork_init", "", "tcp"},
};

TEST(ExamineRdmaTest, WhatIsWrongHasItsRemedy) {
  for (const Case& c : kCases) {
    probe::HostFacts facts = RdmaHost();
    Wishes wishes = PlainWishes();
    c.change(facts.rdma, wishes);
    const Report report = Examine(facts, wishes);
    const Finding* finding = FindFinding(report, "rdma", c.subject);
    ASSERT_NE(finding, nullptr) << c.name;
    EXPECT_EQ(finding->level, c.level) << c.name;
    EXPECT_THAT(finding->text, HasSubstr(c.text)) << c.name;
    EXPECT_THAT(finding->remedy, HasSubstr(c.remedy)) << c.name;
    EXPECT_EQ(finding->remedy.empty(), *c.remedy == '\0') << c.name;
    EXPECT_EQ(report.transport, c.transport) << c.name;
    for (const Finding& each : report.findings) {
      EXPECT_TRUE(each.level != Level::kProblem || !each.remedy.empty()) << c.name;
    }
  }
}

TEST(ExamineRdmaTest, OneOfTwoDevicesSuffices) {
  probe::HostFacts facts = RdmaHost();
  facts.rdma.devices.push_back(GoodDevice("mlx5_1", "10.1.0.1"));
  facts.rdma.devices[1].info.ports[0].active = false;
  facts.rdma.devices[1].info.ports[0].state = "DOWN";
  const Report report = Examine(facts, PlainWishes());
  EXPECT_THAT(SubjectsOf(report, Level::kProblem), IsEmpty());
  EXPECT_THAT(SubjectsOf(report, Level::kNote), Contains("rdma/mlx5_1:1"));
  EXPECT_EQ(report.transport, "rdma");
  ASSERT_EQ(report.rdma_ports.size(), 1u);
}

TEST(ExamineRdmaTest, TheLeastMtuOfTheChosenPortsCounts) {
  probe::HostFacts facts = RdmaHost();
  facts.network.addresses.push_back({.interface = "eth1", .address = "10.1.0.1"});
  facts.rdma.devices.push_back(GoodDevice("mlx5_1", "10.1.0.1"));
  facts.rdma.devices[1].info.ports[0].active_mtu_bytes = 2048;
  const Report report = Examine(facts, PlainWishes());
  EXPECT_EQ(report.rdma_ports.size(), 2u);
  EXPECT_EQ(report.rdma_mtu_bytes, 2048u);
}

// Two devices with an address each; 64 KiB may be locked.
probe::HostFacts TwoNetworks() {
  probe::HostFacts facts = RdmaHost();
  facts.rdma.locked_unlimited = false;
  facts.network.addresses.push_back({.interface = "eth1", .address = "10.1.0.1"});
  facts.rdma.devices.push_back(GoodDevice("mlx5_1", "10.1.0.1"));
  return facts;
}

std::string LockedMemory(const probe::HostFacts& facts, const Wishes& wishes) {
  return FindFinding(Examine(facts, wishes), "rdma", "locked memory")->text;
}

TEST(ExamineRdmaTest, LockedMemoryIsNeededForEachDeviceThatAJobTakes) {
  Wishes wishes = PlainWishes();
  probe::HostFacts facts = TwoNetworks();
  EXPECT_EQ(Examine(facts, wishes).rdma_ports.size(), 2u);
  EXPECT_THAT(LockedMemory(facts, wishes), HasSubstr("needs about 66 MiB")) << "one or the other";
  wishes.rdma.devices = {"mlx5_0", "mlx5_1"};
  EXPECT_THAT(LockedMemory(facts, wishes), HasSubstr("needs about 130 MiB"));
  wishes.rdma.devices.clear();
  // Of the one address no port has; the fastest are taken, both.
  facts.network.addresses[0].address = "10.2.0.1";
  EXPECT_THAT(LockedMemory(facts, wishes), HasSubstr("needs about 130 MiB"));
  EXPECT_THAT(LockedMemory(facts, wishes), StartsWith("if the job takes 10.2.0.1: "));
  facts.network.addresses.pop_back();
  EXPECT_THAT(LockedMemory(facts, wishes), HasSubstr("needs about 130 MiB"));
}

TEST(ExamineRdmaTest, LockedMemoryIsNeededForTheLinksAndQueuesOfTheJob) {
  probe::HostFacts facts = RdmaHost();
  facts.rdma.locked_unlimited = false;
  Wishes wishes = PlainWishes();
  EXPECT_THAT(LockedMemory(facts, wishes), HasSubstr("needs about 66 MiB"));
  wishes.queues = 15;
  EXPECT_THAT(LockedMemory(facts, wishes), HasSubstr("needs about 75 MiB"));
  facts.rdma.devices[0].info.max_cqes = 32767;  // which hold seven queues
  EXPECT_THAT(LockedMemory(facts, wishes), HasSubstr("needs about 70 MiB"));
  wishes = PlainWishes();
  wishes.hosts = 16;
  EXPECT_THAT(LockedMemory(facts, wishes), HasSubstr("needs about 93 MiB"));
  facts.rdma.locked_bytes = 80 << 20;
  EXPECT_EQ(Examine(facts, wishes).transport, "tcp");
  facts.rdma.locked_bytes = 100 << 20;
  EXPECT_THAT(LockedMemory(facts, wishes), HasSubstr("are needed by a job of 16 hosts"));
  EXPECT_EQ(Examine(facts, wishes).transport, "rdma");
}

// As the transport is not made.
TEST(ExamineRdmaTest, ADeviceThatHoldsTooLittleIsAProblem) {
  probe::HostFacts facts = RdmaHost();
  facts.rdma.devices[0].info.max_cqes = 100;
  const Report report = Examine(facts, PlainWishes());
  const Finding* finding = FindFinding(report, "rdma", "between hosts");
  EXPECT_EQ(finding->level, Level::kProblem);
  EXPECT_THAT(finding->text, HasSubstr("100 completions; links need 1024 and 2048"));
  EXPECT_EQ(report.transport, "tcp");
}

// A job takes one of them; it is refused if it takes the first.
TEST(ExamineRdmaTest, AWishThatOneAddressCannotMeetIsToldWithIt) {
  probe::HostFacts facts = TwoNetworks();
  facts.rdma.locked_unlimited = true;
  facts.rdma.devices[0].info.ports[0].active_mtu_bytes = 1024;
  Wishes wishes = PlainWishes();
  wishes.rdma.mtu_bytes = 4096;
  const Report report = Examine(facts, wishes);
  const Finding* finding = FindFinding(report, "rdma", "between hosts");
  EXPECT_EQ(finding->level, Level::kProblem);
  EXPECT_THAT(finding->text, StartsWith("if the job takes 10.0.0.1: mlx5_0:1: a path MTU of 4096"));
  EXPECT_EQ(report.transport, "none");
}

TEST(ExamineRdmaTest, WhichPortsAreTakenIsSaidForEachAddress) {
  const std::string first = "mlx5_0:1 gid 3 10.0.0.1 (RoCE v2, MTU 4096)";
  const std::string second = "mlx5_1:1 gid 3 10.1.0.1 (RoCE v2, MTU 4096)";
  Wishes wishes = PlainWishes();
  probe::HostFacts facts = TwoNetworks();
  facts.rdma.locked_unlimited = true;
  EXPECT_EQ(FindFinding(Examine(facts, wishes), "rdma", "between hosts")->text,
            first + " (on the job's network) if the job takes 10.0.0.1; " + second +
                " (on the job's network) if it takes 10.1.0.1");
  wishes.rdma.devices = {"mlx5_0", "mlx5_1"};
  EXPECT_EQ(FindFinding(Examine(facts, wishes), "rdma", "between hosts")->text,
            first + ", " + second + " (asked for)");
}

// A job takes one of two addresses, and its hosts take the same one.
TEST(ExamineRdmaTest, KindsOfPortsAreThoseOfEachAddress) {
  probe::HostFacts facts = RdmaHost();
  EXPECT_THAT(Examine(facts, PlainWishes()).rdma_kinds, ElementsAre("RoCE v2 over IPv4"));
  facts.network.addresses.push_back({.interface = "eth0", .address = "fd00::1"});
  facts.rdma.devices[0].info.ports[0].gids.push_back(
      {4, *transport::rdma::GidOfAddress("fd00::1"), transport::rdma::GidType::kRoceV2});
  EXPECT_THAT(Examine(facts, PlainWishes()).rdma_kinds,
              ElementsAre("RoCE v2 over IPv4", "RoCE v2 over IPv6"));
  Wishes wishes = PlainWishes();
  wishes.rdma.gid_index = 2;
  EXPECT_THAT(Examine(facts, wishes).rdma_kinds, ElementsAre("RoCE v1 over IPv4"));
  wishes.transport = "tcp";
  EXPECT_THAT(Examine(facts, wishes).rdma_kinds, IsEmpty());
  facts.rdma.devices[0].info.ports[0].layer = transport::rdma::LinkLayer::kInfiniBand;
  facts.network.addresses.clear();
  EXPECT_THAT(Examine(facts, PlainWishes()).rdma_kinds,
              ElementsAre("InfiniBand with PKey 0xffff"));
}

TEST(ExamineRdmaTest, ManyGidsAreShortened) {
  probe::HostFacts facts = RdmaHost();
  auto& gids = facts.rdma.devices[0].info.ports[0].gids;
  for (int i = 4; i < 12; ++i) {
    gids.push_back({i, *transport::rdma::GidOfAddress("10.0.1." + std::to_string(i)),
                    transport::rdma::GidType::kRoceV2});
  }
  gids.push_back({12, {}, transport::rdma::GidType::kRoceV2});  // unused
  EXPECT_THAT(FindFinding(Examine(facts, PlainWishes()), "rdma", "mlx5_0:1")->text,
              HasSubstr("and 8 more"));
}

}  // namespace
}  // namespace reigen::ctl
