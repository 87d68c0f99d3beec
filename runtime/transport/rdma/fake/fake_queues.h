// The fake's queues.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_FAKE_FAKE_QUEUES_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_FAKE_FAKE_QUEUES_H_

#include <deque>

#include "runtime/transport/rdma/fake/fake_fabric.h"

namespace reigen::transport::rdma {

class FakeCompletionQueue final : public CompletionQueue {
 public:
  FakeCompletionQueue(FakeFabric* fabric, FakeDeviceState* device, size_t entries);
  ~FakeCompletionQueue() override;
  uint32_t number() const override { return number_; }
  StatusOr<size_t> Poll(std::span<WorkCompletion> out) override;
  Status Arm() override;
  // `before`: what is there once this is polled.
  void Push(const WorkCompletion& completion, std::vector<FakeWrite> before = {});
  FakeDeviceState& device() { return device_; }

 private:
  struct Entry {
    WorkCompletion completion;
    std::vector<FakeWrite> before;
  };

  FakeFabric& fabric_;
  FakeDeviceState& device_;
  const size_t entries_;
  const uint32_t number_;
  std::deque<Entry> completions_;
  bool armed_ = false;
};

class FakeQueuePair final : public QueuePair {
 public:
  enum class State { kInit, kConnected, kError };

  FakeQueuePair(FakeFabric* fabric, FakeCompletionQueue* queue, const QpLimits& limits);
  ~FakeQueuePair() override;
  uint32_t number() const override { return number_; }
  uint32_t inline_bytes() const override { return limits_.inline_bytes; }
  Posted PostSend(std::span<const SendWork> work) override;
  Posted PostReceive(std::span<const ReceiveWork> work) override;
  Status Connect(const PathAttributes& path) override;
  Status SetError() override;

 private:
  friend class FakeFabric;
  void CompleteSend(const SendWork& work, WorkStatus status);
  void CompleteReceive(const WorkCompletion& completion);
  void Break();

  FakeFabric& fabric_;
  FakeCompletionQueue& queue_;
  FakeDeviceState& device_;
  const QpLimits limits_;
  const uint32_t number_;
  State state_ = State::kInit;
  PathAttributes path_;
  std::deque<ReceiveWork> receives_;
  std::vector<FakeWrite> written_;  // by the peer, no receive behind it has ended
  size_t sends_out_ = 0;  // whose completion was not polled; as in hardware
};

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_FAKE_FAKE_QUEUES_H_
