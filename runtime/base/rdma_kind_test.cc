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

}  // namespace
}  // namespace reigen
