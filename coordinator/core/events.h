// What happens to the coordinator's core, and what it wants done.
#ifndef REIGEN_COORDINATOR_CORE_EVENTS_H_
#define REIGEN_COORDINATOR_CORE_EVENTS_H_

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "proto/control/control.pb.h"
#include "proto/launch/launch.pb.h"

namespace reigen::coordinator {

// From the stream of a host that proved the secret; in order.
struct HostMessage {
  int host = 0;
  control::WorkerMessage message;
};
// The stream of that host ended; nothing follows from it.
struct HostStreamEnded {
  int host = 0;
  std::string reason;
};
// The launcher says so.
struct HostGone {
  int host = 0;
  std::string reason;
  int code = 71;
};
struct Interrupted {
  int signal = 0;
};
struct LauncherGone {};
// Time passed: at least every 500 ms.
struct Tick {};

using Event =
    std::variant<HostMessage, HostStreamEnded, HostGone, Interrupted, LauncherGone, Tick>;

// The message is the same object for all hosts.
struct SendToHosts {
  std::vector<int> hosts;
  std::shared_ptr<const control::CoordinatorMessage> message;
};
// A worker sent what none may send: its stream is to be ended.
struct DropHost {
  int host = 0;
  std::string reason;
};
struct TellLauncher {
  launch::FromCoordinator message;
};
struct WriteLog {
  bool warning = false;
  std::string text;
};

using Action = std::variant<SendToHosts, DropHost, TellLauncher, WriteLog>;

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_CORE_EVENTS_H_
