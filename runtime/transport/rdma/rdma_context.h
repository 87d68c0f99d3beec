// What the links of an RdmaTransport share with it.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_RDMA_CONTEXT_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_RDMA_CONTEXT_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/transport/rdma/device_watch.h"
#include "runtime/transport/rdma/memory.h"
#include "runtime/transport/rdma/rail.h"
#include "runtime/transport/rdma/rdma_transport.h"
#include "runtime/transport/rdma/room.h"
#include "runtime/transport/tcp/farewell.h"
#include "runtime/transport/tcp/handshake.h"
#include "runtime/transport/tcp/poller.h"
#include "runtime/transport/tcp/reception.h"

namespace reigen::transport::rdma {

class RdmaLink;

inline constexpr char kScheme[] = "rdma";

struct RdmaContext {
  RdmaContext(const RdmaOptions& o, std::unique_ptr<Verbs> v)
      : options(o),
        identity{o.job, o.secret, o.host},
        verbs(std::move(v)),
        farewell(&poller),
        reception(&poller, identity) {}

  Access data_access() const {
    return options.relaxed_ordering ? Access::kRelaxed : Access::kRemote;
  }

  void TellRails(const Device& device, const AsyncEvent& event) {
    for (const auto& rail : rails) {
      if (&rail->device() == &device) rail->OnAsyncEvent(event, now);
    }
  }
  std::string PortDown(size_t rail) { return rails[rail]->WentDown(now, options.retry_budget); }

  const RdmaOptions options;
  const Identity identity;
  std::string scope;  // interface of the link-local address listened on, if any
  const std::unique_ptr<Verbs> verbs;
  Poller poller;  // before what it watches
  std::vector<std::unique_ptr<Rail>> rails;
  std::vector<Status> ports;  // of the rails, if they can be used: as of ports_read_at
  Time ports_read_at{};
  std::vector<PortName> left_out;  // see Choice, also below
  std::vector<PortName> spare;
  std::vector<std::unique_ptr<DeviceWatch>> devices;  // of the rails, each once
  std::unique_ptr<Memory> memory;
  Farewell farewell;
  Reception reception;
  std::vector<RdmaLink*> links;
  std::vector<Status> silent_rails;  // that did not answer when tried: not tried again
  Room room;
  Time now{};                 // of the last Progress()
};

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_RDMA_CONTEXT_H_
