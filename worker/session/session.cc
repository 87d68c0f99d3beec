#include "worker/session/session.h"

#include <unistd.h>

#include <utility>

#include "worker/limits.h"
#include "worker/session/packets.h"

namespace reigen::worker {

Session::Session(int local, pid_t pid, TrainerFd socket, UniqueFd pidfd, UniqueFd wake,
                 MemoryFile queues, MemoryFile arena)
    : local_(local),
      pid_(pid),
      socket_(std::move(socket)),
      pidfd_(std::move(pidfd)),
      wake_(std::move(wake)),
      queues_file_(std::move(queues)),
      queues_(queues_file_.memory()),
      commands_(queues_file_.memory()) {
  views_.push_back({arena.memory().data(), arena.memory().size()});
  arenas_.push_back(std::move(arena));
}

Status Session::SendWelcome(bool takes_device_arenas) {
  local::Welcome welcome;
  welcome.takes_device_arenas = takes_device_arenas ? 1 : 0;
  welcome.arena_bytes = views_[0].bytes;
  welcome.worker_pid = getpid();
  const int fds[] = {queues_file_.fd(), arenas_[0].fd(), wake_.get()};
  REIGEN_RETURN_IF_ERROR(SendPacket(socket_.get(), welcome, fds));
  queues_file_.CloseFd();
  arenas_[0].CloseFd();
  return OkStatus();
}

Status Session::SendEpochBegun(const local::EpochBegun& begun) {
  in_epoch_ = true;
  return SendPacket(socket_.get(), begun);
}

Status Session::AddArena(MemoryFile arena) {
  local::ArenaGrown grown;
  grown.bytes = arena.memory().size();
  grown.arena = static_cast<uint32_t>(views_.size());
  const int fds[] = {arena.fd()};
  REIGEN_RETURN_IF_ERROR(SendPacket(socket_.get(), grown, fds));
  arena.CloseFd();
  views_.push_back({arena.memory().data(), arena.memory().size()});
  arenas_.push_back(std::move(arena));
  return OkStatus();
}

StatusOr<bool> Session::TakeRequests(size_t limit, std::vector<Request>& out) {
  bool more = true;
  for (size_t taken = 0; more && taken < limit; ++taken) {
    local::Slot slot;
    REIGEN_ASSIGN_OR_RETURN(more, queues_.Take(slot));
    if (!more) break;
    REIGEN_RETURN_IF_ERROR(intake_.Feed(slot, views_, incoming_));
    for (IncomingRequest& incoming : incoming_) {
      REIGEN_RETURN_IF_ERROR(Accept(incoming, out));
    }
    incoming_.clear();
  }
  queues_.Release();
  return more;
}

Status Session::Accept(IncomingRequest& incoming, std::vector<Request>& out) {
  Request& request = incoming.request;
  if (in_flight_.contains(request.id)) return InvalidArgument("a request's id is used twice");
  if (incoming.status.ok() && in_flight_.size() >= limits::kMaxRequestsPerTrainer) {
    incoming.status = ResourceExhausted(request.name + ": more than " +
                                        std::to_string(limits::kMaxRequestsPerTrainer) +
                                        " requests are in flight");
  }
  if (!incoming.status.ok()) {
    const auto code = incoming.status.code() == StatusCode::kResourceExhausted
                          ? local::ResultCode::kResourceExhausted
                          : local::ResultCode::kInvalidArgument;
    queues_.Push({.request = request.id, .code = code, .text = Message(incoming.status),
                  .inline_bytes = {}});
    return OkStatus();
  }
  auto& buffer = in_flight_[request.id];
  if (incoming.is_inline) {
    buffer = std::make_unique<InlineBuffer>();
    buffer->bytes = incoming.inline_bytes;
    buffer->count = incoming.inline_count;
    request.data[0] = buffer->bytes.data();
  }
  out.push_back(std::move(request));
  return OkStatus();
}

void Session::Complete(uint64_t request, local::ResultCode code, const std::string& text) {
  const auto it = in_flight_.find(request);
  if (it == in_flight_.end()) return;
  Completion completion{.request = request, .code = code, .text = text, .inline_bytes = {}};
  const bool ok = code == local::ResultCode::kOk;
  if (it->second != nullptr && ok) {
    completion.inline_bytes = {it->second->bytes.data(), it->second->count};
  }
  queues_.Push(completion);
  if (it->second != nullptr && !ok) spent_.push_back(std::move(it->second));
  in_flight_.erase(it);
}

void Session::Close() {
  socket_.HangUp();
  pidfd_.Reset();
  wake_.Reset();
}

}  // namespace reigen::worker
