#include "worker/session/scripted_trainer.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"

namespace reigen::worker {
namespace {

constexpr size_t kMostFds = 253;  // of one packet, says the kernel

}  // namespace

ScriptedTrainer::ScriptedTrainer(Duration limit, std::function<void()> idle)
    : limit_(limit), idle_(std::move(idle)) {}

ScriptedTrainer::~ScriptedTrainer() {
  if (queues_ != nullptr) munmap(queues_, local::QueuesBytes());
  if (arena_ != nullptr) munmap(arena_, arena_bytes_);
}

bool ScriptedTrainer::Connect(const std::string& path) {
  socket_.Reset(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  REIGEN_CHECK(path.size() < sizeof(address.sun_path));
  std::memcpy(address.sun_path, path.data(), path.size());
  return connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

void ScriptedTrainer::Send(const void* packet, size_t bytes) {
  (void)send(socket_.get(), packet, bytes, MSG_NOSIGNAL);
}

void ScriptedTrainer::SendWithFds(const void* packet, size_t bytes, std::span<const int> fds) {
  iovec part{const_cast<void*>(packet), bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostFds * sizeof(int))] = {};
  REIGEN_CHECK(fds.size() <= kMostFds);
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(fds.size_bytes());
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(fds.size_bytes());
  std::memcpy(CMSG_DATA(head), fds.data(), fds.size_bytes());
  (void)sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
}

void ScriptedTrainer::WakeWorker() {
  if (header_->worker_sleeping.exchange(0) != 0) eventfd_write(wake_.get(), 1);
}

void ScriptedTrainer::Hello(int rank) {
  local::Hello hello;
  hello.rank = rank;
  hello.pid = getpid();
  Send(hello);
}

std::optional<local::PacketKind> ScriptedTrainer::Receive() {
  const Time deadline = Now() + limit_;
  pollfd ready{socket_.get(), POLLIN, 0};
  while (pending_.empty() && poll(&ready, 1, idle_ ? 0 : 10) == 0) {
    if (Now() > deadline) return std::nullopt;
    if (idle_) idle_();
  }
  if (!pending_.empty()) {
    packet_ = std::move(pending_.front());
    pending_.pop_front();
    return packet<local::Packet>().kind;
  }
  const auto kind = ReceiveOne();
  return kind == local::PacketKind{} ? Receive() : kind;
}

// Kind 0: it was on_packet_'s.
std::optional<local::PacketKind> ScriptedTrainer::ReceiveOne() {
  packet_.assign(sizeof(local::Refused), std::byte{0});
  iovec part{packet_.data(), packet_.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(3 * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t received = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
  if (received < static_cast<ssize_t>(sizeof(local::Packet))) return std::nullopt;
  std::vector<UniqueFd> fds;
  if (const cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr) {
    std::vector<int> numbers((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    std::memcpy(numbers.data(), CMSG_DATA(head), numbers.size() * sizeof(int));
    for (int fd : numbers) fds.emplace_back(fd);
  }
  const auto kind = packet<local::Packet>().kind;
  if (on_packet_ && on_packet_(kind, fds)) return local::PacketKind{};
  if (kind == local::PacketKind::kWelcome && !MapWelcome(fds)) return std::nullopt;
  return kind;
}

void ScriptedTrainer::TakePackets() {
  pollfd ready{socket_.get(), POLLIN, 0};
  char byte = 0;  // a closed socket is Receive()'s to see
  while (poll(&ready, 1, 0) > 0 && recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0) {
    const auto kind = ReceiveOne();
    if (kind && *kind != local::PacketKind{}) pending_.push_back(packet_);
  }
}

bool ScriptedTrainer::MapWelcome(std::vector<UniqueFd>& fds) {
  if (fds.size() != 3) return false;
  arena_bytes_ = packet<local::Welcome>().arena_bytes;
  const auto map = [](const UniqueFd& fd, size_t bytes) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
  };
  queues_ = map(fds[0], local::QueuesBytes());
  arena_ = map(fds[1], arena_bytes_);
  wake_ = std::move(fds[2]);
  header_ = reinterpret_cast<local::QueueHeader*>(queues_);
  return queues_ != nullptr && arena_ != nullptr;
}

std::string ScriptedTrainer::ReceiveRefusal() {
  if (Receive() != local::PacketKind::kRefused) return "";
  const auto refused = packet<local::Refused>();
  return std::string(refused.text, std::min<size_t>(refused.text_bytes, sizeof(refused.text)));
}

bool ScriptedTrainer::Init(int rank) {
  Hello(rank);
  return Receive() == local::PacketKind::kWelcome &&
         Receive() == local::PacketKind::kEpochBegun;
}

void ScriptedTrainer::Submit(std::span<const local::Slot> slots) {
  auto* queue = reinterpret_cast<local::Slot*>(queues_ + local::SubmissionOffset());
  uint32_t head = header_->submission_head.load();
  for (const local::Slot& slot : slots) queue[head++ % local::kSubmissionSlots] = slot;
  header_->submission_head.store(head);
  WakeWorker();
}

void ScriptedTrainer::DefineName(uint32_t id, const std::string& name) {
  std::vector<local::Slot> slots;
  for (size_t offset = 0; offset < name.size();) {
    local::NameSlot piece;
    piece.name = id;
    piece.total_bytes = static_cast<uint32_t>(name.size());
    piece.offset = static_cast<uint32_t>(offset);
    piece.piece_bytes = static_cast<uint32_t>(std::min(sizeof(piece.bytes), name.size() - offset));
    std::memcpy(piece.bytes, name.data() + offset, piece.piece_bytes);
    offset += piece.piece_bytes;
    slots.push_back(ToSlot(piece));
  }
  Submit(slots);
}

uint64_t ScriptedTrainer::Allreduce(uint32_t name, DataType dtype, uint64_t count,
                                    uint64_t offset, ReduceOp op) {
  local::TensorSlot tensor;
  tensor.dtype = static_cast<uint8_t>(dtype);
  tensor.count = count;
  tensor.offset = offset;
  return Allreduce(name, op, local::kHostDevice, tensor);
}

uint64_t ScriptedTrainer::Allreduce(uint32_t name, ReduceOp op, uint8_t device_kind,
                                    local::TensorSlot tensor) {
  local::RequestSlot request;
  request.name = name;
  request.request = next_request_++;
  request.op = static_cast<uint8_t>(op);
  request.device_kind = device_kind;
  request.tensor_count = 1;
  tensor.name = name;
  tensor.ndim = 1;
  tensor.shape[0] = tensor.count;
  Submit(std::array{ToSlot(request), ToSlot(tensor)});
  return request.request;
}

uint64_t ScriptedTrainer::InlineAllreduce(uint32_t name, DataType dtype,
                                          std::span<const std::byte> payload) {
  local::RequestSlot request;
  request.name = name;
  request.request = next_request_++;
  request.op = static_cast<uint8_t>(ReduceOp::kSum);
  request.tensor_count = 1;
  local::TensorSlot tensor;
  tensor.name = name;
  tensor.dtype = static_cast<uint8_t>(dtype);
  tensor.ndim = 1;
  tensor.count = tensor.shape[0] = payload.size() / ElementBytes(dtype);
  tensor.arena = local::kInlineArena;
  std::memcpy(tensor.inline_bytes, payload.data(), payload.size());
  Submit(std::array{ToSlot(request), ToSlot(tensor)});
  return request.request;
}

void ScriptedTrainer::TakeCompletions() {
  const auto* queue =
      reinterpret_cast<const local::Slot*>(queues_ + local::CompletionOffset());
  uint32_t tail = header_->completion_tail.load();
  const uint32_t head = header_->completion_head.load();
  while (tail != head) {
    local::CompletionSlot slot;
    std::memcpy(static_cast<void*>(&slot), &queue[tail++ % local::kCompletionSlots], sizeof slot);
    ScriptedResult result{slot.code, "", {}};
    std::memcpy(result.inline_bytes.data(), slot.inline_bytes, sizeof slot.inline_bytes);
    for (uint32_t i = 0; i < slot.text_slots; ++i) {
      result.text.append(
          reinterpret_cast<const char*>(queue[tail++ % local::kCompletionSlots].bytes),
          sizeof(local::Slot));
    }
    result.text.resize(slot.text_bytes);
    results_[slot.request] = std::move(result);
  }
  header_->completion_tail.store(tail);
  if (header_->completion_wanted.exchange(0) != 0) eventfd_write(wake_.get(), 1);
}

std::optional<ScriptedResult> ScriptedTrainer::Wait(uint64_t request) {
  const Time deadline = Now() + limit_;
  while (true) {
    TakeCompletions();
    if (const auto it = results_.find(request); it != results_.end()) {
      ScriptedResult result = std::move(it->second);
      results_.erase(it);
      return result;
    }
    if (Now() > deadline) return std::nullopt;
    if (idle_) {
      idle_();
      continue;
    }
    const uint32_t seen = header_->completion_tail.load();
    header_->trainer_waiting.fetch_add(1);
    if (header_->completion_head.load() == seen) {
      const timespec slice{0, 50'000'000};
      syscall(SYS_futex, &header_->completion_head, FUTEX_WAIT, seen, &slice, nullptr, 0);
    }
    header_->trainer_waiting.fetch_sub(1);
  }
}

}  // namespace reigen::worker
