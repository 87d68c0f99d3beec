// An open device and what it tells, for all ports of it that links use.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_DEVICE_WATCH_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_DEVICE_WATCH_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/transport/rdma/verbs.h"
#include "runtime/transport/tcp/poller.h"

namespace reigen::transport::rdma {

// One for a device: its events are of all its ports, and its descriptors can be watched
// once only.
//
// A device that is taken away (its driver unloaded, its card pulled) says so by descriptors
// that are broken from then on, and say so at once each time they are looked at: they are
// watched no longer, and those who use the device are told once.
//
// Threads: one owner.
class DeviceWatch {
 public:
  explicit DeviceWatch(std::shared_ptr<Device> device) : device_(std::move(device)) {}
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  Status Start(Poller& poller);

  const std::shared_ptr<Device>& device() const { return device_; }

  // Since the last call: completions came to armed queues; asynchronous events.
  bool TakeCompletionEvents();
  std::vector<AsyncEvent> TakeAsyncEvents();
  // What TakeAsyncEvents() will give, and what has come since it looked.
  const std::vector<AsyncEvent>& LookAhead();
  bool has_events() const { return !events_.empty(); }  // from looking ahead

 private:
  void Look(uint32_t happened, bool& readable);

  const std::shared_ptr<Device> device_;
  Poller::Watch completion_watch_;
  Poller::Watch async_watch_;
  std::vector<AsyncEvent> events_;  // not taken yet
  bool completions_ = false;
  bool async_ = false;
  bool broken_ = false;
  bool told_ = false;  // that it is broken
};

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_DEVICE_WATCH_H_
