// Makes a link: from a peer's addresses to queue pairs that both ends have connected.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_CONNECTOR_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_CONNECTOR_H_

#include <memory>
#include <optional>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/base/unique_fd.h"
#include "runtime/transport/link.h"
#include "runtime/transport/rdma/queue_set.h"
#include "runtime/transport/rdma/rdma_context.h"
#include "runtime/transport/rdma/setup.h"
#include "runtime/transport/rdma/side_channel.h"
#include "runtime/transport/tcp/dialer.h"

namespace reigen::transport::rdma {

//   calling --socket--> opening --ports can be used--> offered --the peer's Offer-->
//     made --its Queues--> connected --its Ready--> done
//
// The lower host number dials, the other looks whether the socket has come; then
// both do the same. A port that is down just now, or has no address, is waited for: a flap
// that links live through keeps none from being made. After a sixth of the deadline the link
// does without it, if there are others; if not, this end gives up that much before the other may,
// which so hears why. Links that wait read the ports together.
//
// Threads: one owner.
// Errors:  what the two ends cannot agree on; the peer is told with a Bye.
class Connector {
 public:
  Connector(RdmaContext* context, const Peer& peer);

  // True once done: take queues() and side_channel().
  StatusOr<bool> Progress(Time now);
  std::optional<Time> NextDeadline() const;

  std::unique_ptr<QueueSet> TakeQueues() { return std::move(queues_); }
  std::unique_ptr<SideChannel> TakeSideChannel() { return std::move(side_); }

 private:
  enum class State { kCalling, kOpening, kOffered, kMade, kConnected, kDone };

  Status Call(Time now);
  Status Open(Time now);
  size_t Refresh(Time now);
  Duration patience() const;
  Status OnMessage(const SetupMessage& message);
  Status OnOffer(const Offer& offer);
  Status OnQueues(const Queues& queues);
  Status TellPeer(const Status& why);
  Status TooLate() const;

  RdmaContext& context_;
  const Peer peer_;
  State state_ = State::kCalling;
  std::optional<Time> began_;
  std::unique_ptr<Dialer> dialer_;  // of the lower host
  UniqueFd socket_;                 // while opening
  Time retry_at_{};                 // then
  Status not_usable_;               // of a port, then
  Offer offer_;
  std::unique_ptr<SideChannel> side_;
  std::unique_ptr<QueueSet> queues_;
};

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_CONNECTOR_H_
