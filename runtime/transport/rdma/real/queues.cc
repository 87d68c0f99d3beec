#include "runtime/transport/rdma/real/queues.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "runtime/transport/rdma/real/destroyed.h"
#include "runtime/transport/rdma/real/translate.h"

namespace reigen::transport::rdma {
namespace {

// Work requests given to the library at once.
constexpr size_t kChain = 32;
constexpr size_t kPollBatch = 32;

// What nearly every device can inline, and enough for most frames.
constexpr uint32_t kFewInlineBytes = 64;

// 0.64 ms until a sender that met no receive tries again. It never does.
constexpr uint8_t kMinRnrTimer = 12;
constexpr uint8_t kHopLimit = 64;

ibv_sge ToSge(const Segment& segment) {
  return {reinterpret_cast<uint64_t>(segment.address), segment.bytes, segment.local_key};
}

constexpr char kToRtr[] =
    "RTR (the peer's address cannot be reached, or the GID has gone; --rdma-devices names other "
    "ports, --transport tcp goes without)";

}  // namespace

RealRegion::~RealRegion() { CheckDestroyed(ibv_dereg_mr(mr_), "ibv_dereg_mr"); }

RealCompletionQueue::~RealCompletionQueue() {
  CheckDestroyed(ibv_destroy_cq(cq_), "ibv_destroy_cq");
}

StatusOr<size_t> RealCompletionQueue::Poll(std::span<WorkCompletion> out) {
  std::array<ibv_wc, kPollBatch> batch;
  size_t count = 0;
  while (count < out.size()) {
    const size_t most = std::min(batch.size(), out.size() - count);
    const int got = ibv_poll_cq(cq_, static_cast<int>(most), batch.data());
    if (got < 0) return Unavailable("ibv_poll_cq failed");
    for (int i = 0; i < got; ++i) {
      out[count++] = FromWorkCompletion(batch[static_cast<size_t>(i)]);
    }
    if (static_cast<size_t>(got) < most) break;
  }
  return count;
}

Status RealCompletionQueue::Arm() {
  const int error = ibv_req_notify_cq(cq_, /*solicited_only=*/0);
  return error == 0 ? OkStatus() : ErrnoStatus(StatusCode::kUnavailable, "ibv_req_notify_cq", error);
}

StatusOr<std::unique_ptr<RealQueuePair>> RealQueuePair::Create(ibv_pd* pd, ibv_cq* cq,
                                                               const QpLimits& limits,
                                                               uint8_t port, uint16_t pkey_index) {
  ibv_qp* qp = nullptr;
  // A device that cannot inline so much is asked for less, then for nothing.
  for (const uint32_t inline_bytes :
       {limits.inline_bytes, std::min(limits.inline_bytes, kFewInlineBytes), 0u}) {
    ibv_qp_init_attr init{};
    init.send_cq = cq;
    init.recv_cq = cq;
    init.qp_type = IBV_QPT_RC;
    init.sq_sig_all = 1;
    init.cap.max_send_wr = limits.send_wrs;
    init.cap.max_recv_wr = limits.receive_wrs;
    init.cap.max_send_sge = 1;
    init.cap.max_recv_sge = 1;
    init.cap.max_inline_data = inline_bytes;
    qp = ibv_create_qp(pd, &init);
    if (qp == nullptr) continue;
    std::unique_ptr<RealQueuePair> pair(new RealQueuePair(qp, init.cap.max_inline_data));
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.pkey_index = pkey_index;
    attributes.port_num = port;
    attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    if (limits.remote_read) attributes.qp_access_flags |= IBV_ACCESS_REMOTE_READ;
    REIGEN_RETURN_IF_ERROR(pair->Modify(
        attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "INIT"));
    return pair;
  }
  return ErrnoStatus(ToCode(errno), "ibv_create_qp");
}

RealQueuePair::~RealQueuePair() { CheckDestroyed(ibv_destroy_qp(qp_), "ibv_destroy_qp"); }

Status RealQueuePair::Modify(ibv_qp_attr& attributes, int mask, const char* what) {
  const int error = ibv_modify_qp(qp_, &attributes, mask);
  if (error == 0) return OkStatus();
  return ErrnoStatus(StatusCode::kUnavailable, std::string("ibv_modify_qp to ") + what, error);
}

Status RealQueuePair::Connect(const PathAttributes& path) {
  ibv_qp_attr ready{};
  ready.qp_state = IBV_QPS_RTR;
  REIGEN_ASSIGN_OR_RETURN(ready.path_mtu, ToMtu(path.mtu_bytes));
  ready.dest_qp_num = path.remote_qp;
  ready.rq_psn = path.remote_psn;
  ready.max_dest_rd_atomic = 1;
  ready.min_rnr_timer = kMinRnrTimer;
  ready.ah_attr.port_num = path.port;
  ready.ah_attr.dlid = path.remote_lid;
  ready.ah_attr.sl = path.service_level;
  ready.ah_attr.is_global = path.global ? 1 : 0;
  std::memcpy(ready.ah_attr.grh.dgid.raw, path.remote_gid.bytes.data(), path.remote_gid.bytes.size());
  ready.ah_attr.grh.sgid_index = path.gid_index;
  ready.ah_attr.grh.hop_limit = kHopLimit;
  ready.ah_attr.grh.traffic_class = path.traffic_class;
  REIGEN_RETURN_IF_ERROR(Modify(ready,
                                IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                                kToRtr));
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.timeout = path.timeout_exponent;
  send.retry_cnt = path.retries;
  send.rnr_retry = path.rnr_retries;
  send.sq_psn = path.local_psn;
  send.max_rd_atomic = 1;
  return Modify(send,
                IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
                "RTS");
}

Status RealQueuePair::SetError() {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  return Modify(attributes, IBV_QP_STATE, "ERR");
}

Posted RealQueuePair::PostSend(std::span<const SendWork> work) {
  Posted posted;
  while (posted.error == 0 && posted.count < work.size()) {
    const auto part = work.subspan(posted.count, std::min(kChain, work.size() - posted.count));
    std::array<ibv_send_wr, kChain> requests;
    std::array<ibv_sge, kChain> segments;
    for (size_t i = 0; i < part.size(); ++i) {
      segments[i] = ToSge(part[i].local);
      ibv_send_wr& request = requests[i] = {};
      request.wr_id = part[i].id;
      request.next = i + 1 < part.size() ? &requests[i + 1] : nullptr;
      request.sg_list = &segments[i];
      request.num_sge = part[i].local.bytes > 0 ? 1 : 0;
      request.opcode = ToOpcode(part[i].opcode);
      request.send_flags = part[i].inlined ? IBV_SEND_INLINE : 0;
      request.imm_data = htonl(part[i].immediate);
      request.wr.rdma.remote_addr = part[i].remote_address;
      request.wr.rdma.rkey = part[i].remote_key;
    }
    ibv_send_wr* bad = nullptr;
    posted.error = ibv_post_send(qp_, requests.data(), &bad);
    posted.count += posted.error == 0 ? part.size() : static_cast<size_t>(bad - requests.data());
  }
  return posted;
}

Posted RealQueuePair::PostReceive(std::span<const ReceiveWork> work) {
  Posted posted;
  while (posted.error == 0 && posted.count < work.size()) {
    const auto part = work.subspan(posted.count, std::min(kChain, work.size() - posted.count));
    std::array<ibv_recv_wr, kChain> requests;
    std::array<ibv_sge, kChain> segments;
    for (size_t i = 0; i < part.size(); ++i) {
      segments[i] = ToSge(part[i].local);
      requests[i] = {};
      requests[i].wr_id = part[i].id;
      requests[i].next = i + 1 < part.size() ? &requests[i + 1] : nullptr;
      requests[i].sg_list = &segments[i];
      requests[i].num_sge = part[i].local.bytes > 0 ? 1 : 0;
    }
    ibv_recv_wr* bad = nullptr;
    posted.error = ibv_post_recv(qp_, requests.data(), &bad);
    posted.count += posted.error == 0 ? part.size() : static_cast<size_t>(bad - requests.data());
  }
  return posted;
}

}  // namespace reigen::transport::rdma
