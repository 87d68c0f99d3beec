#include "runtime/transport/rdma/device_watch.h"

#include <optional>

namespace reigen::transport::rdma {

Status DeviceWatch::Start(Poller& poller) {
  REIGEN_ASSIGN_OR_RETURN(completion_watch_,
                          poller.Add(device_->completion_fd(), EPOLLIN, [this](uint32_t happened) {
                            Look(happened, completions_);
                          }));
  REIGEN_ASSIGN_OR_RETURN(async_watch_,
                          poller.Add(device_->async_fd(), EPOLLIN,
                                     [this](uint32_t happened) { Look(happened, async_); }));
  return OkStatus();
}

void DeviceWatch::Look(uint32_t happened, bool& readable) {
  readable = true;
  if ((happened & (EPOLLERR | EPOLLHUP)) == 0) return;
  broken_ = true;
  completion_watch_.Reset();
  async_watch_.Reset();
}

bool DeviceWatch::TakeCompletionEvents() {
  if (!std::exchange(completions_, false)) return false;
  device_->TakeEvents();
  return true;
}

std::vector<AsyncEvent> DeviceWatch::TakeAsyncEvents() {
  const bool tell = broken_ && !std::exchange(told_, broken_);
  if (std::exchange(async_, false) || tell) LookAhead();
  if (tell) events_.push_back({.kind = AsyncKind::kDeviceFatal, .text = "the device has gone"});
  return std::exchange(events_, {});
}

const std::vector<AsyncEvent>& DeviceWatch::LookAhead() {
  while (std::optional<AsyncEvent> event = device_->NextAsyncEvent()) {
    events_.push_back(std::move(*event));
  }
  return events_;
}

}  // namespace reigen::transport::rdma
