#include "runtime/transport/rdma/fake/fake_fabric.h"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/transport/rdma/fake/fake_queues.h"
#include "runtime/transport/rdma/words.h"

namespace reigen::transport::rdma {
namespace {

UniqueFd MakeEvent() { return UniqueFd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)); }

void Clear(const UniqueFd& event) {
  uint64_t count = 0;
  while (read(event.get(), &count, sizeof count) > 0) {
  }
}

}  // namespace

void FakeDeviceState::Raise(const AsyncEvent& event) {
  async.push_back(event);
  const uint64_t one = 1;
  REIGEN_CHECK(write(async_event.get(), &one, sizeof one) == sizeof one);
}

class FakeRegion final : public MemoryRegion {
 public:
  FakeRegion(FakeFabric* fabric, const FakeMemory& memory) : fabric_(*fabric) {
    key_ = fabric_.last_key_ += 2;  // local key; the remote one is the next
    fabric_.memory_[key_] = memory;
    ++memory.device->registrations;
    if (memory.gpu == nullptr) memory.device->locked_bytes += memory.memory.size();
  }
  ~FakeRegion() override {
    const FakeMemory& memory = fabric_.memory_.at(key_);
    --memory.device->registrations;
    if (memory.gpu == nullptr) memory.device->locked_bytes -= memory.memory.size();
    if (memory.gpu != nullptr) munmap(memory.gpu, memory.memory.size());
    fabric_.memory_.erase(key_);
  }
  uint32_t local_key() const override { return key_; }
  uint32_t remote_key() const override { return key_ + 1; }

 private:
  FakeFabric& fabric_;
  uint32_t key_;
};

class FakeDevice final : public Device {
 public:
  FakeDevice(FakeFabric* fabric, FakeDeviceState* state) : fabric_(*fabric), state_(*state) {
    REIGEN_CHECK(!state_.open, "opened twice");
    state_.open = true;
  }
  ~FakeDevice() override {
    REIGEN_CHECK(state_.registrations == 0 && state_.queue_pairs == 0 &&
                     state_.completion_queues == 0,
                 "a device is closed while it is in use");
    state_.open = false;
  }

  StatusOr<DeviceInfo> Query() override {
    ++state_.queries;
    REIGEN_RETURN_IF_ERROR(std::exchange(state_.next_query_status, OkStatus()));
    return state_.info;
  }

  StatusOr<std::unique_ptr<MemoryRegion>> Register(std::span<std::byte> memory,
                                                   Access access) override {
    REIGEN_RETURN_IF_ERROR(std::exchange(state_.next_register_status, OkStatus()));
    const bool full = state_.registers_until_full && (*state_.registers_until_full)-- == 0;
    if (full) state_.registers_until_full = 0;
    if (full || state_.locked_bytes + memory.size() > state_.locked_limit) {
      return ErrnoStatus(StatusCode::kResourceExhausted, "ibv_reg_mr", ENOMEM);
    }
    state_.accesses.push_back(access);
    state_.addresses.push_back(memory.data());
    FakeMemory known;
    known.device = &state_;
    known.memory = memory;
    known.access = access;
    return std::unique_ptr<MemoryRegion>(new FakeRegion(&fabric_, known));
  }

  StatusOr<std::unique_ptr<MemoryRegion>> RegisterDmabuf(int fd, uint64_t offset, uint64_t bytes,
                                                         uint64_t address,
                                                         Access access) override {
    if (!state_.dmabuf) return DescribeDmabuf(EOPNOTSUPP, bytes);
    if (state_.dmabuf_error != 0) return DescribeDmabuf(state_.dmabuf_error, bytes);
    void* const gpu = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                           static_cast<off_t>(offset));
    if (gpu == MAP_FAILED) return DescribeDmabuf(errno, bytes);
    FakeMemory memory;
    memory.device = &state_;
    memory.memory = {reinterpret_cast<std::byte*>(address), bytes};
    memory.access = access;
    memory.gpu = static_cast<std::byte*>(gpu);
    return std::unique_ptr<MemoryRegion>(new FakeRegion(&fabric_, memory));
  }

  StatusOr<std::unique_ptr<CompletionQueue>> CreateCompletionQueue(uint32_t entries) override {
    REIGEN_RETURN_IF_ERROR(std::exchange(state_.next_completion_queue_status, OkStatus()));
    if (entries > state_.info.max_cqes) {
      return ErrnoStatus(StatusCode::kInvalidArgument, "ibv_create_cq", EINVAL);
    }
    return std::unique_ptr<CompletionQueue>(new FakeCompletionQueue(&fabric_, &state_, entries));
  }

  StatusOr<std::unique_ptr<QueuePair>> CreateQueuePair(CompletionQueue* queue,
                                                       const QpLimits& limits, uint8_t,
                                                       uint16_t pkey_index) override {
    REIGEN_RETURN_IF_ERROR(std::exchange(state_.next_queue_pair_status, OkStatus()));
    state_.pkey_indexes.push_back(pkey_index);
    return std::unique_ptr<QueuePair>(
        new FakeQueuePair(&fabric_, static_cast<FakeCompletionQueue*>(queue), limits));
  }

  int completion_fd() const override { return state_.completion_event.get(); }
  void TakeEvents() override { Clear(state_.completion_event); }
  int async_fd() const override { return state_.async_event.get(); }

  std::optional<AsyncEvent> NextAsyncEvent() override {
    if (state_.async.empty()) {
      Clear(state_.async_event);
      return std::nullopt;
    }
    const AsyncEvent event = state_.async.front();
    state_.async.pop_front();
    return event;
  }

 private:
  FakeFabric& fabric_;
  FakeDeviceState& state_;
};

