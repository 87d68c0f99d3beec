// Between tensors and packed places that are both on GPUs.
#include <algorithm>

#include "client/cuda/pack_plan.h"

namespace reigen::sdk::cuda {
namespace {

// Of a launch's packed range: its kernels count in 32 bits. A multiple of every element.
constexpr size_t kMaxRangeBytes = size_t{1} << 30;
// Blocks of threads that find nothing to do take less than a launch of their own.
constexpr size_t kMaxGapBytes = size_t{16} << 20;

bool IsContiguous(const DevicePack& pack) {
  return pack.layout == nullptr || pack.layout->contiguous();
}

bool IsSmall(const DevicePack& pack) {
  return IsContiguous(pack) && pack.bytes <= kMaxPackedTensorBytes;
}

// Whether the launch's range can go on with these bytes: its items lie one after the other.
template <typename Batch>
bool Fits(const Batch& batch, uint32_t most, CuAddress packed, size_t bytes) {
  if (batch.item_count == most) return false;
  const auto& last = batch.items[batch.item_count - 1];
  const CuAddress end = batch.range + last.packed + last.bytes;
  return packed >= end && packed - end <= kMaxGapBytes &&
         packed + bytes - batch.range <= kMaxRangeBytes;
}

// `packed` of the new item is set.
template <typename Batch>
auto& AddItem(std::vector<Batch>* batches, uint32_t most, bool to_tensors, CuAddress packed,
              size_t bytes) {
  if (batches->empty() || !Fits(batches->back(), most, packed, bytes)) {
    batches->push_back({});
    batches->back().range = packed / kPackSlotBytes * kPackSlotBytes;
    batches->back().to_tensors = to_tensors ? 1 : 0;
  }
  Batch& batch = batches->back();
  auto& item = batch.items[batch.item_count++];
  item.packed = static_cast<uint32_t>(packed - batch.range);
  item.bytes = static_cast<uint32_t>(bytes);
  return item;
}

void AddStrided(const DevicePack& pack, bool to_tensors, std::vector<StridedBatch>* batches) {
  const size_t element_bytes = pack.layout->element_bytes();
  for (size_t done = 0; done < pack.bytes; done += kMaxRangeBytes) {
    StridedItem& item = AddItem(batches, kMaxStridedItems, to_tensors, pack.packed + done,
                                std::min(pack.bytes - done, kMaxRangeBytes));
    item.tensor = pack.tensor;
    item.first = done / element_bytes;
    item.element_bytes = static_cast<uint32_t>(element_bytes);
    for (const Layout::Dim& dim : pack.layout->dims()) {
      item.extents[item.dims] = static_cast<uint64_t>(dim.extent);
      item.strides[item.dims++] = dim.stride;
    }
  }
}

}  // namespace

void AddToPlan(std::span<const DevicePack> packs, bool has_kernels, bool to_tensors,
               DevicePackPlan* plan) {
  std::vector<DevicePack> sorted;
  for (const DevicePack& pack : packs) {
    if (pack.bytes > 0) sorted.push_back(pack);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const DevicePack& a, const DevicePack& b) {
    return a.packed < b.packed;
  });
  // A single one is no faster for being packed.
  const bool packs_small =
      has_kernels && std::count_if(sorted.begin(), sorted.end(), IsSmall) > 1;
  for (const DevicePack& pack : sorted) {
    if (packs_small && IsSmall(pack)) {
      AddItem(&plan->packs, kMaxPackItems, to_tensors, pack.packed, pack.bytes).tensor =
          pack.tensor;
    } else if (IsContiguous(pack)) {
      plan->direct.push_back(pack);
    } else if (has_kernels && pack.layout->dims().size() <= kMaxStridedDims &&
               HasAlignedElements(pack.tensor, *pack.layout)) {
      AddStrided(pack, to_tensors, &plan->strided);
    } else {
      plan->on_host.push_back(pack);
    }
  }
}

}  // namespace reigen::sdk::cuda
