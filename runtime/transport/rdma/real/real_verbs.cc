#include "runtime/transport/rdma/real/real_verbs.h"

#include <fcntl.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/transport/rdma/real/destroyed.h"
#include "runtime/transport/rdma/real/queues.h"
#include "runtime/transport/rdma/real/translate.h"
#include "runtime/transport/rdma/words.h"

namespace reigen::transport::rdma {
namespace {

Status SetNonBlocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0) return OkStatus();
  return ErrnoStatus(StatusCode::kInternal, "O_NONBLOCK on an RDMA event descriptor");
}

class RealDevice final : public Device {
 public:
  static StatusOr<std::unique_ptr<Device>> Open(ibv_device* from) {
    std::unique_ptr<RealDevice> device(new RealDevice());
    const std::string name = ibv_get_device_name(from);
    device->context_ = ibv_open_device(from);
    if (device->context_ == nullptr) {
      return ErrnoStatus(StatusCode::kUnavailable, "ibv_open_device " + name);
    }
    device->pd_ = ibv_alloc_pd(device->context_);
    if (device->pd_ == nullptr) return ErrnoStatus(StatusCode::kUnavailable, "ibv_alloc_pd " + name);
    device->channel_ = ibv_create_comp_channel(device->context_);
    if (device->channel_ == nullptr) {
      return ErrnoStatus(StatusCode::kUnavailable, "ibv_create_comp_channel " + name);
    }
    REIGEN_RETURN_IF_ERROR(SetNonBlocking(device->channel_->fd));
    REIGEN_RETURN_IF_ERROR(SetNonBlocking(device->context_->async_fd));
    return std::unique_ptr<Device>(std::move(device));
  }

  ~RealDevice() override {
    if (channel_ != nullptr) ibv_destroy_comp_channel(channel_);
    if (pd_ != nullptr) CheckDestroyed(ibv_dealloc_pd(pd_), "ibv_dealloc_pd");
    if (context_ != nullptr) ibv_close_device(context_);
  }

  StatusOr<DeviceInfo> Query() override { return QueryDevice(context_); }

  StatusOr<std::unique_ptr<MemoryRegion>> Register(std::span<std::byte> memory,
                                                   Access access) override {
    ibv_mr* mr = ibv_reg_mr(pd_, memory.data(), memory.size(), ToAccessFlags(access));
    if (mr != nullptr) return std::unique_ptr<MemoryRegion>(new RealRegion(mr));
    return ErrnoStatus(ToCode(errno), "ibv_reg_mr of " + std::to_string(memory.size()) + " bytes");
  }

  StatusOr<std::unique_ptr<MemoryRegion>> RegisterDmabuf(int fd, uint64_t offset, uint64_t bytes,
                                                         uint64_t address,
                                                         Access access) override {
    ibv_mr* mr = ibv_reg_dmabuf_mr(pd_, offset, bytes, address, fd,
                                   ToAccessFlags(access) | IBV_ACCESS_REMOTE_READ);
    if (mr == nullptr) return DescribeDmabuf(errno, bytes);
    return std::unique_ptr<MemoryRegion>(new RealRegion(mr));
  }

  StatusOr<std::unique_ptr<CompletionQueue>> CreateCompletionQueue(uint32_t entries) override {
    ibv_cq* cq = ibv_create_cq(context_, static_cast<int>(entries), nullptr, channel_, 0);
    if (cq == nullptr) return ErrnoStatus(ToCode(errno), "ibv_create_cq");
    return std::unique_ptr<CompletionQueue>(new RealCompletionQueue(cq));
  }

  StatusOr<std::unique_ptr<QueuePair>> CreateQueuePair(CompletionQueue* queue,
                                                       const QpLimits& limits, uint8_t port,
                                                       uint16_t pkey_index) override {
    ibv_cq* cq = static_cast<RealCompletionQueue*>(queue)->get();
    REIGEN_ASSIGN_OR_RETURN(auto pair, RealQueuePair::Create(pd_, cq, limits, port, pkey_index));
    return std::unique_ptr<QueuePair>(std::move(pair));
  }

