#include "client/cuda/pack_plan.h"

#include <algorithm>

namespace reigen::sdk::cuda {
namespace {

// As arena blocks are aligned: what lies side by side there does so in the scratch range.
constexpr size_t kAlignment = 64;

size_t Aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

class Planner {
  template <typename Batch>
  auto& AddItem(std::vector<Batch>* batches, uint32_t most) {
    if (batches->empty() || batches->back().item_count == most) {
      batches->push_back({});
      batches->back().range = scratch_;
      batches->back().to_tensors = to_tensors_ ? 1 : 0;
    }
    return batches->back().items[batches->back().item_count++];
  }

 public:
  Planner(CuAddress scratch, size_t scratch_bytes, bool to_tensors)
      : scratch_(scratch), scratch_bytes_(scratch_bytes), to_tensors_(to_tensors) {}

  // Part by part, as the scratch range has room.
  void Add(const Copy& copy, PackPlan* plan) {
    for (size_t done = 0; done < copy.bytes;) {
      if (plan->rounds.empty() || used_ == scratch_bytes_) StartRound(plan);
      const size_t part = std::min(copy.bytes - done, scratch_bytes_ - used_);
      PackRound& round = plan->rounds.back();
      const auto packed = static_cast<uint32_t>(used_);
      if (copy.layout->contiguous()) {
        AddItem(&round.packs, kMaxPackItems) = {.tensor = copy.device + done, .packed = packed,
                                                .bytes = static_cast<uint32_t>(part)};
      } else {
        FillStrided(copy, done, packed, part, &AddItem(&round.strided, kMaxStridedItems));
      }
      AddCopy(packed, copy.host + done, part, &round);
      used_ = Aligned(used_ + part);
      done += part;
    }
  }

 private:
  void StartRound(PackPlan* plan) {
    plan->rounds.emplace_back();
    used_ = 0;
  }

  static void FillStrided(const Copy& copy, size_t done, uint32_t packed, size_t bytes,
                          StridedItem* item) {
    const size_t element_bytes = copy.layout->element_bytes();
    item->tensor = copy.device;
    item->packed = packed;
    item->bytes = static_cast<uint32_t>(bytes);
    item->first = done / element_bytes;
    item->element_bytes = static_cast<uint32_t>(element_bytes);
    for (const Layout::Dim& dim : copy.layout->dims()) {
      item->extents[item->dims] = static_cast<uint64_t>(dim.extent);
      item->strides[item->dims++] = dim.stride;
    }
  }

  // One copy for what lies side by side in both; the gaps between are nobody's.
  static void AddCopy(uint32_t packed, std::byte* host, size_t bytes, PackRound* round) {
    if (!round->copies.empty()) {
      ScratchCopy& last = round->copies.back();
      const size_t gap = packed - last.scratch - last.bytes;
      if (gap < kAlignment && host == last.host + last.bytes + gap) {
        last.bytes += gap + bytes;
        return;
      }
    }
    round->copies.push_back({.scratch = packed, .host = host, .bytes = bytes});
  }

  const CuAddress scratch_;
  const size_t scratch_bytes_;
  const bool to_tensors_;
  size_t used_ = 0;
};

}  // namespace

bool HasAlignedElements(CuAddress tensor, const Layout& layout) {
  uint64_t all = tensor;
  for (const Layout::Dim& dim : layout.dims()) all |= static_cast<uint64_t>(dim.stride);
  return all % layout.element_bytes() == 0;
}

PackPlan MakePackPlan(std::span<const Copy> copies, CuAddress scratch, size_t scratch_bytes,
                      bool to_tensors) {
  PackPlan plan;
  Planner planner(scratch, scratch_bytes, to_tensors);
  const auto is_small = [](const Copy& copy) {
    return copy.layout->contiguous() && copy.bytes <= kMaxPackedTensorBytes;
  };
  // A single one is no faster for being packed.
  const bool packs_small =
      scratch_bytes > 0 && std::count_if(copies.begin(), copies.end(), is_small) > 1;
  for (const Copy& copy : copies) {
    if (copy.layout->contiguous() && !(packs_small && is_small(copy))) {
      plan.direct.push_back(copy);
    } else if (copy.layout->contiguous() ||
               (scratch_bytes > 0 && copy.layout->dims().size() <= kMaxStridedDims &&
                HasAlignedElements(copy.device, *copy.layout))) {
      planner.Add(copy, &plan);
    } else {
      plan.on_host.push_back(copy);
    }
  }
  return plan;
}

}  // namespace reigen::sdk::cuda
