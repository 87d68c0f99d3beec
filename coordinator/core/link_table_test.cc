#include "coordinator/core/link_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "coordinator/limits.h"

namespace reigen::coordinator {
namespace {

HostMember Host(const std::string& name, const std::vector<int>& ranks, bool rdma,
                const std::string& reason = "") {
  HostMember host;
  host.config = {name, ranks};
  host.attached.add_link_addresses("tcp:10.0.0.1:1");
  if (rdma) host.attached.add_link_addresses("rdma:10.0.0.1:2");
  if (rdma) host.attached.add_link_addresses("rdma-kind:InfiniBand");
  host.attached.set_transport_reason(reason);
  return host;
}

// C47
TEST(LinkTableTest, EachPairOfHostsHasItsTransportAndTheReason) {
  const LinkTable table =
      DescribeLinks({Host("anna", {0, 1}, true), Host("bert", {2}, false, "uverbs0: cannot open"),
                     Host("carl", {3}, true)});
  EXPECT_TRUE(table.warning);
  EXPECT_EQ(table.text,
            "links go over TCP, not RDMA, where one of their ends has none or they do not speak the "
            "same (--transport tcp asks for that):\n"
            "    ranks 0,1 (anna) - rank 2 (bert): tcp; bert: uverbs0: cannot open\n"
            "    ranks 0,1 (anna) - rank 3 (carl): rdma\n"
            "    rank 2 (bert) - rank 3 (carl): tcp; bert: uverbs0: cannot open");
}

TEST(LinkTableTest, WhatWasAskedForIsNoWarning) {
  for (const bool rdma : {false, true}) {
    const LinkTable table = DescribeLinks({Host("anna", {0}, rdma), Host("bert", {1}, rdma)});
    EXPECT_FALSE(table.warning);
    EXPECT_EQ(table.text, std::string("links:\n    rank 0 (anna) - rank 1 (bert): ") +
                              (rdma ? "rdma" : "tcp"));
  }
}

// Both have RDMA, and it is not the same network.
TEST(LinkTableTest, PortsOfDifferentKindsMakeALinkTcpOrNone) {
  HostMember bert = Host("bert", {1}, true);
  bert.attached.set_link_addresses(2, "rdma-kind:RoCE v2 over IPv4");
  std::vector<HostMember> hosts = {Host("anna", {0}, true), bert, Host("carl", {2}, true)};
  for (const bool tcp : {true, false}) {
    if (!tcp) {  // --transport rdma
      for (HostMember& host : hosts) host.attached.mutable_link_addresses()->DeleteSubrange(0, 1);
    }
    const LinkTable table = DescribeLinks(hosts);
    EXPECT_TRUE(table.warning);
    const std::string line = std::string("rank 0 (anna) - rank 1 (bert): ") +
                             (tcp ? "tcp" : "none") +
                             "; anna speaks InfiniBand, bert RoCE v2 over IPv4 (--rdma-devices";
    EXPECT_NE(table.text.find(line), std::string::npos) << table.text;
    EXPECT_NE(table.text.find("rank 0 (anna) - rank 2 (carl): rdma"), std::string::npos);
    EXPECT_EQ(table.text.find("go over TCP") != std::string::npos, tcp) << table.text;
    EXPECT_EQ(table.text.find("cannot be linked") != std::string::npos, !tcp) << table.text;
    EXPECT_EQ(table.refused_host, tcp ? -1 : 1);
    EXPECT_EQ(table.refusal.find("RDMA was asked for, and rank 0 (anna) and rank 1 (bert) cannot "
                                 "talk over it: anna speaks InfiniBand, bert RoCE v2"),
              tcp ? std::string::npos : 0)
        << table.refusal;
  }
}

// Packets between them would be dropped, though their ports are all alike.
TEST(LinkTableTest, LimitedMembersOfAPartitionAreNotLinkedOverRdma) {
  std::vector<HostMember> hosts = {Host("anna", {0}, true), Host("bert", {1}, true)};
  for (HostMember& host : hosts) {
    host.attached.set_link_addresses(2, "rdma-kind:InfiniBand with PKey 0x0001");
  }
  const LinkTable table = DescribeLinks(hosts);
  EXPECT_TRUE(table.warning);
  EXPECT_EQ(table.refusal, "");
  EXPECT_NE(table.text.find("rank 0 (anna) - rank 1 (bert): tcp; anna speaks InfiniBand with PKey "
                            "0x0001, bert InfiniBand with PKey 0x0001 ("),
            std::string::npos)
      << table.text;
  for (HostMember& host : hosts) host.attached.mutable_link_addresses()->DeleteSubrange(0, 1);
  EXPECT_EQ(DescribeLinks(hosts).refused_host, 1);
}

TEST(LinkTableTest, ALongTableShowsThatPortsDiffer) {
  std::vector<HostMember> hosts(kMaxHosts, Host("h", {0}, true));
  for (const size_t i : {1, 2}) {
    hosts[kMaxHosts - i] = Host("z" + std::to_string(i), {9}, true);
    hosts[kMaxHosts - i].attached.set_link_addresses(2, "rdma-kind:RoCE v2 over IPv4");
  }
  const std::string rest = std::to_string(2 * (kMaxHosts - 2) - 1) + " of them ";
  for (const bool tcp : {true, false}) {
    if (!tcp) {  // --transport rdma
      for (HostMember& host : hosts) host.attached.mutable_link_addresses()->DeleteSubrange(0, 1);
    }
    const std::string text = DescribeLinks(hosts).text;
    const std::string way = tcp ? "tcp" : "none";
    EXPECT_NE(text.find(":\n    rank 0 (h) - rank 9 (z2): " + way +
                        "; h speaks InfiniBand, z2 RoCE v2"),
              std::string::npos)
        << text;
    EXPECT_EQ(text.find(rest + "over tcp") != std::string::npos, tcp) << text;
    EXPECT_EQ(text.find(rest + "without a link") != std::string::npos, !tcp) << text;
  }
}

TEST(LinkTableTest, ALongTableIsCutAndCounted) {
  std::vector<HostMember> hosts(kMaxHosts, Host("h", {0}, true));
  const std::string text = DescribeLinks(hosts).text;
  EXPECT_EQ(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')), kMaxLinkLines + 1);
  EXPECT_NE(text.find("and " + std::to_string(kMaxHosts * (kMaxHosts - 1) / 2 - kMaxLinkLines)),
            std::string::npos);
}

// One among many has no RDMA, and its pairs are the last ones.
TEST(LinkTableTest, ALongTableShowsWhoHasNoRdmaAndWhyFirst) {
  std::vector<HostMember> hosts(kMaxHosts, Host("h", {0}, true));
  hosts[kMaxHosts - 2] = Host("yuri", {8}, false, "no device");
  hosts[kMaxHosts - 1] = Host("zoe", {9}, false, "uverbs0: cannot open");
  const std::string text = DescribeLinks(hosts).text;
  const std::string begin = "for that):\n    rank 0 (h) - rank 8 (yuri): tcp; yuri: no device\n"
                            "    rank 0 (h) - rank 9 (zoe): tcp; zoe: uverbs0: cannot open\n";
  EXPECT_NE(text.find(begin), std::string::npos) << text;
  EXPECT_NE(text.find(std::to_string(2 * kMaxHosts - 3 - kMaxLinkLines) + " of them over tcp"),
            std::string::npos)
      << text;
}

TEST(LinkTableTest, EachHostWithoutRdmaIsNamedBeforeOneIsTwice) {
  std::vector<HostMember> hosts;
  for (size_t host = 0; host < kMaxLinkLines; ++host) {
    hosts.push_back(Host("h" + std::to_string(host), {0}, false, "none"));
  }
  const std::string text = DescribeLinks(hosts).text;
  for (const HostMember& host : hosts) {
    EXPECT_NE(text.find("(" + host.config.name + ")"), std::string::npos) << host.config.name;
  }
}

}  // namespace
}  // namespace reigen::coordinator
