// libibverbs' regions and queues behind our interfaces.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_REAL_QUEUES_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_REAL_QUEUES_H_

#include <infiniband/verbs.h>

#include <memory>

#include "runtime/transport/rdma/verbs.h"

namespace reigen::transport::rdma {

class RealRegion final : public MemoryRegion {
 public:
  explicit RealRegion(ibv_mr* mr) : mr_(mr) {}
  ~RealRegion() override;
  uint32_t local_key() const override { return mr_->lkey; }
  uint32_t remote_key() const override { return mr_->rkey; }

 private:
  ibv_mr* const mr_;
};

class RealCompletionQueue final : public CompletionQueue {
 public:
  explicit RealCompletionQueue(ibv_cq* cq) : cq_(cq) {}
  ~RealCompletionQueue() override;
  uint32_t number() const override { return cq_->handle; }
  StatusOr<size_t> Poll(std::span<WorkCompletion> out) override;
  Status Arm() override;
  ibv_cq* get() { return cq_; }

 private:
  ibv_cq* const cq_;
};

class RealQueuePair final : public QueuePair {
 public:
  static StatusOr<std::unique_ptr<RealQueuePair>> Create(ibv_pd* pd, ibv_cq* cq,
                                                         const QpLimits& limits, uint8_t port,
                                                         uint16_t pkey_index);
  ~RealQueuePair() override;
  uint32_t number() const override { return qp_->qp_num; }
  uint32_t inline_bytes() const override { return inline_bytes_; }
  Posted PostSend(std::span<const SendWork> work) override;
  Posted PostReceive(std::span<const ReceiveWork> work) override;
  Status Connect(const PathAttributes& path) override;
  Status SetError() override;

 private:
  RealQueuePair(ibv_qp* qp, uint32_t inline_bytes) : qp_(qp), inline_bytes_(inline_bytes) {}
  Status Modify(ibv_qp_attr& attributes, int mask, const char* what);

  ibv_qp* const qp_;
  const uint32_t inline_bytes_;
};

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_REAL_QUEUES_H_
