// Goal: what libibverbs says is what we take it for.
// Method: its structures and constants, without a device.
#include "runtime/transport/rdma/real/translate.h"

#include <gtest/gtest.h>

#include <string>

#include "runtime/base/status.h"

namespace reigen::transport::rdma {
namespace {

// Devices of EFA and iWARP are listed with the others.
TEST(TranslateTest, OnlyDevicesOfInfiniBandAndRoceAreTaken) {
  const struct {
    ibv_node_type node;
    ibv_transport_type transport;
    const char* refused;
  } rows[] = {
      {IBV_NODE_CA, IBV_TRANSPORT_IB, nullptr},
      {IBV_NODE_RNIC, IBV_TRANSPORT_IWARP, "iWARP"},
      {IBV_NODE_UNSPECIFIED, IBV_TRANSPORT_UNSPECIFIED, "a protocol of its own"},
      {IBV_NODE_USNIC_UDP, IBV_TRANSPORT_USNIC_UDP, "a protocol of its own"},
      {IBV_NODE_UNKNOWN, IBV_TRANSPORT_UNKNOWN, "a protocol of its own"},
      {IBV_NODE_SWITCH, IBV_TRANSPORT_IB, "a protocol of its own"},
  };
  for (const auto& row : rows) {
    ibv_device device{};
    device.node_type = row.node;
    device.transport_type = row.transport;
    const Status status = CheckProtocol(device);
    EXPECT_EQ(status.ok(), row.refused == nullptr) << row.node;
    if (row.refused == nullptr) continue;
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    EXPECT_NE(status.ToString().find(row.refused), std::string::npos) << status.ToString();
  }
}

TEST(TranslateTest, APortKeepsItsLayer) {
  const struct {
    uint8_t from;
    LinkLayer layer;
  } rows[] = {{IBV_LINK_LAYER_INFINIBAND, LinkLayer::kInfiniBand},
              {IBV_LINK_LAYER_ETHERNET, LinkLayer::kEthernet},
              {IBV_LINK_LAYER_UNSPECIFIED, LinkLayer::kUnspecified},
              {77, LinkLayer::kUnspecified}};
  for (const auto& row : rows) {
    ibv_port_attr attributes{};
    attributes.state = IBV_PORT_ACTIVE;
    attributes.link_layer = row.from;
    const PortInfo port = FromPort(2, attributes);
    EXPECT_EQ(port.layer, row.layer) << int{row.from};
    EXPECT_TRUE(port.active);
    EXPECT_EQ(port.number, 2);
  }
}

TEST(TranslateTest, APortThatDemandsRoutingByGidSaysSo) {
  ibv_port_attr attributes{};
  EXPECT_FALSE(FromPort(1, attributes).global_only);
  attributes.flags = IBV_QPF_GRH_REQUIRED;
  EXPECT_TRUE(FromPort(1, attributes).global_only);
}

TEST(TranslateTest, OnlyDataMemoryIsRelaxedAndOnlyItIsWrittenFromAfar) {
  constexpr int kRelaxed = IBV_ACCESS_RELAXED_ORDERING;
  EXPECT_EQ(ToAccessFlags(Access::kLocal), IBV_ACCESS_LOCAL_WRITE);
  EXPECT_EQ(ToAccessFlags(Access::kRemote), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  EXPECT_EQ(ToAccessFlags(Access::kRelaxed),
            IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | kRelaxed);
}

TEST(TranslateTest, EveryPathMtuHasItsCodeAndNothingElseHas) {
  EXPECT_EQ(*ToMtu(256), IBV_MTU_256);
  EXPECT_EQ(*ToMtu(1024), IBV_MTU_1024);
  EXPECT_EQ(*ToMtu(4096), IBV_MTU_4096);
  for (const uint32_t bad : {0u, 128u, 1500u, 8192u}) EXPECT_FALSE(ToMtu(bad).ok()) << bad;
}

TEST(TranslateTest, ACompletionKeepsItsStatusAndVendorCode) {
  for (int i = 0; i < kWorkStatuses; ++i) {
    ibv_wc wc{};
    wc.wr_id = 7;
    wc.status = static_cast<ibv_wc_status>(i);
    wc.vendor_err = 129;
    wc.qp_num = 5;
    wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
    wc.imm_data = 0x04030201;  // network order
    const WorkCompletion completion = FromWorkCompletion(wc);
    EXPECT_EQ(completion.id, 7u);
    EXPECT_EQ(static_cast<int>(completion.status), i);
    EXPECT_EQ(completion.vendor_error, 129u);
    EXPECT_EQ(completion.qp_number, 5u);
    EXPECT_EQ(completion.immediate, i == 0 ? 0x01020304u : 0u) << "valid after success only";
  }
  ibv_wc unknown{};
  unknown.status = static_cast<ibv_wc_status>(kWorkStatuses);
  EXPECT_EQ(FromWorkCompletion(unknown).status, WorkStatus::kGeneral);
}

TEST(TranslateTest, EveryOpcodeIsItsOwn) {
  EXPECT_EQ(ToOpcode(Opcode::kSend), IBV_WR_SEND);
  EXPECT_EQ(ToOpcode(Opcode::kWrite), IBV_WR_RDMA_WRITE);
  EXPECT_EQ(ToOpcode(Opcode::kWriteWithImm), IBV_WR_RDMA_WRITE_WITH_IMM);
  EXPECT_EQ(ToOpcode(Opcode::kRead), IBV_WR_RDMA_READ);
  ibv_wc wc{};
  wc.opcode = IBV_WC_RDMA_READ;
  EXPECT_EQ(FromWorkCompletion(wc).opcode, Opcode::kRead);
}

TEST(TranslateTest, EveryAsyncEventIsOfAKind) {
  const struct {
    ibv_event_type type;
    AsyncKind kind;
  } rows[] = {
      {IBV_EVENT_DEVICE_FATAL, AsyncKind::kDeviceFatal},
      {IBV_EVENT_CQ_ERR, AsyncKind::kCqError},
      {IBV_EVENT_QP_FATAL, AsyncKind::kQpFatal},
      {IBV_EVENT_QP_REQ_ERR, AsyncKind::kQpError},
      {IBV_EVENT_QP_ACCESS_ERR, AsyncKind::kQpError},
      {IBV_EVENT_PORT_ERR, AsyncKind::kPortError},
      {IBV_EVENT_PORT_ACTIVE, AsyncKind::kPortActive},
      {IBV_EVENT_GID_CHANGE, AsyncKind::kAddressChange},
      {IBV_EVENT_LID_CHANGE, AsyncKind::kAddressChange},
      {IBV_EVENT_PKEY_CHANGE, AsyncKind::kAddressChange},
      {IBV_EVENT_SM_CHANGE, AsyncKind::kAddressChange},
      {IBV_EVENT_COMM_EST, AsyncKind::kOther},
      {IBV_EVENT_QP_LAST_WQE_REACHED, AsyncKind::kOther},
      {IBV_EVENT_CLIENT_REREGISTER, AsyncKind::kOther},
  };
  for (const auto& row : rows) EXPECT_EQ(ToAsyncKind(row.type), row.kind) << row.type;
}

}  // namespace
}  // namespace reigen::transport::rdma
