#include "client/c/session.h"

#include <signal.h>
#include <unistd.h>

#include <utility>

#include "client/c/futex.h"
#include "runtime/base/check.h"

namespace reigen::sdk {
namespace {

// The worker answers these at once unless it is stuck; its guard ends a stuck
// worker after 3 s, which ends the waits too.
constexpr Duration kWelcomeLimit = seconds(10);
constexpr Duration kArenaLimit = seconds(30);
// Plans that have begun are finished first.
constexpr Duration kLeaveLimit = seconds(30);

}  // namespace

Session::Session(const SessionOptions& options, PacketSocket socket)
    : timeout_scale_(options.timeout_scale), opened_(Now()), socket_(std::move(socket)) {
  watched_socket_.emplace(socket_.fd());
}

Session::~Session() {
  socket_.ShutDown();
  JoinWatcher();
}

void Session::JoinWatcher() {
  if (!watching_) return;
  pthread_join(watcher_, nullptr);
  watching_ = false;
}

Duration Session::Limit(Duration unscaled) const {
  return std::chrono::duration_cast<Duration>(unscaled * timeout_scale_);
}

Result Session::Open(const SessionOptions& options, std::shared_ptr<Session>* out) {
  PacketSocket socket;
  REIGEN_SDK_RETURN_IF_ERROR(PacketSocket::Connect(options.socket_path, &socket));
  std::shared_ptr<Session> session(new Session(options, std::move(socket)));
  local::Hello hello;
  hello.rank = options.rank;
  hello.pid = getpid();
  REIGEN_SDK_RETURN_IF_ERROR(session->socket_.Send(hello));
  REIGEN_SDK_RETURN_IF_ERROR(session->StartWatcher());
  *out = std::move(session);
  return Ok();
}

Result Session::WaitBegun() {
  while (true) {
    const uint32_t seen = changes_.load();
    Stage stage;
    {
      const std::lock_guard lock(mutex_);
      stage = stage_;
    }
    if (ended()) return end_reason();
    if (stage == Stage::kBegun) return Ok();
    const Time deadline =
        stage == Stage::kGreeting ? opened_ + Limit(kWelcomeLimit) : Time::max();
    switch (FutexWait(changes_, seen, deadline)) {
      case Sleep::kWoken: break;
      case Sleep::kInterrupted: return Fail(REIGEN_INTERRUPTED, "interrupted by a signal");
      case Sleep::kTimeout:
        Break("the worker of this host does not answer");
        return end_reason();
    }
  }
}

Result Session::Grow(uint64_t bytes, uint32_t known_files) {
  const std::lock_guard one_at_a_time(ask_mutex_);
  if (arena_.file_count() > known_files) return Ok();
  local::GrowArena question;
  question.bytes = bytes;
  return AskLocked(question, -1, Asked::kArena);
}

Result Session::AddDeviceArena(const local::AddDeviceArena& arena, int dmabuf, uint32_t* id) {
  const std::lock_guard one_at_a_time(ask_mutex_);
  REIGEN_SDK_RETURN_IF_ERROR(AskLocked(arena, dmabuf, Asked::kDeviceArena));
  const std::lock_guard lock(mutex_);
  *id = added_arena_;
  return Ok();
}

template <typename Question>
Result Session::AskLocked(const Question& question, int fd, Asked asked) {
  {
    const std::lock_guard lock(mutex_);
    if (arena_count_ >= local::kMaxArenas) {
      return Fail(REIGEN_RESOURCE_EXHAUSTED, "no further arena: there are " +
                                                 std::to_string(arena_count_) + " already");
    }
    asked_ = asked;
    answer_ = Ok();
  }
  {
    const std::lock_guard lock(send_mutex_);
    REIGEN_SDK_RETURN_IF_ERROR(socket_.Send(question, fd));
  }
  const Time deadline = Now() + Limit(kArenaLimit);
  while (true) {
    const uint32_t seen = changes_.load();
    {
      const std::lock_guard lock(mutex_);
      if (asked_ == Asked::kNothing) return answer_;
    }
    if (ended()) return end_reason();
    if (FutexWait(changes_, seen, deadline) == Sleep::kTimeout) {
      Break("the worker of this host does not answer a request for memory");
      return end_reason();
    }
  }
}

bool Session::UsesDeviceArenas(std::string* why_not) const {
  const std::lock_guard lock(mutex_);
  *why_not = why_no_device_use_;
  return device_use_;
}

std::vector<DeviceNews> Session::TakeNews() {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

void Session::Leave() {
  const std::lock_guard one_at_a_time(leave_mutex_);
  if (!ended()) {
    {
      const std::lock_guard lock(mutex_);
      leaving_ = true;
    }
    {
      const std::lock_guard lock(send_mutex_);
      const Result sent = socket_.Send(local::Shutdown{});
      if (!sent.ok()) End(sent);
    }
    const Time deadline = Now() + Limit(kLeaveLimit);
    while (!ended()) {
      const uint32_t seen = changes_.load();
      if (ended() || FutexWait(changes_, seen, deadline) == Sleep::kTimeout) break;
    }
  }
  Break("the worker of this host did not answer the shutdown");
  JoinWatcher();
}

Result Session::end_reason() const {
  const std::lock_guard lock(mutex_);
  return end_reason_;
}

void Session::Break(const std::string& why) {
  End(Fail(REIGEN_UNAVAILABLE, why));
  socket_.ShutDown();
}

// The first reason counts.
void Session::End(Result reason) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_.load()) return;
    if (leaving_) {
      reason = Fail(REIGEN_ABORTED, "shut down: shutdown came before the end");
    } else if (worker_pid_ > 0) {
      reason.text += " (worker pid " + std::to_string(worker_pid_) + ")";
    }
    end_reason_ = std::move(reason);
    ended_.store(true);
  }
  Changed();
}

void Session::Changed() {
  changes_.fetch_add(1);
  FutexWakeAll(changes_);
}

}  // namespace reigen::sdk
