#include "runtime/base/rdma_kind.h"

#include <gtest/gtest.h>

namespace reigen {
namespace {

using Kinds = std::vector<std::string>;

TEST(RdmaKindTest, IsToldAmongTheAddressesOfLinksAndFoundThere) {
  const Kinds told = RdmaKindAddresses({"RoCE v2 over IPv4", "InfiniBand", "InfiniBand"});
  EXPECT_EQ(told, (Kinds{"rdma-kind:InfiniBand", "rdma-kind:RoCE v2 over IPv4"}));
  EXPECT_EQ(RdmaKindsIn({"tcp:10.0.0.1:1", told[1], "rdma:10.0.0.1:2", told[0], told[1]}),
            (Kinds{"InfiniBand", "RoCE v2 over IPv4"}));
  EXPECT_TRUE(RdmaKindsIn({"tcp:10.0.0.1:1", "rdma:10.0.0.1:2"}).empty());
}

TEST(RdmaKindTest, OneCommonKindIsEnoughAndNoneIsSaidWithARemedy) {
  const Kinds infiniband = {"InfiniBand"};
  const Kinds both = {"InfiniBand", "RoCE v2 over IPv4"};
  const Kinds roce = {"RoCE v2 over IPv4"};
  EXPECT_EQ(WhyNotRdma({"anna", infiniband}, {"bert", both}), "");
  EXPECT_EQ(WhyNotRdma({"anna", both}, {"bert", roce}), "");
  EXPECT_EQ(WhyNotRdma({"anna", {}}, {"bert", roce}), "anna has no RDMA");
  EXPECT_EQ(WhyNotRdma({"anna", roce}, {"bert", {}}), "bert has no RDMA");
  EXPECT_EQ(WhyNotRdma({"anna", infiniband}, {"bert", {"RoCE v1 over IPv6", "RoCE v2 over IPv4"}}),
            "anna speaks InfiniBand, bert RoCE v1 over IPv6 and RoCE v2 over IPv4 "
            "(--rdma-devices and --rdma-gid-index choose ports and addresses of one kind, "
            "--transport tcp goes without)");
}

TEST(RdmaKindTest, PortsTalkInsideOnePartitionIfOneIsAFullMember) {
  const auto infiniband = [](uint16_t pkey) { return RdmaKind("InfiniBand", pkey); };
  EXPECT_EQ(infiniband(0x8001), "InfiniBand with PKey 0x8001");
  const struct {
    std::string a;
    std::string b;
    bool talk;
  } rows[] = {
      {infiniband(0x8001), infiniband(0x8001), true},
      {infiniband(0x8001), infiniband(0x0001), true},
      {infiniband(0x0001), infiniband(0x0001), false},
      {infiniband(0x8001), infiniband(0xffff), false},
      {infiniband(0xffff), infiniband(0x7fff), true},
      {infiniband(0x7fff), infiniband(0x7fff), false},
      {"InfiniBand", infiniband(0x7fff), true},
      {"RoCE v1", "RoCE v1", true},
      {"RoCE v1", RdmaKind("RoCE v1", 0x8001), false},
      {RdmaKind("RoCE v1", 0xffff), infiniband(0xffff), false},
      {"InfiniBand with PKey 0x", "InfiniBand", false},
      {"InfiniBand with PKey 0xfffff", "InfiniBand", false},
      {"InfiniBand with PKey 0x-fff", "InfiniBand", false},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(RdmaKindsTalk(row.a, row.b), row.talk) << row.a << " - " << row.b;
    EXPECT_EQ(RdmaKindsTalk(row.b, row.a), row.talk) << row.b << " - " << row.a;
  }
  const std::string one = RdmaKind("InfiniBand of subnet fec0:0:0:1::", 0xffff);
  const std::string other = RdmaKind("InfiniBand of subnet fec0:0:0:2::", 0xffff);
  EXPECT_FALSE(RdmaKindsTalk(one, other));
  EXPECT_FALSE(RdmaKindsTalk(one, infiniband(0xffff)));
  EXPECT_TRUE(RdmaKindsTalk(one, RdmaKind("InfiniBand of subnet fec0:0:0:1::", 0x7fff)));
  EXPECT_EQ(WhyNotRdma({"anna", {one}}, {"bert", {"RoCE v1", other}}),
            "anna speaks " + one + ", bert RoCE v1 and " + other +
                " (links stay inside one InfiniBand subnet: --rdma-devices chooses ports of one, "
                "--transport tcp goes without)");
  EXPECT_EQ(WhyNotRdma({"anna", {infiniband(0x8001)}}, {"bert", {"RoCE v1", infiniband(0xffff)}}),
            "anna speaks InfiniBand with PKey 0x8001, bert RoCE v1 and InfiniBand with PKey 0xffff "
            "(ports talk inside one partition, of which one of them is a full member (0x8000 and "
            "above): REIGEN_RDMA_PKEY on each host chooses it, the subnet manager gives it, "
            "--transport tcp goes without)");
}

}  // namespace
}  // namespace reigen
