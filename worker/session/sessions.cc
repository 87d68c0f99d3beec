#include "worker/session/sessions.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/unique_fd.h"
#include "worker/limits.h"

namespace reigen::worker {
namespace {

// Slots taken from one trainer before the others have their turn: a full queue.
constexpr size_t kSlotsPerTurn = local::kSubmissionSlots;

uint64_t RoundUpToPages(uint64_t bytes) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

}  // namespace

Sessions::Sessions(Options options, EventLoop* loop, collective::WorkExecutor* executor,
                   SessionHandler* handler)
    : options_(std::move(options)),
      loop_(loop),
      executor_(executor),
      closer_(options_.closer != nullptr ? options_.closer : executor),
      handler_(handler),
      listener_(loop, closer_,
                [this](TrainerFd socket, const PeerIdentity& peer, const local::Hello& hello) {
                  OnStranger(std::move(socket), peer, hello);
                }),
      sessions_(options_.ranks.size()),
      attaching_(options_.ranks.size()),
      gone_(options_.ranks.size(), 0) {}

Sessions::~Sessions() {
  *alive_ = false;
  for (size_t local = 0; local < sessions_.size(); ++local) Retire(static_cast<int>(local));
}

Status Sessions::Listen(const std::string& path) { return listener_.Listen(path); }

// --- attaching ---------------------------------------------------------------------

std::string Sessions::WhyRefused(const PeerIdentity& peer, const local::Hello& hello,
                                 int local) const {
  const std::string who = "process " + std::to_string(peer.pid);
  const std::string rank = "rank " + std::to_string(hello.rank);
  if (hello.pid != peer.pid) {
    return who + " says that it is process " + std::to_string(hello.pid);
  }
  if (local < 0) return rank + " is not a rank of this host";
  if (!options_.belongs(peer.pid, local)) {
    return who + " does not descend from the process that was started for " + rank;
  }
  if (gone_[local] != 0) {
    return "process " + std::to_string(gone_[local]) + " was lost for " + rank + ": " + who +
           " cannot take its place";
  }
  const pid_t holder =
      sessions_[local] != nullptr ? sessions_[local]->pid() : attaching_[local].pid;
  if (holder != 0) {
    return rank + " is held by process " + std::to_string(holder) + ": " + who +
           " cannot attach for it too";
  }
  return "";
}

void Sessions::OnStranger(TrainerFd socket, const PeerIdentity& peer, const local::Hello& hello) {
  const auto it = std::find(options_.ranks.begin(), options_.ranks.end(), hello.rank);
  const int local =
      it == options_.ranks.end() ? -1 : static_cast<int>(it - options_.ranks.begin());
  const std::string why = WhyRefused(peer, hello, local);
  if (!why.empty()) {
    REIGEN_WARN("refused: {}", why);
    (void)SendPacket(socket.get(), MakeRefused(local::ResultCode::kFailedPrecondition, why));
    return;
  }
  attaching_[local] = {peer.pid, std::move(socket)};
  Attach(local);
}

void Sessions::Allocate(const std::string& name, uint64_t bytes,
                        std::function<void(StatusOr<MemoryFile>)> done) {
  auto result = std::make_shared<StatusOr<MemoryFile>>(Internal("not made"));
  executor_->Submit([result, name, bytes] { *result = MemoryFile::Make(name, bytes); },
                    [result, alive = alive_, done = std::move(done)] {
                      if (*alive) done(std::move(*result));
                    });
}

void Sessions::Attach(int local) {
  Allocate("reigen-arena", local::kFirstArenaBytes, [=, this](StatusOr<MemoryFile> arena) {
    auto [pid, socket] = std::exchange(attaching_[local], {});
    const auto refuse = [&, at = socket.get()](const Status& status) {
      REIGEN_WARN("rank={} cannot attach: {}", options_.ranks[local], Message(status));
      (void)SendPacket(at, MakeRefused(local::ResultCode::kResourceExhausted, Message(status)));
    };
    if (!arena.ok()) return refuse(arena.status());
    StatusOr<MemoryFile> queues = MemoryFile::Make("reigen-queues", local::QueuesBytes());
    if (!queues.ok()) return refuse(queues.status());
    UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!pidfd.valid() || !wake.valid()) {
      return refuse(ErrnoStatus(StatusCode::kResourceExhausted, "watching the process"));
    }
    auto session = std::make_shared<Session>(local, pid, std::move(socket), std::move(pidfd),
                                             std::move(wake), std::move(*queues),
                                             std::move(*arena));
    if (const Status status = session->SendWelcome(devices_ != nullptr); !status.ok()) {
      REIGEN_WARN("rank={} attached and was gone: {}", options_.ranks[local], Message(status));
      return;  // nothing of it counts yet; a dead process is seen by its parent
    }
    sessions_[local] = session;
    Status watched = Watch(*session);
    handler_->OnAttached(local);
    if (!watched.ok()) Break(local, Message(watched));
  });
}

