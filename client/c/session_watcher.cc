// The watcher's side of a session: what comes from the worker.
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include <utility>

#include "client/c/futex.h"
#include "client/c/session.h"
#include "runtime/base/check.h"

namespace reigen::sdk {
namespace {

// Waiters look at ended_ before they sleep, but between that look and the sleep
// a wake is lost: so it is repeated until none is left, at most for this long.
constexpr Duration kWakeAgain = milliseconds(1);
constexpr Duration kWakeLimit = seconds(10);
// The worker empties the submission queue whenever it runs.
constexpr Duration kSpaceLimit = seconds(30);
// The command thread takes these at once; more have no use.
constexpr size_t kMaxNews = size_t{16} * local::kMaxArenas;

}  // namespace

Result Session::StartWatcher() {
  // A signal is for the caller's threads, never for this one.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(
      &watcher_, nullptr,
      [](void* self) -> void* {
        static_cast<Session*>(self)->Watch();
        return nullptr;
      },
      this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) return FailErrno(REIGEN_RESOURCE_EXHAUSTED, "the SDK's thread", error);
  watching_ = true;
  pthread_setname_np(watcher_, "reigen-watch");
  return Ok();
}

void Session::Watch() {
  Result result = Ok();
  bool done = false;
  while (result.ok() && !done) {
    ReceivedPacket packet;
    result = socket_.Receive(&packet);
    if (result.ok()) result = OnPacket(packet, &done);
  }
  if (result.ok()) result = Fail(REIGEN_UNAVAILABLE, "the worker of this host ended the session");
  End(std::move(result));
  if (commands_.has_value()) commands_->Interrupt();
  const Time limit = Now() + kWakeLimit;
  bool waiting = submissions_.has_value();
  while (waiting && Now() < limit) {
    const bool submitters = submissions_->Interrupt();
    waiting = completions_->Interrupt() || submitters;
    if (waiting) FutexWait(changes_, changes_.load(), Now() + kWakeAgain);
  }
}

Result Session::OnPacket(ReceivedPacket& packet, bool* done) {
  switch (packet.kind) {
    case local::PacketKind::kWelcome: return OnWelcome(packet);
    case local::PacketKind::kArenaGrown: return OnArenaGrown(packet);
    case local::PacketKind::kRefused: return OnRefused(packet);
    case local::PacketKind::kDeviceArenaAdded: return OnDeviceArenaAdded(packet);
    case local::PacketKind::kPeerArena: return OnNews(packet.As<local::PeerArena>());
    case local::PacketKind::kHostScratch: {
      if (packet.fds.size() != 1) break;
      return OnNews(HostScratchFile{.bytes = packet.As<local::HostScratch>().bytes,
                                    .fd = std::move(packet.fds[0])});
    }
    case local::PacketKind::kDeviceUse: return OnDeviceUse(packet);
    case local::PacketKind::kEpochBegun: {
      {
        const std::lock_guard lock(mutex_);
        if (stage_ != Stage::kWaiting) {
          return Fail(REIGEN_INTERNAL, "an unexpected EpochBegun from the worker");
        }
        place_ = packet.As<local::EpochBegun>();
        stage_ = Stage::kBegun;
      }
      Changed();
      return Ok();
    }
    case local::PacketKind::kShutdownDone: *done = true; return Ok();
    default: break;
  }
  return Fail(REIGEN_INTERNAL, "an unexpected packet from the worker");
}

Result Session::OnWelcome(ReceivedPacket& packet) {
  const auto welcome = packet.As<local::Welcome>();
  {
    const std::lock_guard lock(mutex_);
    if (stage_ != Stage::kGreeting || packet.fds.size() != 3) {
      return Fail(REIGEN_INTERNAL, "an unexpected Welcome from the worker");
    }
  }
  REIGEN_SDK_RETURN_IF_ERROR(QueuesFile::Map(packet.fds[0].get(), &queues_));
  std::shared_ptr<ArenaFile> file;
  REIGEN_SDK_RETURN_IF_ERROR(ArenaFile::Map(packet.fds[1].get(), 0, welcome.arena_bytes, &file));
  arena_.Add(std::move(file));
  wake_fd_ = std::move(packet.fds[2]);
  watched_wake_.emplace(wake_fd_.get());
  submissions_.emplace(*queues_, ended_, wake_fd_.get(), Limit(kSpaceLimit));
  completions_.emplace(*queues_, ended_, wake_fd_.get());
  commands_.emplace(*queues_, wake_fd_.get());
  const local::QueueHeader& header = queues_->header();
  takes_device_arenas_ = welcome.takes_device_arenas != 0;
  if (takes_device_arenas_ && (header.command_slots != local::kCommandSlots ||
                               header.done_slots != local::kDoneSlots)) {
    return Fail(REIGEN_INTERNAL, "the worker's queues file is of another version");
  }
  {
    const std::lock_guard lock(mutex_);
    arena_count_ = 1;
    worker_pid_ = welcome.worker_pid;
    stage_ = Stage::kWaiting;
  }
  Changed();
  return Ok();
}

Result Session::OnArenaGrown(ReceivedPacket& packet) {
  const auto grown = packet.As<local::ArenaGrown>();
  {
    const std::lock_guard lock(mutex_);
    if (asked_ != Asked::kArena || packet.fds.size() != 1 || grown.arena != arena_count_) {
      return Fail(REIGEN_INTERNAL, "an unexpected ArenaGrown from the worker");
    }
  }
  std::shared_ptr<ArenaFile> file;
  Result mapped = ArenaFile::Map(packet.fds[0].get(), grown.arena, grown.bytes, &file);
  if (!mapped.ok()) return mapped;
  arena_.Add(std::move(file));
  {
    const std::lock_guard lock(mutex_);
    ++arena_count_;
    asked_ = Asked::kNothing;
  }
  Changed();
  return Ok();
}

Result Session::OnDeviceArenaAdded(const ReceivedPacket& packet) {
  const auto added = packet.As<local::DeviceArenaAdded>();
  {
    const std::lock_guard lock(mutex_);
    if (asked_ != Asked::kDeviceArena || added.arena != arena_count_) {
      return Fail(REIGEN_INTERNAL, "an unexpected DeviceArenaAdded from the worker");
    }
    added_arena_ = arena_count_++;
    asked_ = Asked::kNothing;
  }
  Changed();
  return Ok();
}

// The answer to a question; else the reason why the session ends.
Result Session::OnRefused(const ReceivedPacket& packet) {
  {
    const std::lock_guard lock(mutex_);
    if (asked_ == Asked::kNothing) return RefusedResult(packet);
    asked_ = Asked::kNothing;
    answer_ = RefusedResult(packet);
  }
  Changed();
  return Ok();
}

Result Session::OnDeviceUse(const ReceivedPacket& packet) {
  const auto use = packet.As<local::DeviceUse>();
  const std::lock_guard lock(mutex_);
  device_use_ = use.use != 0;
  why_no_device_use_.assign(use.why_not, strnlen(use.why_not, sizeof(use.why_not)));
  return Ok();
}

Result Session::OnNews(DeviceNews news) {
  {
    const std::lock_guard lock(mutex_);
    if (!takes_device_arenas_ || news_.size() >= kMaxNews) {
      return Fail(REIGEN_INTERNAL, "an unexpected packet about memory of GPUs from the worker");
    }
    news_.push_back(std::move(news));
  }
  commands_->Interrupt();
  return Ok();
}

}  // namespace reigen::sdk
