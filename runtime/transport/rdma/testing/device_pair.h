// Two hosts linked by RDMA, where what a test posts lies on GPUs.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_TESTING_DEVICE_PAIR_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_TESTING_DEVICE_PAIR_H_

#include <memory>
#include <string>

#include "runtime/transport/rdma/testing/rdma_pair.h"

namespace reigen::transport::rdma {

// At the ends that are said to be on a GPU, memory that is registered has a counterpart
// there, and posts are of that: sends take a copy along, receives bring one back when they
// are polled. What was written to a GPU is seen only once it has been read back.
class DevicePair : public FakeRdmaPair {
 public:
  DevicePair(int channels, int devices, bool gpu0, bool gpu1);
  ~DevicePair() override;

  Transport& transport(int host) override;

 private:
  class GpuTransport;

  std::unique_ptr<GpuTransport> gpus_[2];  // null: memory of the host
};

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_TESTING_DEVICE_PAIR_H_