Status Sessions::Watch(const Session& session) {
  const int local = session.local();
  REIGEN_RETURN_IF_ERROR(
      loop_->Add(session.socket(), EPOLLIN, [this, local](uint32_t) { OnSocket(local); }));
  REIGEN_RETURN_IF_ERROR(
      loop_->Add(session.pidfd(), EPOLLIN, [this, local](uint32_t) { OnPidfd(local); }));
  // Each write is an edge: it ends the wait, and each turn looks at the queues. Never
  // read: the trainer can make a read of what it shares block.
  return loop_->Add(session.wake_fd(), EPOLLIN | EPOLLET, [](uint32_t) {});
}

// --- traffic -------------------------------------------------------------------------

void Sessions::OnSocket(int local) {
  while (sessions_[local] != nullptr) {
    const std::shared_ptr<Session> session = sessions_[local];
    StatusOr<std::optional<TrainerPacket>> packet = ReceivePacket(session->socket(), closer_);
    if (!packet.ok()) {
      Drain(local);
      const bool closed = packet.status().code() == StatusCode::kUnavailable;
      return Break(local, closed ? "closed its connection without shutdown"
                                 : "sent " + Message(packet.status()));
    }
    if (!packet->has_value()) return;
    Handle(*session, **packet);
  }
}

void Sessions::OnPidfd(int local) {
  if (sessions_[local] != nullptr) Break(local, "ended without shutdown");
}

void Sessions::Handle(Session& session, TrainerPacket& packet) {
  switch (packet.kind) {
    case local::PacketKind::kGrowArena:
      Grow(session, packet.grow_arena.bytes);
      break;
    case local::PacketKind::kShutdown: {
      const int local = session.local();
      Drain(local);  // what it submitted before counts
      if (sessions_[local] != nullptr) handler_->OnShutdown(local);
      break;
    }
    case local::PacketKind::kHello:
      Break(session.local(), "sent a second Hello");
      break;
    default:
      HandleDevice(session, packet);
  }
}

void Sessions::Grow(Session& session, uint64_t bytes) {
  const auto refuse = [](Session& to, const std::string& why) {
    return SendPacket(to.socket(), MakeRefused(local::ResultCode::kResourceExhausted, why));
  };
  Status status;
  if (session.growing()) return Break(session.local(), "asked for two arenas at once");
  if (bytes == 0 || bytes > limits::kMaxArenaBytes || session.arenas() >= local::kMaxArenas) {
    status = refuse(session, "an arena of " + std::to_string(bytes) + " bytes, beside " +
                                 std::to_string(session.arenas()) + " others");
    if (!status.ok()) Break(session.local(), Message(status));
    return;
  }
  session.set_growing(true);
  const int local = session.local();
  std::shared_ptr<Session> kept = sessions_[local];
  Allocate("reigen-arena", RoundUpToPages(bytes), [=, this](StatusOr<MemoryFile> arena) {
    if (kept->closed()) return;
    kept->set_growing(false);
    const Status sent = arena.ok() ? kept->AddArena(std::move(*arena))
                                   : refuse(*kept, Message(arena.status()));
    if (!sent.ok()) Break(local, Message(sent));
  });
}

