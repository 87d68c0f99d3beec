// Several hosts' engines in one thread, for tests.
#ifndef REIGEN_RUNTIME_COLLECTIVE_TESTING_CLUSTER_H_
#define REIGEN_RUNTIME_COLLECTIVE_TESTING_CLUSTER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/collective/engine.h"
#include "runtime/collective/testing/fake_gpus.h"
#include "runtime/transport/fake/fake_network.h"
#include "runtime/transport/link.h"

namespace reigen::collective {

// Scratch on a GPU that links of one host take.
class GpuMemory {
 public:
  virtual ~GpuMemory() = default;
  virtual GpuScratch scratch() = 0;
};

// Where the hosts' transports come from, and time.
class Network {
 public:
  virtual ~Network() = default;
  virtual std::unique_ptr<transport::Transport> AddHost(int host) = 0;
  // Registered with that host's transport. Here: ordinary memory.
  virtual std::unique_ptr<GpuMemory> MakeGpuMemory(transport::Transport& transport, size_t bytes);
  virtual Time now() = 0;
  // Nothing can be done now: waits (or lets virtual time pass) until there can.
  virtual void Wait() = 0;
};

// The fake, under virtual time.
class FakeNetworkOf final : public Network {
 public:
  explicit FakeNetworkOf(const transport::FakeOptions& options) : fake_(options) {}
  std::unique_ptr<transport::Transport> AddHost(int host) override;
  Time now() override { return now_; }
  void Wait() override;
  transport::FakeNetwork& fake() { return fake_; }

 private:
  transport::FakeNetwork fake_;
  Time now_ = Time{} + seconds(1);
};

struct ClusterOptions {
  int hosts = 2;
  size_t scratch_bytes = 1 << 20;
  uint64_t segment_bytes = 4096;  // of each stream's window
  int channels = 2;
  int streams = 1;       // opened on each host: 1, 2, ...
  int pool_threads = 0;  // per host; 0: the inline executor
  uint64_t seed = 0;     // not 0: hosts take their turns in a random order
  int leaders = 0;       // GPUs of each host that take commands; 0: none
  bool one_scratch = false;  // of all leaders of a host, each with scratch_bytes otherwise
};

// Each host has a transport, a link to every other, registered scratch, an engine; GPUs, if
// wished, with the same windows in their scratch.
class Cluster {
 public:
  Cluster(const ClusterOptions& options, Network* network);
  ~Cluster();

  int size() const { return static_cast<int>(hosts_.size()); }
  Engine& engine(int host) { return *hosts_[host].engine; }
  transport::Link& link(int host, int peer) { return *hosts_[host].links[peer]; }
  FakeGpus& gpus(int host) { return *hosts_[host].gpus; }

  // Gives every host a turn.
  void Turn();
  // Until `done`; false if it does not come within `limit` of the network's time.
  bool RunUntil(const std::function<bool()>& done, Duration limit = seconds(60));
  bool RunToTheEnd(Duration limit = seconds(60));  // no host has an unfinished bucket

  // As the end of an epoch does.
  void CloseAllLinks(int host);

 private:
  struct Host {
    std::unique_ptr<transport::Transport> transport;
    std::vector<std::byte> scratch;
    std::unique_ptr<FakeGpus> gpus;
    std::vector<std::unique_ptr<GpuMemory>> gpu_scratch;
    std::unique_ptr<transport::Region> region;
    std::vector<std::unique_ptr<transport::Link>> links;  // by peer; none to itself
    std::unique_ptr<WorkExecutor> executor;
    std::unique_ptr<Engine> engine;
  };

  void Wait();
  void MakeHost(int host, const ClusterOptions& options);
  void MakeGpus(Host& host, const ClusterOptions& options, uint64_t seed);

  Network& network_;
  std::vector<Host> hosts_;
  std::mt19937_64 random_;
  const bool shuffle_;
  const bool pools_;
};

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_TESTING_CLUSTER_H_
