// A job of size 1 without daemons: every operation is done when it starts
// (with CUDA tensors: once the caller's stream got there).
#ifndef REIGEN_CLIENT_C_LOCAL_JOB_H_
#define REIGEN_CLIENT_C_LOCAL_JOB_H_

#include <memory>

#include "client/c/job.h"
#include "client/cuda/devices.h"

namespace reigen::sdk {

class LocalJob : public Job {
 public:
  // `devices` outlives the job.
  explicit LocalJob(cuda::Devices* devices) : devices_(devices) {}
  Place place() const override { return {}; }
  Result Submit(const std::shared_ptr<Operation>& operation) override;
  void Progress() override {}
  Sleep Wait(Operation&, Time) override { return Sleep::kWoken; }
  Result Allocate(uint64_t bytes, Block* out) override;
  void Leave() override {}

 private:
  Result RunOnDevice(const Request& request, std::unique_ptr<DeviceWork>* out);
  static Result RunThroughHost(const Request& request, DeviceWork* work,
                               std::vector<std::vector<std::byte>>* memory);

  cuda::Devices* const devices_;
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_LOCAL_JOB_H_
