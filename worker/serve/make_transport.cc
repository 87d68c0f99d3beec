#include "worker/serve/make_transport.h"

namespace reigen::worker {

StatusOr<std::unique_ptr<transport::Transport>> MakeTransport(const launch::GuardStart& start,
                                                              const std::string& local_address) {
  return FailedPrecondition("host " + start.host().name() + " has no transport for " +
                            local_address + " in this build");
}

}  // namespace reigen::worker
