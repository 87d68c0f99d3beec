#include "client/c/fake_worker.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "client/c/futex.h"
#include "runtime/base/check.h"

namespace reigen::sdk {
namespace {

template <typename T>
T As(const std::byte* bytes) {
  T out;
  std::memcpy(static_cast<void*>(&out), bytes, sizeof(out));
  return out;
}

// A packet, and the descriptor that came with it.
bool Receive(int socket, std::array<std::byte, 2048>& bytes, UniqueFd* fd) {
  iovec buffer = {.iov_base = bytes.data(), .iov_len = bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message = {};
  message.msg_iov = &buffer;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0) return false;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr) return true;
  int received = -1;
  std::memcpy(&received, CMSG_DATA(header), sizeof(received));
  fd->Reset(received);
  return true;
}

}  // namespace

FakeWorker::FakeWorker(FakeScript script) : script_(std::move(script)) {
  char pattern[] = "/tmp/reigen-fake-XXXXXX";
  REIGEN_CHECK(mkdtemp(pattern) != nullptr);
  folder_ = pattern;
  path_ = folder_ + "/worker.sock";
  listener_.Reset(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.data(), path_.size());
  REIGEN_CHECK(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  REIGEN_CHECK(listen(listener_.get(), 4) == 0);
  stop_.Reset(eventfd(0, EFD_CLOEXEC));
  wake_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  queues_ = MakeFile(local::QueuesBytes());
  header_ = new (queues_.base) local::QueueHeader{};
  header_->magic = local::kMagic;
  header_->version = local::kVersion;
  header_->submission_slots = local::kSubmissionSlots;
  header_->completion_slots = local::kCompletionSlots;
  header_->command_slots = local::kCommandSlots;
  header_->done_slots = local::kDoneSlots;
  arenas_.push_back(MakeFile(script_.arena_bytes));
  thread_ = std::thread([this] { Serve(); });
}

FakeWorker::~FakeWorker() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
  munmap(queues_.base, queues_.bytes);
  for (const auto* files : {&arenas_, &scratches_}) {
    for (const Mapping& file : *files) {
      if (file.base != nullptr) munmap(file.base, file.bytes);
    }
  }
  unlink(path_.c_str());
  rmdir(folder_.c_str());
}

FakeWorker::Mapping FakeWorker::MakeFile(uint64_t bytes) {
  Mapping file;
  file.fd.Reset(memfd_create("fake", MFD_CLOEXEC));
  file.bytes = bytes;
  REIGEN_CHECK(ftruncate(file.fd.get(), static_cast<off_t>(bytes)) == 0);
  void* base =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd.get(), 0);
  REIGEN_CHECK(base != MAP_FAILED);
  file.base = static_cast<std::byte*>(base);
  return file;
}

void FakeWorker::SetEnvironment() const {
  setenv("REIGEN_SOCKET", path_.c_str(), 1);
  setenv("REIGEN_RANK", std::to_string(script_.rank).c_str(), 1);
}

