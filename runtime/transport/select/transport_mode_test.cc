#include "runtime/transport/select/transport_mode.h"

#include <gtest/gtest.h>

namespace reigen::transport {
namespace {

TEST(TransportModeTest, HasThreeNames) {
  EXPECT_EQ(*ParseTransportMode("auto"), TransportMode::kAuto);
  EXPECT_EQ(*ParseTransportMode(""), TransportMode::kAuto);
  EXPECT_EQ(*ParseTransportMode("tcp"), TransportMode::kTcp);
  EXPECT_EQ(*ParseTransportMode("rdma"), TransportMode::kRdma);
  EXPECT_FALSE(ParseTransportMode("ib").ok());
}

// C47: a link that could have been RDMA and is not says so.
TEST(TransportModeTest, ALinkIsRdmaIfBothEndsCanAndElseSaysWhyNot) {
  const LinkEnd here = {"anna", {"tcp:10.0.0.1:1", "rdma:10.0.0.1:2", "rdma-kind:InfiniBand"}};
  const LinkEnd both = {"bert", {"tcp:10.0.0.2:1", "rdma:10.0.0.2:2", "rdma-kind:InfiniBand"}};
  const LinkEnd other = {"bert", {"tcp:10.0.0.2:1", "rdma:10.0.0.2:2", "rdma-kind:RoCE v1"}};
  const LinkEnd tcp = {"bert", {"tcp:10.0.0.2:1"}};
  const Status none = NotFound("no RDMA device");
  struct Row {
    TransportMode mode;
    Status here;
    LinkEnd there;
    bool rdma;
    std::string why;
  };
  const Row rows[] = {
      {TransportMode::kAuto, OkStatus(), both, true, ""},
      {TransportMode::kAuto, OkStatus(), tcp, false, "bert has no RDMA"},
      {TransportMode::kAuto, OkStatus(), other, false, "anna speaks InfiniBand, bert RoCE v1"},
      {TransportMode::kAuto, none, both, false, ""},
      {TransportMode::kAuto, none, tcp, false, ""},
      {TransportMode::kTcp, OkStatus(), both, false, ""},
      {TransportMode::kRdma, OkStatus(), both, true, ""},
      {TransportMode::kRdma, OkStatus(), tcp, true, ""},
      {TransportMode::kRdma, OkStatus(), other, true, ""},
  };
  for (const Row& row : rows) {
    const LinkChoice choice = ChooseLink(row.mode, row.here, here, row.there);
    EXPECT_EQ(choice.rdma, row.rdma);
    EXPECT_EQ(choice.reason.empty(), row.why.empty());
    EXPECT_NE(choice.reason.find(row.why), std::string::npos) << choice.reason;
    if (!row.why.empty()) {
      EXPECT_NE(choice.reason.find("the link to bert goes over TCP"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace reigen::transport
