// Short ways to say what ranks ask for, in tests.
#ifndef REIGEN_COORDINATOR_CORE_TEST_SPECS_H_
#define REIGEN_COORDINATOR_CORE_TEST_SPECS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "proto/control/control.pb.h"
#include "runtime/base/collective_id.h"
#include "runtime/base/dtype.h"

namespace reigen::coordinator {

inline void AddTensor(control::RequestSpec& spec, const std::string& name,
                      const std::vector<uint64_t>& shape, DataType dtype) {
  control::TensorSpec& tensor = *spec.add_tensors();
  tensor.set_name(name);
  tensor.set_dtype(static_cast<uint32_t>(dtype));
  uint64_t count = 1;
  for (uint64_t extent : shape) {
    tensor.add_shape(extent);
    count *= extent;
  }
  tensor.set_count(count);
}

inline control::RequestSpec Allreduce(const std::string& name, std::vector<uint64_t> shape,
                                      DataType dtype = DataType::kFloat32,
                                      ReduceOp op = ReduceOp::kSum) {
  control::RequestSpec spec;
  spec.set_kind(static_cast<uint32_t>(CollectiveKind::kAllreduce));
  spec.set_op(static_cast<uint32_t>(op));
  spec.set_prescale(1.0);
  spec.set_postscale(1.0);
  AddTensor(spec, name, shape, dtype);
  return spec;
}

inline control::RequestSpec Broadcast(const std::string& name, std::vector<uint64_t> shape,
                                      int root) {
  control::RequestSpec spec = Allreduce(name, std::move(shape));
  spec.set_kind(static_cast<uint32_t>(CollectiveKind::kBroadcast));
  spec.set_root(root);
  return spec;
}

inline control::RequestSpec Barrier() {
  control::RequestSpec spec;
  spec.set_kind(static_cast<uint32_t>(CollectiveKind::kBarrier));
  return spec;
}

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_CORE_TEST_SPECS_H_
