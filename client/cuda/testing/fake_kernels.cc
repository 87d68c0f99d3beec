// Modules and launches of the fake libcuda: the kernels' own code, run on the host once
// the stream gets there.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "client/cuda/host_device.h"
#include "client/cuda/kernel_list.h"
#include "client/cuda/testing/fake_call.h"
#include "client/cuda/testing/fake_machine.h"

namespace reigen::fake_cuda {
namespace {

namespace cuda = sdk::cuda;

constexpr int kInvalidImage = 200;
constexpr int kInvalidHandle = 400;
constexpr int kNotFound = 500;
constexpr uint32_t kFatBinary = 0xba55ed50;

struct Grid {
  unsigned blocks;
  unsigned rows;
  unsigned threads;
};

struct Kernel {
  std::string_view name;
  size_t argument_bytes;
  void (*run)(const void* argument, const Grid& grid);
  // What it may touch.
  std::vector<Range> (*ranges)(const void* argument);
};

template <typename Batch>
void RunPack(const void* argument, const Grid& grid) {
  for (unsigned block = 0; block < grid.blocks; ++block) {
    for (unsigned thread = 0; thread < grid.threads; ++thread) {
      cuda::PackThread(*static_cast<const Batch*>(argument), block, thread);
    }
  }
}

template <typename Type>
void RunReduce(const void* argument, const Grid& grid) {
  const auto& batch = *static_cast<const cuda::ReduceBatch*>(argument);
  const uint64_t threads = uint64_t{grid.blocks} * grid.threads;
  for (unsigned row = 0; row < grid.rows; ++row) {
    for (uint64_t thread = 0; thread < threads; ++thread) {
      cuda::ReduceThread<Type>(batch, batch.items[row], thread, threads);
    }
  }
}

Range RangeOf(const cuda::PackItem& item) { return {item.tensor, item.bytes}; }

Range RangeOf(const cuda::StridedItem& item) {
  int64_t below = 0;
  int64_t above = item.element_bytes;
  for (uint32_t d = 0; d < item.dims; ++d) {
    const int64_t reach = item.strides[d] * static_cast<int64_t>(item.extents[d] - 1);
    (reach < 0 ? below : above) += reach;
  }
  return {item.tensor + static_cast<uint64_t>(below), static_cast<uint64_t>(above - below)};
}

template <typename Batch>
std::vector<Range> PackRanges(const void* argument) {
  const auto& batch = *static_cast<const Batch*>(argument);
  std::vector<Range> ranges;
  for (uint32_t i = 0; i < batch.item_count; ++i) {
    ranges.push_back(RangeOf(batch.items[i]));
    ranges.push_back({batch.range + batch.items[i].packed, batch.items[i].bytes});
  }
  return ranges;
}

template <typename Type>
std::vector<Range> ReduceRanges(const void* argument) {
  constexpr size_t kNarrow = sizeof(typename Type::Storage);
  constexpr size_t kWide = sizeof(typename Type::Accumulator);
  const auto& batch = *static_cast<const cuda::ReduceBatch*>(argument);
  std::vector<Range> ranges;
  const auto add = [&](const void* memory, uint64_t count, bool wide) {
    ranges.push_back({reinterpret_cast<uintptr_t>(memory), count * (wide ? kWide : kNarrow)});
  };
  for (uint32_t i = 0; i < batch.item_count; ++i) {
    const cuda::ReduceItem& item = batch.items[i];
    for (uint32_t k = 0; k < batch.input_count; ++k) add(item.inputs[k], item.count, false);
    if (item.received != nullptr) add(item.received, item.count, batch.received_wide);
    add(item.out, item.count, batch.out_wide);
  }
  return ranges;
}

#define REIGEN_PACK(name, Batch)                                     \
  {"reigen_" #name, sizeof(cuda::Batch), &RunPack<cuda::Batch>,      \
   &PackRanges<cuda::Batch>},
#define REIGEN_REDUCE(name, Type)                                              \
  {"reigen_reduce_" #name, sizeof(cuda::ReduceBatch), &RunReduce<cuda::Type>,  \
   &ReduceRanges<cuda::Type>},
constexpr Kernel kKernels[] = {REIGEN_PACK_KERNELS(REIGEN_PACK)
                                   REIGEN_REDUCE_KERNELS(REIGEN_REDUCE)};
#undef REIGEN_PACK
#undef REIGEN_REDUCE

}  // namespace
}  // namespace reigen::fake_cuda

using reigen::fake_cuda::Grid;
using reigen::fake_cuda::Kernel;
using reigen::fake_cuda::Machine;
using reigen::fake_cuda::Range;
using reigen::fake_cuda::Run;

FAKE_CUDA cuModuleLoadData(void** module, const void* image) {
  return Run("cuModuleLoadData", true, [=](Machine&) {
    uint32_t magic = 0;
    std::memcpy(&magic, image, sizeof magic);
    *module = const_cast<void*>(image);
    return magic == reigen::fake_cuda::kFatBinary ? 0 : reigen::fake_cuda::kInvalidImage;
  });
}

FAKE_CUDA cuModuleUnload(void*) {
  return Run("cuModuleUnload", true, [](Machine&) { return 0; });
}

FAKE_CUDA cuModuleGetFunction(void** function, void*, const char* name) {
  return Run("cuModuleGetFunction", true, [=](Machine&) {
    for (const Kernel& kernel : reigen::fake_cuda::kKernels) {
      if (kernel.name != name) continue;
      *function = const_cast<Kernel*>(&kernel);
      return 0;
    }
    return reigen::fake_cuda::kNotFound;
  });
}

FAKE_CUDA cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                         unsigned block_x, unsigned block_y, unsigned block_z, unsigned,
                         void* stream, void** arguments, void**) {
  return Run("cuLaunchKernel", true, [=](Machine& machine) {
    // The limits of every device.
    if (grid_x == 0 || grid_y == 0 || grid_y > 65535 || grid_z != 1 || block_x == 0 ||
        block_x > 1024 || block_y != 1 || block_z != 1) {
      return reigen::fake_cuda::kInvalidValue;
    }
    const int device = machine.StreamOf(stream)->device;
    if (device != reigen::fake_cuda::contexts.back()) return reigen::fake_cuda::kInvalidHandle;
    const auto* const kernel = static_cast<const Kernel*>(function);
    std::vector<std::max_align_t> argument(kernel->argument_bytes / sizeof(std::max_align_t) + 1);
    std::memcpy(argument.data(), arguments[0], kernel->argument_bytes);
    machine.Push(machine.StreamOf(stream), [=, &machine] {
      const std::vector<Range> ranges = kernel->ranges(argument.data());
      machine.Touch(device, ranges, [&] {
        kernel->run(argument.data(), Grid{.blocks = grid_x, .rows = grid_y, .threads = block_x});
      });
      if (std::exchange(reigen::sdk::cuda::SawMisaligned(), false)) machine.FailMisaligned();
    });
    return 0;
  });
}