void FakeWorker::Serve() {
  pollfd first[2] = {{.fd = listener_.get(), .events = POLLIN, .revents = 0},
                     {.fd = stop_.get(), .events = POLLIN, .revents = 0}};
  REIGEN_CHECK(poll(first, 2, -1) > 0);
  if (first[1].revents != 0) return;
  {
    const std::lock_guard lock(mutex_);
    socket_.Reset(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  while (true) {
    int fd = -1;
    {
      const std::lock_guard lock(mutex_);
      fd = socket_.get();
      if (script_.take_requests) {
        OnSubmissions();
        OnDones();
        header_->worker_sleeping.store(1);
        OnSubmissions();
        OnDones();
      }
    }
    pollfd entries[3] = {{.fd = fd, .events = POLLIN, .revents = 0},
                         {.fd = wake_.get(), .events = POLLIN, .revents = 0},
                         {.fd = stop_.get(), .events = POLLIN, .revents = 0}};
    REIGEN_CHECK(poll(entries, 3, -1) > 0);
    if (entries[2].revents != 0) return;
    eventfd_t count = 0;
    if (entries[1].revents != 0) eventfd_read(wake_.get(), &count);
    const std::lock_guard lock(mutex_);
    if (entries[0].revents != 0 && socket_.valid() && !OnPacket()) socket_.Reset();
  }
}

bool FakeWorker::OnPacket() {
  std::array<std::byte, 2048> bytes;
  UniqueFd fd;
  if (!Receive(socket_.get(), bytes, &fd)) return false;
  switch (As<local::Packet>(bytes.data()).kind) {
    case local::PacketKind::kHello:
      if (!script_.refuse_hello.empty()) {
        SendRefused(local::ResultCode::kFailedPrecondition, script_.refuse_hello);
      } else if (script_.answer_hello) {
        SendWelcome();
        if (script_.begin_epoch) BeginEpoch();
      }
      return true;
    case local::PacketKind::kGrowArena: {
      if (!script_.refuse_growth.empty()) {
        SendRefused(local::ResultCode::kResourceExhausted, script_.refuse_growth);
        return true;
      }
      const auto grow = As<local::GrowArena>(bytes.data());
      local::ArenaGrown grown;
      grown.bytes = grow.bytes;
      grown.arena = static_cast<uint32_t>(arenas_.size());
      arenas_.push_back(MakeFile(grow.bytes));
      SendWithFds(&grown, sizeof(grown), {arenas_.back().fd.get()});
      return true;
    }
    case local::PacketKind::kAddDeviceArena:
      OnAddDeviceArena(As<local::AddDeviceArena>(bytes.data()), fd.valid());
      return true;
    case local::PacketKind::kPeerArenaOpened:
      opened_.push_back(As<local::PeerArenaOpened>(bytes.data()));
      return true;
    case local::PacketKind::kHostScratchMapped:
      mapped_.push_back(As<local::HostScratchMapped>(bytes.data()));
      return true;
    case local::PacketKind::kDeviceUse:
      no_uses_.push_back(As<local::DeviceUse>(bytes.data()));
      return true;
    case local::PacketKind::kShutdown: {
      if (!script_.answer_shutdown) return true;
      OnSubmissions();
      const local::ShutdownDone done;
      SendWithFds(&done, sizeof(done), {});
      return false;
    }
    default: return false;
  }
}

void FakeWorker::SendWelcome() {
  local::Welcome welcome;
  welcome.arena_bytes = script_.arena_bytes;
  welcome.worker_pid = 4711;
  welcome.takes_device_arenas = script_.takes_device_arenas ? 1 : 0;
  SendWithFds(&welcome, sizeof(welcome),
              {queues_.fd.get(), arenas_[0].fd.get(), wake_.get()});
}

void FakeWorker::BeginEpoch() {
  const std::lock_guard lock(mutex_);
  local::EpochBegun begun;
  begun.epoch = 1;
  begun.rank = script_.rank;
  begun.size = script_.size;
  begun.local_rank = script_.rank;
  begun.local_size = script_.size;
  begun.cross_size = 1;
  begun.device_scratch_bytes = script_.device_scratch_bytes;
  begun.requires_device_arenas = script_.requires_device_arenas ? 1 : 0;
  SendWithFds(&begun, sizeof(begun), {});
}

void FakeWorker::SendRefused(local::ResultCode code, const std::string& text) {
  const std::lock_guard lock(mutex_);
  local::Refused refused;
  refused.code = static_cast<uint32_t>(code);
  refused.text_bytes = static_cast<uint32_t>(text.size());
  std::memcpy(refused.text, text.data(), text.size());
  SendWithFds(&refused, sizeof(refused), {});
}

void FakeWorker::SendRaw(const void* bytes, size_t count) {
  const std::lock_guard lock(mutex_);
  SendWithFds(bytes, count, {});
}

void FakeWorker::SendWithFds(const void* bytes, size_t count, const std::vector<int>& fds) {
  iovec buffer = {.iov_base = const_cast<void*>(bytes), .iov_len = count};
  msghdr message = {};
  message.msg_iov = &buffer;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(8 * sizeof(int))> control{};
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
  }
  REIGEN_CHECK(sendmsg(socket_.get(), &message, MSG_NOSIGNAL) == static_cast<ssize_t>(count));
}

void FakeWorker::OnSubmissions() {
  auto* const slots = reinterpret_cast<local::Slot*>(queues_.base + local::SubmissionOffset());
  const uint32_t head = header_->submission_head.load();
  uint32_t tail = header_->submission_tail.load();
  while (tail != head) {
    OnSlot(slots[tail % local::kSubmissionSlots]);
    header_->submission_tail.store(++tail);
  }
  if (header_->submission_waiting.load() != 0) FutexWakeAll(header_->submission_tail);
}

void FakeWorker::OnSlot(const local::Slot& slot) {
  switch (As<local::SlotKind>(slot.bytes)) {
    case local::SlotKind::kName: {
      const auto piece = As<local::NameSlot>(slot.bytes);
      if (piece.offset == 0) names_[piece.name].clear();
      if (piece.offset == 0) ++names_defined_;
      names_[piece.name].append(piece.bytes, piece.piece_bytes);
      return;
    }
    case local::SlotKind::kRequest:
      incoming_ = SeenRequest{.head = As<local::RequestSlot>(slot.bytes), .name = {},
                              .tensors = {}, .tensor_names = {}};
      incoming_.name = names_.at(incoming_.head.name);
      break;
    case local::SlotKind::kTensor:
      incoming_.tensors.push_back(As<local::TensorSlot>(slot.bytes));
      incoming_.tensor_names.push_back(names_.at(incoming_.tensors.back().name));
      break;
  }
  if (incoming_.tensors.size() < incoming_.head.tensor_count) return;
  seen_.push_back(incoming_);
  if (script_.on_request) script_.on_request(*this, SeenRequest(incoming_));
}

std::vector<SeenRequest> FakeWorker::WaitForRequests(size_t count) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (seen_.size() >= count) return seen_;
    }
    REIGEN_CHECK(std::chrono::steady_clock::now() < limit, "the requests did not come");
    std::this_thread::yield();
  }
}

