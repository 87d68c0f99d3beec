#include "coordinator/process.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/config.h"
#include "coordinator/service/coordinator.h"
#include "coordinator/service/listen.h"
#include "coordinator/status_file.h"
#include "proto/launch/launch.pb.h"
#include "runtime/base/check.h"
#include "runtime/base/clock.h"
#include "runtime/base/frame_io.h"
#include "runtime/base/log.h"
#include "runtime/base/runtime_folder.h"
#include "runtime/base/status.h"
#include "runtime/base/unique_fd.h"

namespace reigen::coordinator {
namespace {

// The launcher sends the start message at once.
constexpr seconds kStartTime{30};
// The core wants to be called at least this often.
constexpr int kTickMs = 500;
constexpr int kCoordinatorLost = 72;
// A sign of life for the launcher, which gives a silent coordinator up after its
// --coordinator-timeout.
constexpr seconds kAliveTime{1};
// Of what the launcher does not read; notices beyond it are dropped.
constexpr size_t kMaxPendingBytes = size_t{4} << 20;

// SIGTERM comes by a descriptor. SIGINT of a terminal reaches the whole group: the
// launcher decides what it means. A dead launcher is seen at stdin.
UniqueFd TakeSignals() {
  for (int ignored : {SIGPIPE, SIGINT, SIGHUP}) signal(ignored, SIG_IGN);
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  sigprocmask(SIG_BLOCK, &term, nullptr);
  return UniqueFd(signalfd(-1, &term, SFD_NONBLOCK | SFD_CLOEXEC));
}

class Process {
 public:
  Process(int in_fd, int out_fd) : signals_(TakeSignals()), reader_(in_fd), writer_(out_fd) {
    REIGEN_CHECK(signals_.valid(), "signalfd");
  }
  ~Process() {
    coordinator_.reset();
    folder_.Remove();
  }

  Status Start();
  void Loop();
  // The launcher hears why there is no job. Waits for it a moment.
  void TellFailure(const Status& status);

 private:
  Status MakeFolder(const launch::CoordinatorStart& start);
  void Wait();
  std::vector<Event> LauncherEvents();
  Status TakeFrames(std::vector<Event>& events);
  bool Over(Time now) const;
  void ShowLife(Time now);

