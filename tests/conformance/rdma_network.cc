#include "tests/conformance/rdma_network.h"

#include <string>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/transport/conformance/wait.h"
#include "runtime/transport/rdma/rdma_transport.h"
#include "runtime/transport/rdma/testing/fake_gpu_memory.h"

namespace reigen::collective {
namespace {

class DirectMemory final : public GpuMemory {
 public:
  DirectMemory(transport::Transport& transport, size_t bytes) : memory_(bytes) {
    auto region = transport.RegisterDevice(memory_.device());
    REIGEN_CHECK(region.ok(), "no memory of GPUs over verbs in memory");
    region_ = std::move(region).value();
  }
  GpuScratch scratch() override { return {memory_.window(), memory_.bytes()}; }

 private:
  transport::rdma::FakeGpuMemory memory_;
  std::unique_ptr<transport::Region> region_;
};

}  // namespace

std::unique_ptr<transport::Transport> RdmaNetwork::AddHost(int host) {
  const std::string number = std::to_string(host);
  auto& device = fabric_.AddDevice(host, "fake" + number, "10.0.0." + std::to_string(host + 1));
  device.dmabuf = device.late = true;
  transport::rdma::RdmaOptions options;
  options.job = "conformance";
  options.secret = "secret";
  options.host = host;
  options.name = "host" + number;
  options.bind_addresses = {"127.0.0.1"};
  auto transport = transport::rdma::RdmaTransport::Create(options, fabric_.VerbsOf(host));
  REIGEN_CHECK(transport.ok(), "no RDMA over verbs in memory");
  transports_.push_back(transport->get());
  return std::move(transport).value();
}

std::unique_ptr<GpuMemory> RdmaNetwork::MakeGpuMemory(transport::Transport& transport,
                                                      size_t bytes) {
  if (!direct_) return Network::MakeGpuMemory(transport, bytes);
  return std::make_unique<DirectMemory>(transport, bytes);
}

void RdmaNetwork::Wait() { transport::WaitForAny(transports_); }

}  // namespace reigen::collective
