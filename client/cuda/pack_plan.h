// What goes how between tensors on a GPU and their packed places: large contiguous ones by
// a copy each, many small and strided ones by the pack kernels; if the packed places are in
// host memory, through a scratch range on the GPU and one copy of it. Pure.
#ifndef REIGEN_CLIENT_CUDA_PACK_PLAN_H_
#define REIGEN_CLIENT_CUDA_PACK_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "client/c/layout.h"
#include "client/cuda/driver_api.h"
#include "client/cuda/pack_kernel.h"

namespace reigen::sdk::cuda {

// A tensor's elements on the device, and its packed ones in host memory.
struct Copy {
  CuAddress device = 0;
  std::byte* host = nullptr;
  size_t bytes = 0;  // packed
  const Layout* layout = nullptr;
};

// Above this a copy of its own is as fast, and needs no pass over the GPU's memory.
inline constexpr size_t kMaxPackedTensorBytes = size_t{256} << 10;

// A part of the scratch range and of host memory.
struct ScratchCopy {
  uint32_t scratch = 0;
  std::byte* host = nullptr;
  size_t bytes = 0;
};

// Kernels take an element of a tensor with strides in one access, which must be aligned.
bool HasAlignedElements(CuAddress tensor, const Layout& layout);

// What is in the scratch range at one time. Fetching: launches, then copies; sending:
// the other way round.
struct PackRound {
  std::vector<PackBatch> packs;
  std::vector<StridedBatch> strided;
  std::vector<ScratchCopy> copies;
};

struct PackPlan {
  std::vector<Copy> direct;   // contiguous
  std::vector<Copy> on_host;  // strided, but not as the kernel takes it
  std::vector<PackRound> rounds;
};

// `scratch`, at a 256-byte boundary, has `scratch_bytes` bytes, a multiple of 256; 0:
// there are no kernels.
PackPlan MakePackPlan(std::span<const Copy> copies, CuAddress scratch, size_t scratch_bytes,
                      bool to_tensors);

// A tensor's elements on a device, and its packed ones there or on another device: at
// a multiple of kPackSlotBytes, unless the tensor is contiguous.
struct DevicePack {
  CuAddress tensor = 0;
  CuAddress packed = 0;
  size_t bytes = 0;                // packed
  const Layout* layout = nullptr;  // null: contiguous
};

struct DevicePackPlan {
  std::vector<DevicePack> direct;
  std::vector<DevicePack> on_host;
  std::vector<PackBatch> packs;
  std::vector<StridedBatch> strided;
};

// Adds to the plan.
void AddToPlan(std::span<const DevicePack> packs, bool has_kernels, bool to_tensors,
               DevicePackPlan* plan);

}  // namespace reigen::sdk::cuda

#endif  // REIGEN_CLIENT_CUDA_PACK_PLAN_H_
