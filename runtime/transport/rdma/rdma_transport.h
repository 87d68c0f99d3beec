// Links over RDMA: data is written straight into the peer's memory.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_RDMA_TRANSPORT_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_RDMA_TRANSPORT_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/transport/link.h"
#include "runtime/transport/rdma/choice.h"
#include "runtime/transport/rdma/verbs.h"
#include "runtime/transport/tcp/socket.h"

namespace reigen::transport::rdma {

struct RdmaOptions {
  std::string job;
  std::string secret;
  int host = 0;      // this host's number
  std::string name;  // and name, for messages
  // Literal addresses to listen on for side channels, and nothing else; they say
  // which devices are on the job's network, too.
  std::vector<std::string> bind_addresses;
  PortRange ports;
  Wish wish;         // its networks are bind_addresses
  int channels = 2;  // queue pairs for data of a link; the smaller of both ends counts
  uint8_t service_level = 0;
  uint8_t traffic_class = 0;
  bool relaxed_ordering = true;  // of writes into data memory
  Duration connect_deadline = seconds(30);
  // A path that loses everything for so long is lost, by the device's count. The limit of
  // the side channel, and of sends of which the device says nothing, is twice this.
  Duration retry_budget = seconds(4);
  // After the last completion, for so long with work in flight, queues are polled
  // without sleeping.
  Duration spin = std::chrono::microseconds(20);
};

struct RdmaContext;

// event_fd() is an epoll instance over side channels, completion and asynchronous
// events. addresses() are "rdma:10.0.0.1:4000", of the side channel, and the kinds of
// the ports (rdma_kind.h).
//
// Fork:    harmless: registered memory stays out of children.
// Errors:  Create says in words why there is no RDMA here (no device, no right to
//          open it, no active port, no GID, PKey); Register what locked memory there
//          is and how to get more. Links name both hosts, devices and GIDs.
class RdmaTransport : public Transport {
 public:
  static StatusOr<std::unique_ptr<RdmaTransport>> Create(const RdmaOptions& options,
                                                         std::unique_ptr<Verbs> verbs);
  ~RdmaTransport() override;

  const char* name() const override { return "rdma"; }
  std::vector<std::string> addresses() const override;
  StatusOr<std::unique_ptr<Region>> Register(std::span<std::byte> memory) override;
  // With the devices of all ports; an error if one refuses it or does not reach it when
  // tried. The hosts decide each for itself and ports are paired as they are, so that only
  // this leaves every link a queue for it. Links carry it by near ports if queues join
  // such at both ends. May wait for kTryDeadline, if something is wrong.
  StatusOr<std::unique_ptr<Region>> RegisterDevice(const DeviceMemory& memory) override;
  Status TakesDeviceMemory(const Peer&) const override { return OkStatus(); }
  std::vector<std::string> devices() const override;
  size_t QueuesOfALink() const;  // for data, at most
  std::unique_ptr<Link> Connect(const Peer& peer) override;
  size_t EagerBytes() const override;
  int event_fd() const override;
  void Progress(Time now) override;
  std::optional<Time> NextDeadline() const override;

 private:
  explicit RdmaTransport(std::unique_ptr<RdmaContext> context);

  const std::unique_ptr<RdmaContext> context_;
  // Kinds of the ports as the peers were told them: both ends of a link choose by these,
  // also when a port's has changed since.
  const std::vector<std::string> kinds_;
};

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_RDMA_TRANSPORT_H_
