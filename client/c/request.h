// A call of the C interface, checked and made concrete: what every job runs.
#ifndef REIGEN_CLIENT_C_REQUEST_H_
#define REIGEN_CLIENT_C_REQUEST_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "client/c/layout.h"
#include "client/c/reigen.h"
#include "client/c/result.h"
#include "proto/local/local.h"
#include "runtime/base/collective_id.h"
#include "runtime/base/dtype.h"

namespace reigen::sdk {

struct RequestTensor {
  DataType dtype = DataType::kFloat32;
  uint8_t ndim = 0;  // as sent: at most local::kMaxDims
  std::array<uint64_t, local::kMaxDims> shape{};
  uint64_t count = 0;  // elements
  uint64_t bytes = 0;
  const std::byte* input = nullptr;  // null: not read here (broadcast, not the root)
  std::byte* output = nullptr;       // null: not written here
  Layout in;
  Layout out;
};

struct Request {
  CollectiveKind kind = CollectiveKind::kBarrier;
  ReduceOp op = ReduceOp::kSum;
  double prescale = 1.0;
  double postscale = 1.0;
  int32_t root = 0;
  uint8_t device_kind = REIGEN_HOST;
  int32_t device = 0;     // CUDA: of all tensors
  uintptr_t stream = 0;
  // The request's name, then those of the tensors; of a single tensor that has
  // the request's name only that one.
  std::vector<std::string> names;
  std::vector<RequestTensor> tensors;

  const std::string& name() const { return names.front(); }
  size_t TensorNameIndex(size_t tensor) const { return names.size() > 1 ? tensor + 1 : 0; }
  const std::string& TensorName(size_t tensor) const { return names[TensorNameIndex(tensor)]; }
};

// Counts the operations without a name, per kind. A call that fails has used up
// its number too: ranks that got the same wrong call stay in step.
// Threads: the owner locks.
class NamelessCounter {
 public:
  uint64_t Next(CollectiveKind kind) { return ++counts_[static_cast<size_t>(kind)]; }

 private:
  std::array<uint64_t, 3> counts_{};
};

// The place of the calling rank, for checks.
struct Place {
  int32_t rank = 0;
  int32_t size = 1;
  int32_t local_rank = 0;
  int32_t local_size = 1;
  int32_t cross_rank = 0;
  int32_t cross_size = 1;
};

struct TensorsArgument {
  const char* name = nullptr;
  const reigen_tensor* tensors = nullptr;
  size_t count = 0;
};

// The caller's name of the request, null if there is none.
const char* GivenName(const TensorsArgument& argument);
// "<op>.<given>", or "<op>.noname.<n>". Tensors of a group that have no name of
// their own are "<request>_<i>of<n>".
std::string RequestName(CollectiveKind kind, const char* given, NamelessCounter& nameless);

// InvalidArgument, with the tensor's name, for whatever cannot be run.
Result MakeAllreduce(const TensorsArgument& argument, const reigen_allreduce_options* options,
                     const std::string& request_name, Request* out);
Result MakeBroadcast(const TensorsArgument& argument, const reigen_broadcast_options* options,
                     const std::string& request_name, const Place& place, Request* out);
Result MakeBarrier(int32_t process_set, const std::string& request_name, Request* out);

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_REQUEST_H_
