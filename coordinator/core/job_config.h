// What the core knows of its job from the start.
#ifndef REIGEN_COORDINATOR_CORE_JOB_CONFIG_H_
#define REIGEN_COORDINATOR_CORE_JOB_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/limits.h"
#include "runtime/base/clock.h"

namespace reigen::coordinator {

enum class WirePrecision { kAuto, kFp32, kTensor };  // R3

struct HostConfig {
  std::string name;
  std::vector<int> ranks;  // global, in local order; at least one
};

// Requires: the ranks of all hosts are 0 ... size - 1, each once.
struct JobConfig {
  std::string job;
  uint32_t incarnation = 1;
  std::vector<HostConfig> hosts;  // index = host number = place in the ring
  uint64_t fusion_threshold_bytes = 64ull << 20;
  uint64_t small_max_bytes = 16ull << 10;  // class small (R2): tensors up to this
  uint64_t segment_bytes = 1ull << 20;     // of any plan, at most
  uint32_t channels = 2;
  uint32_t max_names = kMaxNames;  // with an id, in an epoch
  WirePrecision wire_precision = WirePrecision::kAuto;
  Duration stall_warning = seconds(60);  // zero: no stall check
  Duration stall_shutdown{};             // zero: never
  Duration stall_grace = kStallGrace;
  Duration heartbeat = milliseconds(200);
  Duration dead_after = seconds(3);
};

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_CORE_JOB_CONFIG_H_
