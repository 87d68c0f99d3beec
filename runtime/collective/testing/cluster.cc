#include "runtime/collective/testing/cluster.h"

#include <poll.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "runtime/base/check.h"

namespace reigen::collective {

std::unique_ptr<transport::Transport> FakeNetworkOf::AddHost(int host) {
  return fake_.AddHost(host, "host" + std::to_string(host));
}

void FakeNetworkOf::Wait() {
  const auto next = fake_.NextDeadline();
  now_ = std::max(now_ + std::chrono::microseconds(1), next ? *next : now_ + milliseconds(100));
}

Cluster::Cluster(const ClusterOptions& options, Network* network)
    : network_(*network),
      hosts_(options.hosts),
      random_(options.seed),
      shuffle_(options.seed != 0),
      pools_(options.pool_threads > 0) {
  for (int h = 0; h < size(); ++h) hosts_[h].transport = network->AddHost(h);
  for (int h = 0; h < size(); ++h) MakeHost(h, options);
}

void Cluster::MakeHost(int number, const ClusterOptions& options) {
  Host& host = hosts_[number];
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == number) {
      host.links.push_back(nullptr);
      continue;
    }
    host.links.push_back(host.transport->Connect(
        {peer, "host" + std::to_string(peer), hosts_[peer].transport->addresses()}));
  }
  host.scratch.resize(options.scratch_bytes);
  auto region = host.transport->Register(host.scratch);
  REIGEN_CHECK(region.ok());
  host.region = std::move(region).value();
  host.executor =
      options.pool_threads > 0 ? MakePoolExecutor(options.pool_threads) : MakeInlineExecutor();
  host.engine = MakeEngine(
      {.scratch = host.scratch}, [&host](int peer) { return host.links[peer].get(); },
      host.executor.get());
  for (int s = 1; s <= options.streams; ++s) {
    const Status opened =
        host.engine->OpenStream(static_cast<uint32_t>(s), options.segment_bytes, options.channels);
    REIGEN_CHECK(opened.ok(), "scratch_bytes");
  }
}

Cluster::~Cluster() {
  for (int h = 0; h < size(); ++h) {
    engine(h).CancelAll(Aborted("the cluster ends"));
    CloseAllLinks(h);
  }
  const auto quiet = [this] {
    return std::all_of(hosts_.begin(), hosts_.end(), [](const Host& host) {
      return host.engine->unfinished() == 0 && host.engine->posts_out() == 0;
    });
  };
  REIGEN_CHECK(RunUntil(quiet), "a post did not come back from a closed link");
  for (Host& host : hosts_) {
    host.engine.reset();
    host.links.clear();
    host.region.reset();
  }
}

void Cluster::CloseAllLinks(int host) {
  for (const auto& link : hosts_[host].links) {
    if (link != nullptr) link->Close();
  }
}

void Cluster::Turn() {
  std::vector<int> order(hosts_.size());
  std::iota(order.begin(), order.end(), 0);
  if (shuffle_) std::shuffle(order.begin(), order.end(), random_);
  for (const int h : order) {
    if (shuffle_ && random_() % 4 == 0) continue;
    hosts_[h].transport->Progress(network_.now());
    hosts_[h].engine->Progress(network_.now());
  }
}

bool Cluster::RunUntil(const std::function<bool()>& done, Duration limit) {
  const Time until = network_.now() + limit;
  while (!done()) {
    if (network_.now() > until) return false;
    Turn();
    AwaitWork();
    network_.Wait();
  }
  return true;
}

// Virtual time must not run ahead of the pools' real threads.
void Cluster::AwaitWork() {
  if (!pools_) return;
  std::vector<pollfd> events;
  for (const Host& host : hosts_) events.push_back({host.executor->event_fd(), POLLIN, 0});
  poll(events.data(), events.size(), /*timeout_ms=*/2);
}

bool Cluster::RunToTheEnd(Duration limit) {
  return RunUntil(
      [this] {
        return std::all_of(hosts_.begin(), hosts_.end(),
                           [](const Host& host) { return host.engine->unfinished() == 0; });
      },
      limit);
}

}  // namespace reigen::collective
