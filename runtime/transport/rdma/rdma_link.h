// A link over RDMA.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_RDMA_LINK_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_RDMA_LINK_H_

#include <memory>
#include <optional>
#include <string>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/transport/link.h"
#include "runtime/transport/link_core.h"
#include "runtime/transport/rdma/connector.h"
#include "runtime/transport/rdma/landings.h"
#include "runtime/transport/rdma/loopback.h"
#include "runtime/transport/rdma/queue_set.h"
#include "runtime/transport/rdma/rdma_context.h"
#include "runtime/transport/rdma/rdma_limits.h"
#include "runtime/transport/rdma/side_channel.h"
#include "runtime/transport/rdma/work_queue.h"

namespace reigen::transport::rdma {

// What LinkCore says travels like this: frames and messages up to kEagerBytes on the
// control queue; a credit with the place where the receive lies; large data, and all from
// or to a GPU's memory, as writes to that place, ended by immediate values that name the
// credit's slot, one on each queue pair that wrote (Landings). What was written to a GPU
// is read back, where its memory needs that, before the receive ends (Loopback).
//
//   connecting --> ready --peer or path lost--> draining --> ended
//        \_____________\______ Close() _______/
//
// Draining is the fence (R7): no post ends, and so no buffer goes back to its owner,
// before every queue pair is in the error state and has given back all that was
// posted (or was destroyed, after kDrainDeadline). What had come before still counts
// when it was the other end that closed. If nothing was under way then, that is how a job
// ends, and no warning.
//
// Threads: one owner.
class RdmaLink : public Link {
 public:
  RdmaLink(RdmaContext* context, const Peer& peer);
  ~RdmaLink() override;

  Status PostSend(std::span<const std::byte> data, const Tag& tag, uint64_t cookie) override;
  Status PostRecv(std::span<std::byte> data, const Tag& tag, uint64_t cookie) override;
  size_t Poll(std::span<Completion> out) override { return core_.Poll(out); }
  void Close() override;
  Status error() const override { return why_.ok() ? core_.status() : why_; }

  void Progress(Time now);
  std::optional<Time> NextDeadline() const;

  // Completions have come to some armed queue of a rail that this link may use.
  void Disarmed() { armed_ = false; }
  void OnAsyncEvent(const Device& device, const AsyncEvent& event);

 private:
  enum class State { kConnecting, kReady, kDraining, kEnded };

  void Connecting(Time now);
  void Move(Time now);
  Status TakeCompletions(Time now);
  Status OnCompletion(const WorkCompletion& completion);
  Status OnBadCompletion(const WorkId& id, const WorkCompletion& completion);
  Status ReadEvent(const Device& device, const AsyncEvent& event);
  std::string PathOf(const WorkId& id) const;
  Status Handle(const WorkId& id, const WorkCompletion& completion);
  Status OnControl(uint64_t slot, uint32_t bytes);
  Status OnControlFrame(const ControlQueue::Received& received);
  Status OnNotice(uint8_t queue, uint32_t immediate);
  Status OnAnnounced(const Frame& frame);
  Status OnLanded(const Landings::Landed& landed);
  void OnLocal(const WorkId& id);
  Status OnDataSent(uint8_t queue, uint64_t message);
  Status CheckAnswers(Time now);
  Duration silence_limit() const { return kSilentBudgets * context_.options.retry_budget; }
  StatusOr<size_t> PollQueues(std::span<WorkCompletion> out);
  Status Arm();
  Status PushOut();
  Status Push();
  Status PushLocal();
  Status SendFrame(const OutFrame& out);
  StatusOr<Place> Grant(const OutFrame& out);
  Status WriteData(const OutFrame& out);
  void TellIfFar(const Registration& source, const Place& target);

  void Drain(const Status& why, bool closed_here);
  void Draining(Time now);
  bool Drained();
  void End();
  bool busy() const;
  Loopback& local();
  Owner OwnerOf(std::span<const std::byte> data) const;

  RdmaContext& context_;
  const Peer peer_;
  LinkCore core_;
  State state_ = State::kConnecting;
  std::unique_ptr<Connector> connector_;
  std::unique_ptr<SideChannel> side_;
  std::unique_ptr<QueueSet> queues_;
  std::unique_ptr<Loopback> local_;  // null until needed
  Landings landings_;
  std::deque<Frame> announcements_;  // of data that is written, to go behind its RTS
  Status why_;                       // it ends
  bool closed_here_ = false;
  bool closed_there_ = false;  // without a reason
  Time drain_deadline_;
  Time spin_until_{};
  bool armed_ = false;
  bool told_far_ = false;
  bool unfinished_ = false;  // Progress() left something to do
};

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_RDMA_LINK_H_
