// A request as the worker has it: copied out of shared memory and checked.
#ifndef REIGEN_WORKER_CORE_REQUEST_H_
#define REIGEN_WORKER_CORE_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/collective_id.h"
#include "runtime/base/dtype.h"

namespace reigen::worker {

struct TensorSpec {
  std::string name;
  DataType dtype = DataType::kFloat32;
  uint64_t count = 0;  // elements
  std::vector<uint64_t> shape;

  bool operator==(const TensorSpec&) const = default;
};

// What must be equal on all ranks. Scales are finite, so that == works.
struct RequestSpec {
  CollectiveKind kind = CollectiveKind::kAllreduce;
  ReduceOp op = ReduceOp::kSum;
  int root = 0;  // broadcast: global rank
  double prescale = 1.0;
  double postscale = 1.0;
  uint32_t device_kind = 0;
  std::vector<TensorSpec> tensors;  // none for a barrier

  bool operator==(const RequestSpec&) const = default;
};

struct Request {
  uint64_t id = 0;  // the trainer's
  std::string name;
  uint32_t process_set = 0;
  std::shared_ptr<const RequestSpec> spec;
  // Where the elements of each tensor are; passed on to the engine, never read.
  std::vector<std::byte*> data;
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_CORE_REQUEST_H_
