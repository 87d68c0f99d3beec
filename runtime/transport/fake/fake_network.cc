#include "runtime/transport/fake/fake_network.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/transport/fake/fake_transport.h"

namespace reigen::transport {

FakeNetwork::FakeNetwork(const FakeOptions& options) : options_(options), random_(options.seed) {
  REIGEN_CHECK(options.channels > 0 && options.min_delay <= options.max_delay, "FakeOptions");
}

FakeNetwork::~FakeNetwork() { REIGEN_CHECK(hosts_.empty(), "the network outlives its transports"); }

std::unique_ptr<Transport> FakeNetwork::AddHost(int host, const std::string& name) {
  return std::make_unique<FakeTransport>(this, host, name);
}

void FakeNetwork::KillLink(int a, int b) {
  for (FakeLink* link : hosts_.at(a)->links()) {
    if (link->peer() == b && link->pipe() != nullptr) {
      link->pipe()->Kill(now_ + options_.detect_after, "the link was killed");
    }
  }
}

void FakeNetwork::KillLinkAfterFrames(int a, int b, uint64_t frames) {
  for (FakeLink* link : hosts_.at(a)->links()) {
    if (link->peer() == b && link->pipe() != nullptr) link->pipe()->KillAfterFrames(frames);
  }
}

void FakeNetwork::KillHost(int host) {
  FakeTransport* const transport = hosts_.at(host);
  transport->Kill();
  for (FakeLink* link : transport->links()) {
    if (link->pipe() != nullptr) {
      link->pipe()->Kill(now_ + options_.detect_after, "the host was killed");
    }
  }
}

void FakeNetwork::Progress(Time now) {
  for (const auto& [number, host] : hosts_) host->Progress(now);
}

std::optional<Time> FakeNetwork::NextDeadline() const {
  std::optional<Time> next;
  for (const auto& [number, host] : hosts_) {
    const std::optional<Time> time = host->NextDeadline();
    if (time) next = next ? std::min(*next, *time) : *time;
  }
  return next;
}

}  // namespace reigen::transport
