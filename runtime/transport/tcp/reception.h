// Where peers call: listeners, the callers that have to prove themselves, and the
// sockets of peers whose Link is not here yet.
#ifndef REIGEN_RUNTIME_TRANSPORT_TCP_RECEPTION_H_
#define REIGEN_RUNTIME_TRANSPORT_TCP_RECEPTION_H_

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/base/unique_fd.h"
#include "runtime/transport/tcp/greeting.h"
#include "runtime/transport/tcp/handshake.h"
#include "runtime/transport/tcp/poller.h"
#include "runtime/transport/tcp/socket.h"

namespace reigen::transport {

//   caller --proof within kGreetingDeadline--> parked, until all channels of its
//     session are here and Take(host) comes; a newer session replaces an older one
//
// A caller that fails is dropped with a line in the log that names its address;
// nothing else is disturbed.
//
// Threads: one owner.
class Reception {
 public:
  Reception(Poller* poller, const Identity& identity) : poller_(*poller), identity_(identity) {}

  // Listens on the address (a literal one), and no other. endpoints() begin with
  // the scheme.
  Status Open(const std::string& scheme, const std::string& address, const PortRange& ports);
  std::vector<std::string> endpoints() const;

  void Progress(Time now);
  std::optional<Time> NextDeadline() const;

  // The sockets of the link to `host`, by channel, once all are here; the peer is
  // told that they are in use.
  std::optional<std::vector<UniqueFd>> Take(int host);

 private:
  struct Listener {
    UniqueFd fd;
    Poller::Watch watch;
    std::string endpoint;
  };
  struct Caller {
    std::unique_ptr<Greeting> greeting;
    AcceptHandshake* handshake = nullptr;  // of the greeting
    Poller::Watch watch;
    std::string name;
    Time deadline;
    bool ready = true;
  };
  struct Session {
    uint64_t id = 0;
    std::vector<UniqueFd> channels;
    size_t present = 0;
  };

  void Accept(Listener& listener, Time now);
  void AddCaller(UniqueFd fd, Time now);
  void Park(Caller& caller);
  void LogDropped(const std::string& why, const std::string& name, Time now);
  Status WatchListener(Listener& listener);

  Poller& poller_;
  const Identity identity_;
  std::list<Listener> listeners_;
  std::list<Caller> callers_;  // oldest first
  std::map<int, Session> parked_;
  bool calls_ = false;  // some listener has one
  std::optional<Time> paused_until_;

  Time log_second_{};  // lines written since, and those that were not
  int lines_ = 0;
  int unwritten_ = 0;
};

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_TCP_RECEPTION_H_
