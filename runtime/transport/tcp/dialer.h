// Calls a peer until the sockets of a link to it are there.
#ifndef REIGEN_RUNTIME_TRANSPORT_TCP_DIALER_H_
#define REIGEN_RUNTIME_TRANSPORT_TCP_DIALER_H_

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
#include "runtime/transport/link.h"
#include "runtime/transport/tcp/greeting.h"
#include "runtime/transport/tcp/handshake.h"
#include "runtime/transport/tcp/poller.h"
#include "runtime/transport/tcp/tcp_limits.h"

namespace reigen::transport {

// One address at a time, in the order given:
//
//   address --socket 0 proved--> all sockets to it, one session --> all welcome
//        \--refused, silent for kAttemptDeadline, wrong secret--> next address;
//           after the last one the first again, kRedialFirst later, then more
//
// A peer that has proved itself may take as long as it likes to welcome.
//
// Threads: one owner.
class Dialer {
 public:
  struct Options {
    Identity identity;
    std::string scheme;  // only addresses of this are called
    int channels = 1;
    std::string scope;  // interface for link-local addresses; the peer's name for it
                        // says nothing here
  };
  Dialer(Poller* poller, const Options& options, const Peer& peer);

  // The sockets by channel, once all are welcome.
  std::optional<std::vector<UniqueFd>> Progress(Time now);
  std::optional<Time> NextDeadline() const;

  // Why each address did not answer, for an error message.
  std::string Failures() const;

 private:
  struct Attempt {
    std::unique_ptr<Greeting> greeting;
    DialHandshake* handshake = nullptr;  // of the greeting
    Poller::Watch watch;
    bool connected = false;
    bool ready = false;
  };

  Status Advance(Time now);
  Status Begin(uint16_t channel);
  void GiveUp(const Status& why, Time now);
  bool AllAuthentic() const;

  Poller& poller_;
  const Options options_;
  const Peer peer_;
  std::vector<std::string> addresses_;
  size_t at_ = 0;  // the address being tried
  uint64_t session_ = 0;
  std::list<Attempt> attempts_;  // by channel
  Time attempt_deadline_;
  Time retry_at_{};
  Duration pause_ = kRedialFirst;
  std::map<std::string, std::string> failures_;  // by address
};

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_TCP_DIALER_H_
