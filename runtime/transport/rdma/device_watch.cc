#include "runtime/transport/rdma/device_watch.h"

#include <optional>

namespace reigen::transport::rdma {

Status DeviceWatch::Start(Poller& poller) {
  REIGEN_ASSIGN_OR_RETURN(completion_watch_,
                          poller.Add(device_->completion_fd(), EPOLLIN,
                                     [this](uint32_t) { completions_ = true; }));
  REIGEN_ASSIGN_OR_RETURN(async_watch_, poller.Add(device_->async_fd(), EPOLLIN,
                                                   [this](uint32_t) { async_ = true; }));
  return OkStatus();
}

bool DeviceWatch::TakeCompletionEvents() {
  if (!std::exchange(completions_, false)) return false;
  device_->TakeEvents();
  return true;
}

std::vector<AsyncEvent> DeviceWatch::TakeAsyncEvents() {
  std::vector<AsyncEvent> events;
  if (!std::exchange(async_, false)) return events;
  while (std::optional<AsyncEvent> event = device_->NextAsyncEvent()) {
    events.push_back(std::move(*event));
  }
  return events;
}

}  // namespace reigen::transport::rdma
