// Sockets closed here that may still carry what was sent before.
#ifndef REIGEN_RUNTIME_TRANSPORT_TCP_FAREWELL_H_
#define REIGEN_RUNTIME_TRANSPORT_TCP_FAREWELL_H_

#include <list>
#include <optional>

#include "runtime/base/clock.h"
#include "runtime/base/unique_fd.h"
#include "runtime/transport/tcp/poller.h"

namespace reigen::transport {

// A socket closed with unread bytes is reset, and the peer may lose what it has
// not read yet. So: no more sending, read until the peer closes too, or until
// kFarewellDeadline.
//
// Threads: one owner.
class Farewell {
 public:
  explicit Farewell(Poller* poller) : poller_(*poller) {}

  void Add(UniqueFd fd, Time now);
  void Progress(Time now);
  std::optional<Time> NextDeadline() const;

 private:
  struct Leaving {
    UniqueFd fd;
    Poller::Watch watch;
    Time deadline;
    bool ready = true;
  };

  Poller& poller_;
  std::list<Leaving> leaving_;  // oldest first
};

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_TCP_FAREWELL_H_
