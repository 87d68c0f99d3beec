#include "worker/guard/serve_process.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/frame_io.h"
#include "worker/spawn/serve_fds.h"

namespace reigen::worker {
namespace {

struct PipeEnds {
  UniqueFd read_end;
  UniqueFd write_end;
};

StatusOr<PipeEnds> MakePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoStatus(StatusCode::kResourceExhausted, "pipe");
  PipeEnds ends{UniqueFd(fds[0]), UniqueFd(fds[1])};
  REIGEN_RETURN_IF_ERROR(SetNonBlocking(ends.read_end.get()));
  return ends;
}

// The message as a file in memory: whatever its size, writing it never waits.
StatusOr<UniqueFd> StartMessage(const launch::GuardStart& start) {
  UniqueFd file(memfd_create("reigen-start", MFD_CLOEXEC));
  if (!file.valid()) return ErrnoStatus(StatusCode::kResourceExhausted, "memfd_create");
  REIGEN_RETURN_IF_ERROR(WriteFrame(file.get(), start.SerializeAsString(), Now() + seconds(10)));
  if (lseek(file.get(), 0, SEEK_SET) != 0) return ErrnoStatus(StatusCode::kInternal, "lseek");
  return file;
}

}  // namespace

StatusOr<ServeProcess> StartServe(const std::string& program, const launch::GuardStart& start,
                                  const std::string& folder) {
  REIGEN_ASSIGN_OR_RETURN(const UniqueFd message, StartMessage(start));
  REIGEN_ASSIGN_OR_RETURN(PipeEnds heartbeat, MakePipe());
  REIGEN_ASSIGN_OR_RETURN(PipeEnds log, MakePipe());
  // A full pipe must not stop the worker's loop.
  REIGEN_RETURN_IF_ERROR(SetNonBlocking(heartbeat.write_end.get()));

  ServeProcess serve;
  const int local_size = start.host().ranks_size();
  std::vector<int> fds(ServeFdCount(local_size), -1);
  fds[1] = fds[2] = log.write_end.get();
  fds[kStartFd] = message.get();
  fds[kHeartbeatFd] = heartbeat.write_end.get();
  std::vector<UniqueFd> write_ends;
  for (int i = 0; i < 2 * local_size; ++i) {
    REIGEN_ASSIGN_OR_RETURN(PipeEnds output, MakePipe());
    fds[StdoutFd(0) + i] = output.write_end.get();
    write_ends.push_back(std::move(output.write_end));
    serve.outputs.push_back(std::move(output.read_end));
  }
  ChildSpec spec{.path = program,
                 .argv = {"reigen-worker", "serve", "--folder", folder},
                 .environment = CurrentEnvironment(),
                 .fds = fds};
  REIGEN_ASSIGN_OR_RETURN(serve.child, StartChild(spec));
  serve.heartbeat = std::move(heartbeat.read_end);
  serve.log = std::move(log.read_end);
  return serve;
}

}  // namespace reigen::worker
