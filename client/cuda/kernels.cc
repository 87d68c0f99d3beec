#include "client/cuda/kernels.h"

#include <algorithm>
#include <utility>

#include "client/cuda/kernel_list.h"

namespace reigen::sdk::cuda {
namespace {

// A thread does at least so many elements' bytes; a device runs about as many blocks at
// once as the limit.
constexpr uint64_t kReduceBlockBytes = 16384;
constexpr uint64_t kMaxReduceBlocks = 2048;

}  // namespace

Failed Kernels::Load(const DriverApi& api, std::span<const std::byte> image,
                     std::unique_ptr<Kernels>* out) {
  std::unique_ptr<Kernels> kernels(new Kernels(api));
  CuModule module = nullptr;
  const CuResult loaded = api.module_load(&module, image.data());
  if (loaded != kCuSuccess) return {"cuModuleLoadData", loaded};
  kernels->module_ = module;
  CuResult code = kCuSuccess;
  const auto find = [&](const char* name, CuFunction* function) {
    if (code == kCuSuccess) code = api.module_function(function, module, name);
  };
#define REIGEN_FIND_PACK(name, Batch) find("reigen_" #name, &kernels->name##_);
  REIGEN_PACK_KERNELS(REIGEN_FIND_PACK)
#undef REIGEN_FIND_PACK
  size_t dtype = 0;
#define REIGEN_FIND_REDUCE(name, Type) find("reigen_reduce_" #name, &kernels->reduce_[dtype++]);
  REIGEN_REDUCE_KERNELS(REIGEN_FIND_REDUCE)
#undef REIGEN_FIND_REDUCE
  if (code != kCuSuccess) return {"cuModuleGetFunction", code};
  *out = std::move(kernels);
  return {};
}

Kernels::~Kernels() {
  if (module_ != nullptr) api_.module_unload(module_);
}

Failed Kernels::Launch(CuFunction function, uint32_t blocks, uint32_t rows, uint32_t threads,
                       const void* argument, CuStream stream) const {
  void* arguments[] = {const_cast<void*>(argument)};
  return {"cuLaunchKernel", api_.launch(function, blocks, rows, 1, threads, 1, 1, 0, stream,
                                        arguments, nullptr)};
}

Failed Kernels::Pack(const PackBatch& batch, CuStream stream) const {
  return Launch(pack_, PackBlocks(batch), 1, kPackThreads, &batch, stream);
}

Failed Kernels::Pack(const StridedBatch& batch, CuStream stream) const {
  return Launch(pack_strided_, PackBlocks(batch), 1, kPackThreads, &batch, stream);
}

Failed Kernels::Reduce(DataType dtype, const ReduceBatch& batch, CuStream stream) const {
  uint64_t longest = 1;
  for (uint32_t i = 0; i < batch.item_count; ++i) longest = std::max(longest, batch.items[i].count);
  const uint64_t bytes = longest * ElementBytes(dtype);
  const uint64_t blocks =
      std::min(bytes / kReduceBlockBytes + 1, kMaxReduceBlocks / batch.item_count + 1);
  return Launch(reduce_[static_cast<size_t>(dtype)], static_cast<uint32_t>(blocks),
                batch.item_count, kReduceThreads, &batch, stream);
}

}  // namespace reigen::sdk::cuda