void Sessions::Drain(int local) {
  bool more = true;
  while (more && sessions_[local] != nullptr) {
    const StatusOr<bool> status = sessions_[local]->TakeRequests(kSlotsPerTurn, taken_);
    std::vector<Request> requests = std::exchange(taken_, {});
    for (Request& request : requests) handler_->OnRequest(local, std::move(request));
    if (!status.ok()) return Break(local, "wrote " + Message(status.status()));
    more = *status;
  }
}

bool Sessions::TakeRequests() {
  bool any_more = false;
  for (size_t i = 0; i < sessions_.size(); ++i) {
    if (sessions_[i] == nullptr) continue;
    const int local = static_cast<int>(i);
    const StatusOr<bool> more = sessions_[i]->TakeRequests(kSlotsPerTurn, taken_);
    std::vector<Request> requests = std::exchange(taken_, {});
    for (Request& request : requests) handler_->OnRequest(local, std::move(request));
    if (!more.ok()) {
      Break(local, "wrote " + Message(more.status()));
    } else if (*more) {
      any_more = true;
    }
  }
  return any_more;
}

bool Sessions::PrepareToSleep() {
  for (const auto& session : sessions_) {
    if (session != nullptr) session->SetSleeping(true);
  }
  bool something = false;
  for (const auto& session : sessions_) {
    if (session != nullptr && session->HasNews()) something = true;
  }
  return something;
}

void Sessions::WokenUp() {
  for (const auto& session : sessions_) {
    if (session != nullptr) session->SetSleeping(false);
  }
}

// --- to the trainers -------------------------------------------------------------------

void Sessions::BeginEpoch(int local, const local::EpochBegun& begun) {
  if (sessions_[local] == nullptr) return;
  if (const Status s = sessions_[local]->SendEpochBegun(begun); !s.ok()) {
    Break(local, Message(s));
  }
}

void Sessions::RefuseInit(int local, const std::string& reason) {
  if (sessions_[local] == nullptr) return;
  (void)SendPacket(sessions_[local]->socket(),
                   MakeRefused(local::ResultCode::kFailedPrecondition, reason));
  Retire(local);
}

void Sessions::Complete(int local, uint64_t request, local::ResultCode code,
                        const std::string& text) {
  if (sessions_[local] != nullptr) sessions_[local]->Complete(request, code, text);
}

void Sessions::Publish() {
  for (const auto& session : sessions_) {
    if (session != nullptr) session->Publish();
  }
}

void Sessions::Release(int local) {
  if (sessions_[local] == nullptr) return;
  sessions_[local]->Publish();
  (void)SendPacket(sessions_[local]->socket(), local::ShutdownDone{});
  Retire(local);
}

std::shared_ptr<Session> Sessions::TakeOut(int local, bool memory_stays) {
  std::shared_ptr<Session> session = std::exchange(sessions_[local], nullptr);
  for (int fd : {session->socket(), session->pidfd(), session->wake_fd()}) loop_->Remove(fd);
  session->Close();
  if (devices_ != nullptr) devices_->OnSessionEnded(local, memory_stays);
  return session;
}

void Sessions::Retire(int local) {
  if (sessions_[local] != nullptr) retired_.push_back(TakeOut(local, /*memory_stays=*/false));
}

void Sessions::Break(int local, const std::string& reason) {
  if (sessions_[local] == nullptr) return;
  const pid_t pid = gone_[local] = sessions_[local]->pid();
  broken_.push_back(TakeOut(local, /*memory_stays=*/true));
  handler_->OnGone(local, pid, reason);
}

void Sessions::FreeRetired() {
  retired_.clear();
  for (const auto& session : sessions_) {
    if (session != nullptr) session->DropSpent();
  }
}

}  // namespace reigen::worker
