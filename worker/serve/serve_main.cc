#include "worker/serve/serve_main.h"

#include <signal.h>

#include <cstdio>
#include <utility>

#include "proto/launch/launch.pb.h"
#include "runtime/base/clock.h"
#include "runtime/base/frame_io.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "worker/serve/server.h"
#include "worker/spawn/serve_fds.h"

namespace reigen::worker {
namespace {

// The guard has written it before this process began.
constexpr Duration kStartLimit = seconds(10);

StatusOr<launch::GuardStart> ReadStart() {
  REIGEN_ASSIGN_OR_RETURN(const std::string bytes,
                          FrameReader(kStartFd).Read(Now() + kStartLimit));
  launch::GuardStart start;
  if (!start.ParseFromString(bytes)) return InvalidArgument("it is not a GuardStart");
  return start;
}

}  // namespace

int ServeMain(const std::string& folder) {
  StatusOr<launch::GuardStart> start = ReadStart();
  if (!start.ok()) {
    std::fprintf(stderr, "reigen-worker: no start message: %s\n", Message(start.status()).c_str());
    return 1;
  }
  signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of write()
  StartLogging("reigen-worker", start->options().log_level());
  int code = 0;
  {
    Server server(Server::Options{
        .start = std::move(*start), .folder = folder, .heartbeat_fd = kHeartbeatFd});
    code = server.Run();
  }
  StopLogging();
  return code;
}

}  // namespace reigen::worker