  UniqueFd signals_;
  FrameReader reader_;
  FrameWriter writer_;
  bool launcher_gone_ = false;
  RuntimeFolder folder_;
  std::unique_ptr<Coordinator> coordinator_;
  Duration end_time_{};
  Time next_alive_{};
};

Status Process::Start() {
  REIGEN_ASSIGN_OR_RETURN(const std::string frame, reader_.Read(Now() + kStartTime));
  launch::ToCoordinator message;
  if (!message.ParseFromString(frame) || !message.has_start()) {
    return InvalidArgument("the first message is no CoordinatorStart");
  }
  const launch::CoordinatorStart& start = message.start();
  StartLogging("reigen-coordinator", start.options().log_level());
  RouteGrpcLog();
  REIGEN_ASSIGN_OR_RETURN(const Coordinator::Options options, OptionsFrom(start));
  end_time_ = options.end_time;
  REIGEN_RETURN_IF_ERROR(MakeFolder(start));
  REIGEN_ASSIGN_OR_RETURN(coordinator_, Coordinator::Start(options, Now()));

  control::StatusFile file;
  file.set_job(start.job());
  file.set_secret(start.secret());
  file.set_pid(getpid());
  launch::FromCoordinator listening;
  for (const std::string& address : coordinator_->addresses()) {
    file.add_addresses(address);
    listening.mutable_listening()->add_addresses(address);
    REIGEN_INFO("job {}: listening on {}", start.job(), address);
  }
  if (!folder_.path().empty()) REIGEN_RETURN_IF_ERROR(WriteStatusFile(folder_.path(), file));
  writer_.Queue(listening.SerializeAsString());
  REIGEN_RETURN_IF_ERROR(SetNonBlocking(reader_.fd()));
  return SetNonBlocking(writer_.fd());
}

// The path is RuntimeFolderPath(base, JOB-c).
Status Process::MakeFolder(const launch::CoordinatorStart& start) {
  if (start.folder().empty()) return OkStatus();
  const std::string base = start.folder().substr(0, start.folder().rfind('/'));
  const std::string name = start.job() + "-c";
  if (RuntimeFolderPath(base, name) != start.folder()) {
    return InvalidArgument("folder '" + start.folder() + "' is not " +
                           RuntimeFolderPath(base, name));
  }
  REIGEN_ASSIGN_OR_RETURN(folder_, RuntimeFolder::Create(base, name));
  return OkStatus();
}

void Process::TellFailure(const Status& status) {
  REIGEN_ERROR("{}", Message(status));
  launch::FromCoordinator message;
  message.mutable_verdict()->set_code(kCoordinatorLost);
  message.mutable_verdict()->set_reason("the coordinator cannot start: " + Message(status));
  message.mutable_verdict()->set_rank(-1);
  message.mutable_verdict()->set_host(-1);
  const Status told = WriteFrame(writer_.fd(), message.SerializeAsString(), Now() + seconds(2));
  if (!told.ok()) REIGEN_ERROR("the launcher was not told: {}", Message(told));
}

void Process::Wait() {
  pollfd fds[] = {
      {.fd = coordinator_->fd(), .events = POLLIN, .revents = 0},
      {.fd = signals_.get(), .events = POLLIN, .revents = 0},
      {.fd = launcher_gone_ ? -1 : reader_.fd(), .events = POLLIN, .revents = 0},
      {.fd = writer_.pending_bytes() > 0 ? writer_.fd() : -1, .events = POLLOUT, .revents = 0},
  };
  (void)poll(fds, std::size(fds), kTickMs);
}

Status Process::TakeFrames(std::vector<Event>& events) {
  REIGEN_ASSIGN_OR_RETURN(const bool open, reader_.Fill());
  if (!open) return Unavailable("its pipe is closed");
  while (true) {
    REIGEN_ASSIGN_OR_RETURN(const std::optional<std::string> frame, reader_.Next());
    if (!frame) return OkStatus();
    launch::ToCoordinator message;
    if (!message.ParseFromString(*frame)) return InvalidArgument("bad message");
    if (message.has_host_lost()) {
      const launch::HostLost& lost = message.host_lost();
      events.push_back(HostGone{lost.host(), lost.reason(), lost.code()});
    } else if (message.has_interrupt()) {
      events.push_back(Interrupted{message.interrupt().signal()});
    } else {
      return InvalidArgument("message out of place");
    }
  }
}

std::vector<Event> Process::LauncherEvents() {
  std::vector<Event> events;
  signalfd_siginfo signal;
  if (read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
    events.push_back(Interrupted{static_cast<int>(signal.ssi_signo)});
  }
  if (launcher_gone_) return events;
  const Status status = TakeFrames(events);
  if (!status.ok()) {
    // After the end it is the order to go.
    if (!coordinator_->ended_at()) REIGEN_WARN("the launcher is gone: {}", Message(status));
    launcher_gone_ = true;
    events.push_back(LauncherGone{});
  }
  return events;
}

bool Process::Over(Time now) const {
  const bool told = launcher_gone_ || writer_.pending_bytes() == 0;
  if (coordinator_->finished() && told) return true;
  return coordinator_->ended_at() && now - *coordinator_->ended_at() >= end_time_;
}

void Process::ShowLife(Time now) {
  if (now < next_alive_ || writer_.pending_bytes() > 0) return;
  next_alive_ = now + kAliveTime;
  launch::FromCoordinator message;
  message.mutable_alive();
  writer_.Queue(message.SerializeAsString());
}

void Process::Loop() {
  while (true) {
    ShowLife(Now());
    if (!writer_.Flush().ok()) launcher_gone_ = true;
    if (Over(Now())) return;
    Wait();
    for (const launch::FromCoordinator& message :
         coordinator_->Step(LauncherEvents(), Now())) {
      if (message.has_notice() && writer_.pending_bytes() > kMaxPendingBytes) continue;
      writer_.Queue(message.SerializeAsString());
    }
  }
}

}  // namespace

int RunProcess(int in_fd, int out_fd) {
  int code = 0;
  {
    Process process(in_fd, out_fd);
    const Status status = process.Start();
    if (status.ok()) {
      process.Loop();
    } else {
      process.TellFailure(status);
      code = 1;
    }
  }
  StopLogging();
  return code;
}

}  // namespace reigen::coordinator
