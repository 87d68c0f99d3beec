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
  const std::vector<std::string> both = {"tcp:10.0.0.2:1", "rdma:10.0.0.2:2"};
  const std::vector<std::string> tcp = {"tcp:10.0.0.2:1"};
  const Status none = NotFound("no RDMA device");
  struct Row {
    TransportMode mode;
    Status here;
    std::vector<std::string> there;
    bool rdma;
    bool says_why;
  };
  const Row rows[] = {
      {TransportMode::kAuto, OkStatus(), both, true, false},
      {TransportMode::kAuto, OkStatus(), tcp, false, true},
      {TransportMode::kAuto, none, both, false, false},
      {TransportMode::kAuto, none, tcp, false, false},
      {TransportMode::kTcp, OkStatus(), both, false, false},
      {TransportMode::kRdma, OkStatus(), both, true, false},
      {TransportMode::kRdma, OkStatus(), tcp, true, false},
  };
  for (const Row& row : rows) {
    const LinkChoice choice = ChooseLink(row.mode, row.here, "bert", row.there);
    EXPECT_EQ(choice.rdma, row.rdma);
    EXPECT_EQ(!choice.reason.empty(), row.says_why);
    if (row.says_why) {
      EXPECT_NE(choice.reason.find("bert"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace reigen::transport
