#include "worker/core/spec_proto.h"

#include <algorithm>

namespace reigen::worker {

void FillSpec(const RequestSpec& spec, control::RequestSpec& out) {
  out.set_kind(static_cast<uint32_t>(spec.kind));
  out.set_op(static_cast<uint32_t>(spec.op));
  out.set_root(spec.root);
  out.set_prescale(spec.prescale);
  out.set_postscale(spec.postscale);
  out.set_device_kind(spec.device_kind);
  for (const TensorSpec& tensor : spec.tensors) {
    control::TensorSpec* t = out.add_tensors();
    t->set_name(tensor.name);
    t->set_dtype(static_cast<uint32_t>(tensor.dtype));
    t->set_count(tensor.count);
    t->mutable_shape()->Add(tensor.shape.begin(), tensor.shape.end());
  }
}

bool SameTensor(const control::TensorSpec& planned, const TensorSpec& own) {
  return planned.dtype() == static_cast<uint32_t>(own.dtype) && planned.count() == own.count &&
         planned.name() == own.name &&
         std::equal(planned.shape().begin(), planned.shape().end(), own.shape.begin(),
                    own.shape.end());
}

}  // namespace reigen::worker