class FakeVerbs final : public Verbs {
 public:
  FakeVerbs(FakeFabric* fabric, int host) : fabric_(*fabric), host_(host) {}

  StatusOr<std::vector<std::string>> ListDevices() override {
    std::vector<std::string> names;
    for (const auto& device : fabric_.devices_) {
      if (device->host == host_) names.push_back(device->info.name);
    }
    return names;
  }

  StatusOr<std::unique_ptr<Device>> Open(const std::string& name) override {
    FakeDeviceState& state = fabric_.device(host_, name);
    REIGEN_RETURN_IF_ERROR(state.open_status);
    return std::unique_ptr<Device>(new FakeDevice(&fabric_, &state));
  }

 private:
  FakeFabric& fabric_;
  const int host_;
};

FakeFabric::FakeFabric() = default;

FakeFabric::~FakeFabric() = default;

FakeDeviceState& FakeFabric::AddDevice(int host, const std::string& name,
                                       const std::string& address) {
  auto state = std::make_unique<FakeDeviceState>();
  state->host = host;
  state->info.name = name;
  state->info.max_qp_wrs = 1 << 16;
  state->info.max_cqes = 1 << 20;
  state->info.max_region_bytes = UINT64_MAX;
  PortInfo port;
  port.active = true;
  port.state = "ACTIVE";
  port.active_mtu_bytes = 4096;
  port.max_message_bytes = 8 << 20;
  port.gbits_per_s = 100;
  port.pkeys = {0xffff};
  port.gids = {{0, *GidOfAddress("fe80::1"), GidType::kRoceV2},
               {1, *GidOfAddress(address), GidType::kRoceV2}};
  state->info.ports = {port};
  state->completion_event = MakeEvent();
  state->async_event = MakeEvent();
  devices_.push_back(std::move(state));
  return *devices_.back();
}

FakeDeviceState& FakeFabric::device(const std::string& name) {
  for (const auto& device : devices_) {
    if (device->info.name == name) return *device;
  }
  REIGEN_CHECK(false, "no such device");
}

FakeDeviceState& FakeFabric::device(int host, const std::string& name) {
  for (const auto& device : devices_) {
    if (device->host == host && device->info.name == name) return *device;
  }
  REIGEN_CHECK(false, "no such device");
}

std::unique_ptr<Verbs> FakeFabric::VerbsOf(int host) {
  return std::make_unique<FakeVerbs>(this, host);
}

void FakeFabric::Break(uint32_t queue_pair) { queue_pairs_.at(queue_pair)->Break(); }

size_t FakeFabric::registrations() const { return memory_.size(); }

size_t FakeFabric::queue_pairs() const { return queue_pairs_.size(); }

void FakeFabric::Release() {
  hold_ = hold_reads_ = false;
  while (!held_.empty()) {
    Held held = std::move(held_.front());
    held_.pop_front();
    if (held.work.inlined) held.work.local.address = held.inlined.data();
    Execute(*held.from, held.work);
  }
}

FakeQueuePair* FakeFabric::PeerOf(const FakeQueuePair& from) {
  const auto at = queue_pairs_.find(from.path_.remote_qp);
  if (at == queue_pairs_.end() || at->second->state_ == FakeQueuePair::State::kError) return nullptr;
  return at->second;
}

FakeMemory* FakeFabric::Covering(uint32_t key, FakeDeviceState& device, uint64_t address,
                                 uint64_t bytes) {
  const auto at = memory_.find(key);
  if (at == memory_.end() || at->second.device != &device) return nullptr;
  const auto begin = reinterpret_cast<uint64_t>(at->second.memory.data());
  if (address < begin || address + bytes > begin + at->second.memory.size()) return nullptr;
  return &at->second;
}

