// Where a GPU's segments between hosts lie: in its own memory, or in the host's. Pure.
#ifndef REIGEN_RUNTIME_GPUDIRECT_SCRATCH_CHOICE_H_
#define REIGEN_RUNTIME_GPUDIRECT_SCRATCH_CHOICE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/gpudirect/distance.h"

namespace reigen::gpudirect {

// One RDMA device of the host, as seen from the GPU.
struct NicFacts {
  std::string name;
  bool used = true;  // by the links; others are only named where one would do better
  Distance distance = Distance::kUnknown;
  bool iommu_translates = false;
  bool separate_groups = false;
};

struct ScratchFacts {
  Status links;              // whether all links of the epoch take GPU memory
  bool has_scratch = false;  // the trainer could allocate one
  std::string why_no_dmabuf;  // empty: there is one
  bool allows_rdma = false;
  int capability_major = 0;
  int writes_ordering = 0;
  std::vector<NicFacts> nics;
};

struct ScratchChoice {
  bool direct = false;
  std::string reason;             // why not
  std::string remedy;             // what could make it direct; may be empty
  std::vector<std::string> near;  // direct: the devices at the least distance
  bool read_back = true;
};

// Direct if a device is near enough and nothing else speaks against it; the registration,
// which is with all devices, has the last word.
ScratchChoice ChooseScratch(const ScratchFacts& facts);

// "gpu-direct: dmabuf", "gpu-direct: staged (REASON)".
std::string ToString(const ScratchChoice& choice);

// Bytes of a scratch, on a GPU or in its place: the window of the stream, for its oldest
// bucket, and three times as much for the others in flight (so that the links do not wait
// for a GPU between two segments), that at most to 64 MiB in all.
uint64_t ScratchBytes(uint64_t window_bytes);

}  // namespace reigen::gpudirect

#endif  // REIGEN_RUNTIME_GPUDIRECT_SCRATCH_CHOICE_H_