size_t FakeWorker::requests_seen() {
  const std::lock_guard lock(mutex_);
  return seen_.size();
}

size_t FakeWorker::names_defined() {
  const std::lock_guard lock(mutex_);
  return names_defined_;
}

size_t FakeWorker::arena_count() {
  const std::lock_guard lock(mutex_);
  return arenas_.size();
}

void FakeWorker::Complete(uint64_t request, local::ResultCode code, const std::string& text,
                          const void* inline_bytes, uint32_t inline_count) {
  const std::lock_guard lock(mutex_);
  auto* const slots = reinterpret_cast<local::Slot*>(queues_.base + local::CompletionOffset());
  uint32_t head = header_->completion_head.load();
  local::CompletionSlot done;
  done.request = request;
  done.code = code;
  done.text_bytes = static_cast<uint32_t>(text.size());
  done.text_slots = static_cast<uint32_t>((text.size() + 127) / 128);
  done.inline_count = inline_count;
  if (inline_count > 0) std::memcpy(done.inline_bytes, inline_bytes, inline_count);
  std::memcpy(slots[head++ % local::kCompletionSlots].bytes, &done, sizeof(done));
  for (size_t offset = 0; offset < text.size(); offset += 128) {
    std::memcpy(slots[head++ % local::kCompletionSlots].bytes, text.data() + offset,
                std::min<size_t>(128, text.size() - offset));
  }
  header_->completion_head.store(head);
  if (header_->trainer_waiting.load() != 0) FutexWakeAll(header_->completion_head);
}

void FakeWorker::Echo(const SeenRequest& request) {
  const bool is_inline = request.tensors.size() == 1 &&
                         request.tensors[0].arena == local::kInlineArena &&
                         request.tensors[0].count > 0;
  if (!is_inline) return Complete(request.head.request);
  static constexpr std::array<uint32_t, 10> kBytes = {1, 1, 2, 4, 8, 2, 2, 4, 8, 1};
  const local::TensorSlot& tensor = request.tensors[0];
  Complete(request.head.request, local::ResultCode::kOk, "", tensor.inline_bytes,
           static_cast<uint32_t>(tensor.count) * kBytes.at(tensor.dtype));
}

std::byte* FakeWorker::Memory(const local::TensorSlot& tensor) {
  const std::lock_guard lock(mutex_);
  return arenas_.at(tensor.arena).base + tensor.offset;
}

void FakeWorker::TakeRequests(bool take) {
  {
    const std::lock_guard lock(mutex_);
    script_.take_requests = take;
  }
  eventfd_write(wake_.get(), 1);
}

void FakeWorker::Die() {
  const std::lock_guard lock(mutex_);
  shutdown(socket_.get(), SHUT_RDWR);
}

}  // namespace reigen::sdk
