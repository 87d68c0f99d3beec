#include "runtime/collective/testing/cluster.h"

#include <poll.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "runtime/base/check.h"

namespace reigen::collective {
namespace {

std::unique_ptr<transport::Region> Registered(transport::Transport& transport,
                                              std::span<std::byte> memory) {
  auto region = transport.Register(memory);
  REIGEN_CHECK(region.ok());
  return std::move(region).value();
}

class HostMemory final : public GpuMemory {
 public:
  HostMemory(transport::Transport& transport, size_t bytes)
      : bytes_(bytes), region_(Registered(transport, bytes_)) {}
  GpuScratch scratch() override { return {bytes_, bytes_}; }

 private:
  std::vector<std::byte> bytes_;
  const std::unique_ptr<transport::Region> region_;
};

}  // namespace

std::unique_ptr<GpuMemory> Network::MakeGpuMemory(transport::Transport& transport, size_t bytes) {
  return std::make_unique<HostMemory>(transport, bytes);
}

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
  host.region = Registered(*host.transport, host.scratch);
  if (options.leaders > 0) MakeGpus(host, options, options.seed + static_cast<uint64_t>(number));
  host.executor =
      options.pool_threads > 0 ? MakePoolExecutor(options.pool_threads) : MakeInlineExecutor();
  host.engine = MakeEngine(
      {.scratch = host.scratch, .gpus = host.gpus.get()},
      [&host](int peer) { return host.links[peer].get(); }, host.executor.get());
  for (int s = 1; s <= options.streams; ++s) {
    const Status opened =
        host.engine->OpenStream(static_cast<uint32_t>(s), options.segment_bytes, options.channels);
    REIGEN_CHECK(opened.ok(), "scratch_bytes");
  }
}

void Cluster::MakeGpus(Host& host, const ClusterOptions& options, uint64_t seed) {
  FakeGpusOptions gpus{.leaders = options.leaders, .seed = seed};
  for (int i = 0; i < (options.one_scratch ? 1 : options.leaders); ++i) {
    host.gpu_scratch.push_back(network_.MakeGpuMemory(*host.transport, options.scratch_bytes));
    gpus.scratch.push_back(host.gpu_scratch.back()->scratch());
  }
  host.gpus = std::make_unique<FakeGpus>(gpus);
  const size_t segment = Scratch::Rounded(options.segment_bytes) + Scratch::kAlign;
  const size_t window = 2 * static_cast<size_t>(options.channels) * segment;
  for (int s = 1; s <= options.streams; ++s) host.gpus->OpenStream(static_cast<uint32_t>(s), window);
}

Cluster::~Cluster() {
  for (int h = 0; h < size(); ++h) {
    engine(h).CancelAll(Aborted("the cluster ends"));
    if (hosts_[h].gpus != nullptr) gpus(h).EndAll(Aborted("the cluster ends"));
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
    host.gpu_scratch.clear();
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
    if (hosts_[h].gpus != nullptr) hosts_[h].gpus->Turn();
    hosts_[h].engine->Progress(network_.now());
  }
}

bool Cluster::RunUntil(const std::function<bool()>& done, Duration limit) {
  const Time until = network_.now() + limit;
  while (!done()) {
    if (network_.now() > until) return false;
    Turn();
    Wait();
  }
  return true;
}

void Cluster::Wait() {
  const bool gpus_busy = std::any_of(hosts_.begin(), hosts_.end(), [](const Host& host) {
    return host.gpus != nullptr && host.gpus->busy();
  });
  if (gpus_busy) return;
  if (pools_) {  // virtual time must not run ahead of their real threads
    std::vector<pollfd> events;
    for (const Host& host : hosts_) events.push_back({host.executor->event_fd(), POLLIN, 0});
    poll(events.data(), events.size(), /*timeout_ms=*/2);
  }
  network_.Wait();
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
