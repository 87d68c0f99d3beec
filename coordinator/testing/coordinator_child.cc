#include "coordinator/testing/coordinator_child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/check.h"
#include "runtime/base/clock.h"

extern char** environ;

namespace reigen::coordinator {
namespace {

constexpr seconds kPatience{30};
constexpr seconds kExitPatience{30};

}  // namespace

CoordinatorChild::CoordinatorChild(const std::string& program) {
  signal(SIGPIPE, SIG_IGN);
  int in[2], out[2];
  REIGEN_CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  std::string name = program;
  char* argv[] = {name.data(), nullptr};
  REIGEN_CHECK(posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv, environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  input_.Reset(in[1]);
  output_.Reset(out[0]);
  reader_ = std::make_unique<FrameReader>(output_.get());
}

CoordinatorChild::~CoordinatorChild() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void CoordinatorChild::Tell(const launch::ToCoordinator& message) {
  (void)WriteFrame(input_.get(), message.SerializeAsString(), Now() + kPatience);
}

std::optional<launch::FromCoordinator> CoordinatorChild::Receive() {
  const auto frame = reader_->Read(Now() + kPatience);
  launch::FromCoordinator message;
  if (!frame.ok() || !message.ParseFromString(*frame)) return std::nullopt;
  return message;
}

std::optional<launch::FromCoordinator> CoordinatorChild::ReceiveNoNotice() {
  while (true) {
    auto message = Receive();
    if (!message || (!message->has_notice() && !message->has_alive())) return message;
  }
}

std::optional<int> CoordinatorChild::WaitForExit() {
  for (const Time deadline = Now() + kExitPatience; Now() < deadline; usleep(10'000)) {  // NOLINT: of a child
    int status;
    if (waitpid(pid_, &status, WNOHANG) != pid_) continue;
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return std::nullopt;
}

}  // namespace reigen::coordinator
