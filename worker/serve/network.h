// What runs buckets between hosts: the engine, its scratch, the links to peers.
#ifndef REIGEN_WORKER_SERVE_NETWORK_H_
#define REIGEN_WORKER_SERVE_NETWORK_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "proto/control/control.pb.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/collective/engine.h"
#include "runtime/collective/executor.h"
#include "runtime/collective/gpus.h"
#include "runtime/gpudirect/scratch_choice.h"
#include "runtime/transport/link.h"
#include "worker/gpu/device_network.h"

namespace reigen::worker {

// Anonymous memory, zero and mapped until destroyed.
class Scratch {
 public:
  static StatusOr<Scratch> Make(uint64_t bytes);
  Scratch() = default;
  Scratch(Scratch&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
  Scratch& operator=(Scratch&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~Scratch();
  std::span<std::byte> memory() const { return memory_; }

 private:
  std::span<std::byte> memory_;
};

struct LostLink {
  int peer = 0;
  std::string reason;
};

// Threads: one owner.
// Order:   links stay over epochs; ring neighbours are connected when an epoch begins,
//          others at first use.
// Errors:  a link that failed is told once by TakeLostLinks.
class Network : public DeviceNetwork {
 public:
  // `transport` is null in a job of one host. `executor` and `gpus`, which may be null,
  // must outlive this. `root` holds the /sys that says where devices are; "" is this
  // machine's.
  static StatusOr<std::unique_ptr<Network>> Make(int host, uint64_t scratch_bytes,
                                                 std::unique_ptr<transport::Transport> transport,
                                                 collective::WorkExecutor* executor,
                                                 collective::Gpus* gpus,
                                                 const std::string& root = "");
  // Cancels what runs, closes the links and waits until they gave back all memory.
  // Requires: no command of the GPUs is out.
  ~Network() override;

  Status BeginEpoch(const control::EpochBegin& begin);

  collective::Engine& engine() { return *engine_; }
  // Of the epoch's stream; 0: one host.
  uint64_t window_bytes() const { return window_bytes_; }
  // No bucket runs and links have given back all memory.
  bool idle() const { return engine_->unfinished() == 0 && engine_->posts_out() == 0; }

  Status LinksTakeDeviceMemory() const override;
  std::vector<gpudirect::NicFacts> NicsFor(const std::string& bus_id) const override;
  Status RegisterDevice(const transport::DeviceMemory& memory) override;
  Status RegisterHost(std::span<std::byte> memory) override;
  void ReleaseDeviceMemory() override;

  // Moves transport and engine on. Never blocks.
  void Progress(Time now);
  int event_fd() const;  // -1: there is no transport
  // Of its transport, for peers; memory is registered by now.
  std::vector<std::string> link_addresses() const;
  // When Progress wants to be called although nothing came.
  std::optional<Time> NextDeadline() const;

  std::vector<LostLink> TakeLostLinks();

 private:
  Network(int host, Scratch scratch, std::unique_ptr<transport::Transport> transport,
          std::unique_ptr<transport::Region> region, const std::string& root);

  transport::Link* LinkTo(int host);

  struct LinkState {
    std::unique_ptr<transport::Link> link;
    bool told = false;  // that it failed
  };

  const int host_;
  const std::string root_;
  Scratch scratch_;
  std::unique_ptr<transport::Transport> transport_;
  std::unique_ptr<transport::Region> region_;
  std::vector<std::unique_ptr<transport::Region>> device_regions_;
  std::map<int, transport::Peer> peers_;  // of the epoch
  std::map<int, LinkState> links_;
  std::unique_ptr<collective::Engine> engine_;
  bool stream_open_ = false;
  uint64_t window_bytes_ = 0;
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_SERVE_NETWORK_H_
