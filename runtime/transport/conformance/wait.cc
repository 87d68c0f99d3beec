#include "runtime/transport/conformance/wait.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "runtime/base/clock.h"

namespace reigen::transport {

void WaitForAny(const std::vector<Transport*>& hosts) {
  std::vector<pollfd> events;
  Duration wait = milliseconds(5);
  const Time start = Now();
  for (const Transport* host : hosts) {
    if (host == nullptr) continue;
    events.push_back({host->event_fd(), POLLIN, 0});
    const std::optional<Time> deadline = host->NextDeadline();
    if (deadline) wait = std::min(wait, std::max(Duration(0), *deadline - start));
  }
  const auto wait_ms = std::chrono::ceil<milliseconds>(wait).count();
  poll(events.data(), events.size(), static_cast<int>(wait_ms));
}

void WaitAndProgress(const std::vector<Transport*>& hosts) {
  WaitForAny(hosts);
  for (Transport* host : hosts) {
    if (host != nullptr) host->Progress(Now());
  }
}

}  // namespace reigen::transport