  int completion_fd() const override { return channel_->fd; }

  void TakeEvents() override {
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    while (ibv_get_cq_event(channel_, &cq, &context) == 0) ibv_ack_cq_events(cq, 1);
  }

  int async_fd() const override { return context_->async_fd; }

  std::optional<AsyncEvent> NextAsyncEvent() override {
    ibv_async_event from{};
    if (ibv_get_async_event(context_, &from) != 0) return std::nullopt;
    AsyncEvent event;
    event.kind = ToAsyncKind(from.event_type);
    event.text = ibv_event_type_str(from.event_type);
    if (event.kind == AsyncKind::kQpFatal || event.kind == AsyncKind::kQpError) {
      event.qp_number = from.element.qp->qp_num;
    } else if (event.kind == AsyncKind::kCqError) {
      event.cq_number = from.element.cq->handle;
    } else if (event.kind == AsyncKind::kPortError || event.kind == AsyncKind::kPortActive ||
               event.kind == AsyncKind::kAddressChange) {
      event.port = static_cast<uint8_t>(from.element.port_num);
    }
    // At once: whoever destroys the object of an event waits for this.
    ibv_ack_async_event(&from);
    return event;
  }

 private:
  RealDevice() = default;

  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_comp_channel* channel_ = nullptr;
};

// The library's list, freed at the end. Devices opened from it stay.
class List {
 public:
  List() : devices_(ibv_get_device_list(&count_)), error_(errno) {}
  ~List() {
    if (devices_ != nullptr) ibv_free_device_list(devices_);
  }
  Status status() const {
    // A kernel without RDMA says ENOSYS: there is no device.
    if (devices_ != nullptr || error_ == ENOSYS) return OkStatus();
    return ErrnoStatus(StatusCode::kUnavailable, "ibv_get_device_list", error_);
  }
  std::span<ibv_device* const> devices() const {
    return {devices_, devices_ == nullptr ? 0 : static_cast<size_t>(count_)};
  }

 private:
  int count_ = 0;
  ibv_device** const devices_;
  const int error_;
};

// Devices that the kernel has, also those that the library leaves out: it lists none whose
// node in /dev/infiniband is missing (in a container), or whose driver it lacks.
std::vector<std::string> KernelDevices() {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/sys/class/infiniband", error), end;
       !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class RealVerbs final : public Verbs {
 public:
  StatusOr<std::vector<std::string>> ListDevices() override {
    const List list;
    REIGEN_RETURN_IF_ERROR(list.status());
    std::vector<std::string> names;
    for (ibv_device* device : list.devices()) names.push_back(ibv_get_device_name(device));
    for (const std::string& name : KernelDevices()) {
      if (!Contains(names, name)) names.push_back(name);
    }
    return names;
  }

  StatusOr<std::unique_ptr<Device>> Open(const std::string& name) override {
    const List list;
    REIGEN_RETURN_IF_ERROR(list.status());
    for (ibv_device* device : list.devices()) {
      if (name != ibv_get_device_name(device)) continue;
      REIGEN_RETURN_IF_ERROR(CheckProtocol(*device));
      return RealDevice::Open(device);
    }
    if (Contains(KernelDevices(), name)) {
      return NotFound("libibverbs does not list it: its /dev/infiniband/uverbs* is not here, or its "
                      "driver (package ibverbs-providers)");
    }
    return NotFound("there is no RDMA device " + name);
  }
};

}  // namespace

StatusOr<std::unique_ptr<Verbs>> MakeRealVerbs() {
  // Without it, memory that is registered when this process forks could be another process's
  // afterwards: the next write here would go to a copy, and devices still to the page itself.
  // (Not where kernels copy such pages when they fork; the library knows.)
  if (const int error = ibv_fork_init(); error != 0) {
    return ErrnoStatus(StatusCode::kFailedPrecondition, "ibv_fork_init", error);
  }
  return std::unique_ptr<Verbs>(new RealVerbs());
}

}  // namespace reigen::transport::rdma
