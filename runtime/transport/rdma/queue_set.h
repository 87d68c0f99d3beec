// All queues of one link, their memory and their way to the peer.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_QUEUE_SET_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_QUEUE_SET_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/transport/rdma/control_queue.h"
#include "runtime/transport/rdma/data_writer.h"
#include "runtime/transport/rdma/path.h"
#include "runtime/transport/rdma/rdma_context.h"
#include "runtime/transport/rdma/resources.h"
#include "runtime/transport/rdma/setup.h"
#include "runtime/transport/rdma/work_queue.h"

namespace reigen::transport::rdma {

// Queue 0 is for control, on the first pair of rails; 1 and above are for data, over
// the pairs that PlaceQueues() found. Each rail has one completion queue that holds all its queue
// pairs can have posted.
//
// Made whole or not at all; when it goes, no byte of the link moves any more.
//
// Threads: one owner.
class QueueSet {
 public:
  // With all receives posted: at least as many as the peer may use up before it is
  // told of new ones.
  static StatusOr<std::unique_ptr<QueueSet>> Make(RdmaContext& context, const Offer& local,
                                                  const Offer& remote);

  Queues addresses() const;
  Status Connect(const Queues& remote, const std::string& local_name,
                 const std::string& remote_name);

  ControlQueue& control() { return *control_; }
  DataWriter& writer() { return *writer_; }

  // Takes completions; counts them off.
  StatusOr<size_t> Poll(std::span<WorkCompletion> out);
  Status Arm();
  // The first queue that WorkQueue::Unanswered() is true of.
  std::optional<uint8_t> Unanswered(Time now, Duration limit);
  bool sends_out() const;
  // The receive behind a notice, again.
  Status PostDataReceive(uint8_t queue);

  // The fence (R7): every queue pair goes to the error state; once drained(), nothing
  // of them is out.
  Status SetError();
  bool drained() const;

  // The first queue that a fatal event of the device is about, if any is.
  std::optional<uint8_t> Hit(const Device& device, const AsyncEvent& event) const;
  size_t local_rail(uint8_t queue) const { return static_cast<size_t>(pairs_[queue].local); }
  uint8_t data_rails() const;  // of this host, that have a queue for data; by bit
  // "anna (rxe0 10.0.0.1) -> bert (rxe1 10.0.0.2)", of a queue.
  const std::string& path(uint8_t queue) const { return paths_[queue]; }
  std::string Summary() const;  // for the log

 private:
  QueueSet(RdmaContext& context, const Offer& local, const Offer& remote)
      : context_(context), local_(local), remote_(remote) {}

  Status MakeQueues();
  Status MakeControl();
  Status PostDataReceives(uint8_t queue);
  PathAttributes PathOf(size_t queue, const QueueAddress& there) const;
  size_t data_queues() const { return pairs_.size() - 1; }

  RdmaContext& context_;
  const Offer local_;
  const Offer remote_;
  std::vector<RailPair> pairs_;  // by queue
  std::vector<uint32_t> psns_;   // by queue
  std::vector<std::string> paths_;
  Pages control_memory_;
  size_t next_poll_ = 0;  // rail to be asked first
  // The queue pairs go first: they use all the others, and the memory that the
  // writer holds.
  std::unique_ptr<MemoryRegion> control_region_;
  std::vector<std::unique_ptr<CompletionQueue>> completions_;  // by rail; null if unused
  std::unique_ptr<ControlQueue> control_;
  std::unique_ptr<DataWriter> writer_;
  std::vector<WorkQueue> queues_;
};

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_QUEUE_SET_H_