void FakeFabric::Land(const std::vector<FakeWrite>& writes) {
  for (const FakeWrite& write : writes) {
    const auto at = memory_.find(write.key);
    if (at == memory_.end()) continue;
    std::copy(write.bytes.begin(), write.bytes.end(), at->second.At(write.address));
  }
}

// Whatever the device wrote before to the same memory is there after it.
WorkStatus FakeFabric::Read(FakeQueuePair& from, FakeQueuePair& to, const SendWork& work) {
  const Segment& local = work.local;
  const auto address = reinterpret_cast<uint64_t>(local.address);
  const FakeMemory* into = Covering(local.local_key, from.device_, address, local.bytes);
  if (into == nullptr) return WorkStatus::kLocalProtection;
  FakeMemory* memory =
      Covering(work.remote_key - 1, to.device_, work.remote_address, local.bytes);
  if (memory == nullptr || memory->gpu == nullptr || !to.limits_.remote_read) {
    return WorkStatus::kRemoteAccess;
  }
  for (const FakeMemory::Late& late : memory->late) {
    std::copy(late.bytes.begin(), late.bytes.end(), memory->At(late.address));
  }
  memory->late.clear();
  ++to.device_.reads;
  std::memcpy(into->At(address), memory->At(work.remote_address), local.bytes);
  return WorkStatus::kSuccess;
}

void FakeFabric::Execute(FakeQueuePair& from, const SendWork& work) {
  WorkStatus status = WorkStatus::kFlushed;
  if (from.state_ == FakeQueuePair::State::kConnected) {
    std::optional<WorkStatus>& next = work.opcode == Opcode::kRead ? from.device_.next_read_status
                                                                   : from.device_.next_send_status;
    const std::optional<WorkStatus> planned = std::exchange(next, {});
    status = planned ? *planned : Deliver(from, work);
  }
  from.CompleteSend(work, status);
  if (status != WorkStatus::kSuccess) from.Break();
}

WorkStatus FakeFabric::Deliver(FakeQueuePair& from, const SendWork& work) {
  FakeQueuePair* to = PeerOf(from);
  if (to == nullptr || cut_[from.device_.info.name] || cut_[to->device_.info.name]) {
    dropped_ += to == nullptr ? 1 : 0;
    return WorkStatus::kRetryExceeded;
  }
  if (work.opcode == Opcode::kRead) return Read(from, *to, work);
  const Segment& local = work.local;
  // What a device says to more than its port takes at once, here or there.
  if (local.bytes > from.device_.info.ports[0].max_message_bytes) return WorkStatus::kLocalLength;
  if (local.bytes > to->device_.info.ports[0].max_message_bytes) {
    return WorkStatus::kRemoteInvalidRequest;
  }
  const std::byte* source = local.address;
  if (!work.inlined && local.bytes > 0) {
    const auto address = reinterpret_cast<uint64_t>(local.address);
    const FakeMemory* memory = Covering(local.local_key, from.device_, address, local.bytes);
    if (memory == nullptr) return WorkStatus::kLocalProtection;
    source = memory->At(address);
  }
  FakeMemory* written = nullptr;
  std::byte* target = nullptr;
  if (work.opcode != Opcode::kSend && local.bytes > 0) {
    written = Covering(work.remote_key - 1, to->device_, work.remote_address, local.bytes);
    if (written == nullptr || written->access == Access::kLocal) return WorkStatus::kRemoteAccess;
    target = written->At(work.remote_address);
  }
  WorkCompletion arrived;
  arrived.bytes = local.bytes;
  if (work.opcode != Opcode::kWrite) {
    if (to->receives_.empty()) {
      ++missing_receives_;
      return WorkStatus::kRnrRetryExceeded;
    }
    const ReceiveWork receive = to->receives_.front();
    to->receives_.pop_front();
    arrived.id = receive.id;
    arrived.opcode = work.opcode == Opcode::kSend ? Opcode::kReceive : Opcode::kReceiveWithImm;
    arrived.immediate = work.immediate;
    if (work.opcode == Opcode::kSend) {
      if (receive.local.bytes < local.bytes) return WorkStatus::kRemoteInvalidRequest;
      target = const_cast<std::byte*>(receive.local.address);
    }
  }
  if (written != nullptr && &to->device_ != &from.device_) from.device_.wrote_bytes += local.bytes;
  if (written != nullptr && written->gpu != nullptr && to->device_.late) {
    written->late.push_back({work.remote_address, {source, source + local.bytes}});
  } else if (written != nullptr && written->gpu == nullptr) {
    to->written_.push_back({work.remote_key - 1, work.remote_address, {source, source + local.bytes}});
  } else if (local.bytes > 0) {
    std::memcpy(target, source, local.bytes);
  }
  if (work.opcode != Opcode::kWrite) to->CompleteReceive(arrived);
  return WorkStatus::kSuccess;
}

}  // namespace reigen::transport::rdma
