// The kernels of an image, in one context: launched in a stream, their table copied by
// the launch.
//
// Threads: any, with the context current that was at Load.
// Errors:  an image that this driver or device does not take is Load's failure, as is
//          the lack of one: the tensors are copied one by one then.
#ifndef REIGEN_CLIENT_CUDA_KERNELS_H_
#define REIGEN_CLIENT_CUDA_KERNELS_H_

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "client/c/result.h"
#include "client/cuda/driver_api.h"
#include "client/cuda/pack_kernel.h"
#include "client/cuda/reduce_kernel.h"
#include "runtime/base/dtype.h"

namespace reigen::sdk::cuda {

// What failed, for FromCuda.
struct Failed {
  const char* call = nullptr;
  CuResult code = kCuSuccess;
};

class Kernels {
 public:
  static Failed Load(const DriverApi& api, std::span<const std::byte> image,
                     std::unique_ptr<Kernels>* out);
  ~Kernels();
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  // Nothing can be unloaded from a lost context.
  void Forget() { module_ = nullptr; }

  Failed Pack(const PackBatch& batch, CuStream stream) const;
  Failed Pack(const StridedBatch& batch, CuStream stream) const;
  // `batch` has items.
  Failed Reduce(DataType dtype, const ReduceBatch& batch, CuStream stream) const;

 private:
  explicit Kernels(const DriverApi& api) : api_(api) {}
  Failed Launch(CuFunction function, uint32_t blocks, uint32_t rows, uint32_t threads,
                const void* argument, CuStream stream) const;

  const DriverApi& api_;
  CuModule module_ = nullptr;
  CuFunction pack_ = nullptr;
  CuFunction pack_strided_ = nullptr;
  std::array<CuFunction, kDataTypeCount> reduce_{};
};

}  // namespace reigen::sdk::cuda

#endif  // REIGEN_CLIENT_CUDA_KERNELS_H_
