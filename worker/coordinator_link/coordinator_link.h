// The stream to the coordinator.
#ifndef REIGEN_WORKER_COORDINATOR_LINK_COORDINATOR_LINK_H_
#define REIGEN_WORKER_COORDINATOR_LINK_COORDINATOR_LINK_H_

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "proto/control/control.pb.h"
#include "runtime/base/clock.h"

namespace reigen::worker {

// --- what comes from the stream --------------------------------------------------
struct LinkWelcome { control::Welcome welcome; };  // both sides have proved the secret
struct LinkMessage { control::CoordinatorMessage message; };
struct LinkIdle {};                                // asked for by idle()
struct LinkBroken { std::string reason; };         // the last event
using LinkEvent = std::variant<LinkWelcome, LinkMessage, LinkIdle, LinkBroken>;

//   Hello --> Challenge: checks it --> Proof --> Welcome --> open --> broken
//
// Threads: one owner; gRPC's threads put events into a mailbox.
// Buffers: messages that wait for the stream are queued here: heartbeats and what the
//          owner sends while not idle().
// Errors:  a coordinator that does not know the secret, refuses, or goes away: one
//          LinkBroken with the reason.
class CoordinatorLink {
 public:
  struct Options {
    std::string address;  // "ADDRESS:PORT", "[V6]:PORT"
    std::string secret;
    int host = 0;
    // Data that the coordinator's machine does not acknowledge for so long: broken.
    Duration silence = seconds(8);
  };

  // Begins at once.
  explicit CoordinatorLink(const Options& options);
  // Cancels the stream; waits until gRPC has let go of it (no peer is waited for).
  ~CoordinatorLink();

  int event_fd() const;
  std::vector<LinkEvent> Take();

  // After LinkWelcome.
  void Send(control::WorkerMessage message);
  // Nothing is being written. If not, a LinkIdle comes when it is so.
  bool idle();

 private:
  class Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_COORDINATOR_LINK_COORDINATOR_LINK_H_
