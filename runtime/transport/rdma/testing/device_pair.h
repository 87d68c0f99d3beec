// Two hosts linked by RDMA, where what a test posts lies on GPUs.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_TESTING_DEVICE_PAIR_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_TESTING_DEVICE_PAIR_H_

#include <memory>

#include "runtime/transport/conformance/fabric.h"
#include "runtime/transport/link.h"

namespace reigen::transport::rdma {

// At the ends that are said to be on a GPU, memory that is registered has a counterpart
// there, and posts are of that: sends take a copy along, receives bring one back when they
// are polled.
class DevicePair : public Fabric {
 public:
  DevicePair(std::unique_ptr<Fabric> pair, bool gpu0, bool gpu1);
  ~DevicePair() override;

  Transport& transport(int host) override;
  Peer peer(int host) override { return pair_->peer(host); }
  void Step() override { pair_->Step(); }
  void KillHost(int host) override { pair_->KillHost(host); }

 private:
  class GpuTransport;

  const std::unique_ptr<Fabric> pair_;
  std::unique_ptr<GpuTransport> gpus_[2];  // null: memory of the host
};

// Over the fake verbs: what was written to a GPU is seen only once it has been read back.
std::unique_ptr<Fabric> MakeFakeDevicePair(int channels, int devices, bool gpu0, bool gpu1);

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_TESTING_DEVICE_PAIR_H_
