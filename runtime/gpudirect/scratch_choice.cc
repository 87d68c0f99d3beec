#include "runtime/gpudirect/scratch_choice.h"

#include <algorithm>

#include "runtime/gpudirect/flush.h"
#include "runtime/gpudirect/mode.h"

namespace reigen::gpudirect {
namespace {

constexpr uint64_t kMostWithSurplus = 64 << 20;

ScratchChoice Staged(const std::string& reason, const std::string& remedy = "") {
  ScratchChoice choice;
  choice.reason = reason;
  choice.remedy = remedy;
  return choice;
}

// That the device registers dma-bufs is for its registration to say.
Verdict Judge(const ScratchFacts& facts, const NicFacts& nic) {
  return ChooseMode({.gpu_exports_dmabuf = facts.why_no_dmabuf.empty(),
                     .gpu_allows_rdma = facts.allows_rdma,
                     .nic_registers_dmabuf = true,
                     .distance = nic.distance,
                     .iommu_translates = nic.iommu_translates,
                     .separate_groups = nic.separate_groups});
}

// If it would be direct by devices that links do not use, says so.
void NameBetter(const ScratchFacts& facts, ScratchChoice* choice) {
  std::string names;
  for (const NicFacts& nic : facts.nics) {
    if (nic.used || Judge(facts, nic).mode != Mode::kDirect) continue;
    names += (names.empty() ? "" : ",") + nic.name;
  }
  if (names.empty()) return;
  choice->reason += "; nearer, and not used by the links: " + names;
  choice->remedy = "`--rdma-devices " + names +
                   "` has links use them (where hosts differ: REIGEN_RDMA_DEVICES on each)";
}

}  // namespace

ScratchChoice ChooseScratch(const ScratchFacts& facts) {
  if (!facts.links.ok()) return Staged(Message(facts.links));
  if (!facts.has_scratch) {
    return Staged("there is no scratch on the GPU",
                  "the rank's stderr says what its allocation failed with");
  }
  if (facts.allows_rdma && !facts.why_no_dmabuf.empty()) {
    return Staged(facts.why_no_dmabuf, kHowToExportDmabuf);
  }
  const auto used = std::count_if(facts.nics.begin(), facts.nics.end(),
                                  [](const NicFacts& nic) { return nic.used; });
  if (used == 0) return Staged("the links use no RDMA device");
  ScratchChoice choice;
  auto least = Distance::kUnknown;
  for (const NicFacts& nic : facts.nics) {
    if (!nic.used) continue;
    const Verdict verdict = Judge(facts, nic);
    if (verdict.mode != Mode::kDirect) {
      if (choice.reason.empty()) {
        choice.reason = nic.name + ": " + verdict.reason;
        choice.remedy = verdict.remedy;
      }
      continue;
    }
    if (choice.direct && nic.distance > least) continue;
    if (!choice.direct || nic.distance < least) choice.near.clear();
    choice.direct = true;
    least = nic.distance;
    choice.near.push_back(nic.name);
  }
  if (!choice.direct) {
    NameBetter(facts, &choice);
    return choice;
  }
  choice.reason.clear();
  choice.remedy.clear();
  const auto flush = FlushOfScratch(facts.capability_major,
                                               OrderingOf(facts.writes_ordering),
                                               static_cast<size_t>(used));
  choice.read_back = flush.read_back;
  return choice;
}

std::string ToString(const ScratchChoice& choice) {
  return choice.direct ? "gpu-direct: dmabuf" : "gpu-direct: staged (" + choice.reason + ")";
}

uint64_t ScratchBytes(uint64_t window_bytes) {
  return std::max(window_bytes, std::min(4 * window_bytes, kMostWithSurplus));
}

}  // namespace reigen::gpudirect
