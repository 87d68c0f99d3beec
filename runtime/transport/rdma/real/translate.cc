#include "runtime/transport/rdma/real/translate.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

namespace reigen::transport::rdma {
namespace {

static_assert(static_cast<int>(WorkStatus::kSuccess) == IBV_WC_SUCCESS);
static_assert(static_cast<int>(WorkStatus::kFlushed) == IBV_WC_WR_FLUSH_ERR);
static_assert(static_cast<int>(WorkStatus::kRemoteAccess) == IBV_WC_REM_ACCESS_ERR);
static_assert(static_cast<int>(WorkStatus::kRetryExceeded) == IBV_WC_RETRY_EXC_ERR);
static_assert(static_cast<int>(WorkStatus::kRnrRetryExceeded) == IBV_WC_RNR_RETRY_EXC_ERR);
static_assert(static_cast<int>(WorkStatus::kGeneral) == IBV_WC_GENERAL_ERR);
static_assert(kWorkStatuses == IBV_WC_TM_RNDV_INCOMPLETE + 1);
static_assert(static_cast<int>(GidType::kRoceV1) == IBV_GID_TYPE_ROCE_V1);
static_assert(static_cast<int>(GidType::kRoceV2) == IBV_GID_TYPE_ROCE_V2);

// Gbit/s of one lane, by the bit of active_speed.
double LaneSpeed(uint8_t speed) {
  switch (speed) {
    case 1:
      return 2.5;
    case 2:
      return 5;
    case 4:
    case 8:
      return 10;
    case 16:
      return 14;
    case 32:
      return 25;
    case 64:
      return 50;
    case 128:
      return 100;
    default:
      return 0;
  }
}

int Lanes(uint8_t width) {
  switch (width) {
    case 1:
      return 1;
    case 2:
      return 4;
    case 4:
      return 8;
    case 8:
      return 12;
    case 16:
      return 2;
    default:
      return 0;
  }
}

LinkLayer ToLayer(uint8_t layer) {
  switch (layer) {
    case IBV_LINK_LAYER_INFINIBAND:
      return LinkLayer::kInfiniBand;
    case IBV_LINK_LAYER_ETHERNET:
      return LinkLayer::kEthernet;
    default:
      return LinkLayer::kUnspecified;
  }
}

void ReadPkeys(ibv_context* context, int most, PortInfo& port) {
  for (int i = 0; i < most; ++i) {
    __be16 pkey = 0;
    if (ibv_query_pkey(context, port.number, i, &pkey) != 0) break;
    port.pkeys.push_back(ntohs(pkey));
  }
}

void ReadGids(ibv_context* context, size_t most, DeviceInfo& device) {
  std::vector<ibv_gid_entry> entries(most);
  const ssize_t count = ibv_query_gid_table(context, entries.data(), entries.size(), 0);
  for (ssize_t i = 0; i < count; ++i) {
    const ibv_gid_entry& entry = entries[static_cast<size_t>(i)];
    for (PortInfo& port : device.ports) {
      if (port.number != entry.port_num) continue;
      GidEntry& gid = port.gids.emplace_back();
      gid.index = static_cast<int>(entry.gid_index);
      std::memcpy(gid.gid.bytes.data(), entry.gid.raw, gid.gid.bytes.size());
      gid.type = static_cast<GidType>(entry.gid_type);
    }
  }
}

}  // namespace

Status CheckProtocol(const ibv_device& device) {
  if (device.transport_type == IBV_TRANSPORT_IB && device.node_type == IBV_NODE_CA) {
    return OkStatus();
  }
  return FailedPrecondition("it speaks neither InfiniBand nor RoCE, but " +
                            std::string(device.transport_type == IBV_TRANSPORT_IWARP
                                            ? "iWARP"
                                            : "a protocol of its own") +
                            ", which links do not");
}

PortInfo FromPort(uint8_t number, const ibv_port_attr& attributes) {
  PortInfo port;
  port.number = number;
  port.active = attributes.state == IBV_PORT_ACTIVE;
  port.state = ibv_port_state_str(attributes.state);
  port.layer = ToLayer(attributes.link_layer);
  port.active_mtu_bytes = 128u << attributes.active_mtu;
  port.max_message_bytes = attributes.max_msg_sz;
  port.lid = attributes.lid;
  port.global_only = (attributes.flags & IBV_QPF_GRH_REQUIRED) != 0;
  port.gbits_per_s = LaneSpeed(attributes.active_speed) * Lanes(attributes.active_width);
  return port;
}

StatusOr<DeviceInfo> QueryDevice(ibv_context* context) {
  DeviceInfo device;
  device.name = ibv_get_device_name(context->device);
  ibv_device_attr attributes{};
  if (const int error = ibv_query_device(context, &attributes); error != 0) {
    return ErrnoStatus(StatusCode::kUnavailable, "ibv_query_device " + device.name, error);
  }
  device.max_qp_wrs = static_cast<uint32_t>(attributes.max_qp_wr);
  device.max_cqes = static_cast<uint32_t>(attributes.max_cqe);
  device.max_region_bytes = attributes.max_mr_size;
  size_t gids = 0;
  for (uint8_t number = 1; number <= attributes.phys_port_cnt; ++number) {
    ibv_port_attr port{};
    if (const int error = ibv_query_port(context, number, &port); error != 0) {
      return ErrnoStatus(StatusCode::kUnavailable, "ibv_query_port " + device.name, error);
    }
    gids += static_cast<size_t>(std::max(port.gid_tbl_len, 0));
    device.ports.push_back(FromPort(number, port));
    ReadPkeys(context, port.pkey_tbl_len, device.ports.back());
  }
  ReadGids(context, gids, device);
  return device;
}

WorkCompletion FromWorkCompletion(const ibv_wc& wc) {
  WorkCompletion completion;
  completion.id = wc.wr_id;
  completion.status = wc.status < kWorkStatuses ? static_cast<WorkStatus>(wc.status)
                                                : WorkStatus::kGeneral;
  completion.qp_number = wc.qp_num;
  completion.vendor_error = wc.vendor_err;
  if (wc.status != IBV_WC_SUCCESS) return completion;
  completion.bytes = wc.byte_len;
  switch (wc.opcode) {
    case IBV_WC_RECV_RDMA_WITH_IMM:
      completion.opcode = Opcode::kReceiveWithImm;
      completion.immediate = ntohl(wc.imm_data);
      break;
    case IBV_WC_RECV:
      completion.opcode = Opcode::kReceive;
      break;
    case IBV_WC_RDMA_WRITE:
      completion.opcode = Opcode::kWrite;
      break;
    case IBV_WC_RDMA_READ:
      completion.opcode = Opcode::kRead;
      break;
    default:
      completion.opcode = Opcode::kSend;
      break;
  }
  return completion;
}

ibv_wr_opcode ToOpcode(Opcode opcode) {
  if (opcode == Opcode::kWrite) return IBV_WR_RDMA_WRITE;
  if (opcode == Opcode::kWriteWithImm) return IBV_WR_RDMA_WRITE_WITH_IMM;
  if (opcode == Opcode::kRead) return IBV_WR_RDMA_READ;
  return IBV_WR_SEND;
}

StatusOr<ibv_mtu> ToMtu(uint32_t bytes) {
  for (int mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; ++mtu) {
    if (bytes == 128u << mtu) return static_cast<ibv_mtu>(mtu);
  }
  return InvalidArgument("no path MTU has " + std::to_string(bytes) + " bytes");
}

AsyncKind ToAsyncKind(ibv_event_type type) {
  switch (type) {
    case IBV_EVENT_DEVICE_FATAL:
      return AsyncKind::kDeviceFatal;
    case IBV_EVENT_CQ_ERR:
      return AsyncKind::kCqError;
    case IBV_EVENT_QP_FATAL:
      return AsyncKind::kQpFatal;
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
      return AsyncKind::kQpError;
    case IBV_EVENT_PORT_ERR:
      return AsyncKind::kPortError;
    case IBV_EVENT_PORT_ACTIVE:
      return AsyncKind::kPortActive;
    case IBV_EVENT_GID_CHANGE:
    case IBV_EVENT_LID_CHANGE:
    case IBV_EVENT_PKEY_CHANGE:
    case IBV_EVENT_SM_CHANGE:
      return AsyncKind::kAddressChange;
    default:
      return AsyncKind::kOther;
  }
}

int ToAccessFlags(Access access) {
  switch (access) {
    case Access::kLocal:
      return IBV_ACCESS_LOCAL_WRITE;
    case Access::kRemote:
      return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    case Access::kRelaxed:
      return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_RELAXED_ORDERING;
  }
  return 0;
}

StatusCode ToCode(int error) {
  return error == ENOMEM ? StatusCode::kResourceExhausted : StatusCode::kInternal;
}

}  // namespace reigen::transport::rdma
