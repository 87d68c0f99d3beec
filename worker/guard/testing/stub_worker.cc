// A worker without sessions and coordinator, to test the guard with: `serve` starts
// the trainers, beats, and exits 0 when all of them have ended. Not shipped.
//
// In its environment:
//   STUB_CAUSE       says so and exits 9 instead of serving
//   STUB_UNKILLABLE  processes of that name (/proc/PID/comm) cannot be signalled by
//                    the guard
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "proto/launch/launch.pb.h"
#include "runtime/base/clock.h"
#include "runtime/base/frame_io.h"
#include "worker/guard/guard.h"
#include "worker/spawn/serve_fds.h"
#include "worker/spawn/trainers.h"

namespace reigen::worker {
namespace {

int Serve() {
  signal(SIGPIPE, SIG_IGN);
  FrameReader reader(kStartFd);
  const auto bytes = reader.Read(Now() + seconds(10));
  launch::GuardStart start;
  if (!bytes.ok() || !start.ParseFromString(*bytes)) return 2;
  auto trainers = Trainers::Start(start, "/nowhere");
  if (!trainers.ok()) {
    std::fprintf(stderr, "%s\n", Message(trainers.status()).c_str());
    return 1;
  }
  if (const char* cause = std::getenv("STUB_CAUSE")) {
    const std::string said = kCauseFollows + std::string(cause);
    return write(kHeartbeatFd, said.data(), said.size()) > 0 ? 9 : 3;
  }
  for (int left = (*trainers)->count(); left > 0;) {
    if (write(kHeartbeatFd, "b", 1) < 0 && errno == EPIPE) return 3;
    poll(nullptr, 0, 50);
    left -= static_cast<int>((*trainers)->Reap().size());
  }
  return 0;
}

bool IsNamed(pid_t pid, const char* name) {
  if (name == nullptr) return false;
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string comm;
  std::getline(file, comm);
  return comm == name;
}

int RunGuard() {
  TreeHooks hooks = RealTreeHooks();
  const char* unkillable = std::getenv("STUB_UNKILLABLE");
  hooks.signal = [signal = hooks.signal, unkillable](const ProcessInfo& p, int number) {
    return !IsNamed(p.pid, unkillable) && signal(p, number);
  };
  return Guard({.program = "/proc/self/exe", .hooks = hooks}).Run();
}

}  // namespace
}  // namespace reigen::worker

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "guard") return reigen::worker::RunGuard();
  if (mode == "serve") return reigen::worker::Serve();
  return 2;
}
