#include "client/cli/reigenrun/job_options.h"

#include <cstdint>
#include <charconv>
#include <system_error>

namespace reigen::run {
namespace {

// See "Limits" in ARCHITECTURE.md for the times. The sizes are the defaults of the tuning that is
// built in: small tensors take the low-latency way, the others a pipeline.
constexpr double kHeartbeatSeconds = 0.2;
constexpr double kDeadAfterSeconds = 3;
constexpr double kGraceSeconds = 3;
constexpr double kRdmaRetrySeconds = 4;
constexpr uint64_t kSmallMaxBytes = 16 << 10;
constexpr uint64_t kSegmentBytes = 512 << 10;
constexpr uint32_t kChannels = 2;
constexpr uint64_t kScratchBytes = 64 << 20;

}  // namespace

StatusOr<double> ParseTimeoutScale(const std::string& text) {
  if (text.empty()) return 1.0;
  double scale = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, scale);
  if (result.ec != std::errc() || result.ptr != end || !(scale >= 0.01 && scale <= 1000)) {
    return InvalidArgument("REIGEN_TIMEOUT_SCALE: \"" + text +
                           "\" is not a number between 0.01 and 1000");
  }
  return scale;
}

StatusOr<std::string> ChooseGpuDirect(const std::string& flag, const std::string& variable) {
  if (!flag.empty()) return flag;
  if (variable.empty()) return std::string("auto");
  if (variable == "auto" || variable == "off" || variable == "require") return variable;
  return InvalidArgument("REIGEN_GPU_DIRECT: \"" + variable +
                         "\" is none of auto, off, require");
}

launch::JobOptions MakeJobOptions(const Options& options, double timeout_scale) {
  launch::JobOptions job;
  job.set_fusion_threshold_bytes(static_cast<uint64_t>(options.fusion_threshold_mb * (1 << 20)));
  if (!options.no_stall_check) {
    job.set_stall_warning_seconds(options.stall_warning_s * timeout_scale);
    job.set_stall_shutdown_seconds(options.stall_shutdown_s * timeout_scale);
  }
  job.set_wire_precision(options.wire_precision);
  job.set_small_max_bytes(kSmallMaxBytes);
  job.set_segment_bytes(kSegmentBytes);
  job.set_channels(kChannels);
  job.set_scratch_bytes(kScratchBytes);
  job.set_heartbeat_seconds(kHeartbeatSeconds * timeout_scale);
  job.set_dead_after_seconds(kDeadAfterSeconds * timeout_scale);
  job.set_grace_seconds(kGraceSeconds * timeout_scale);
  job.set_coordinator_timeout_seconds(options.coordinator_timeout_s * timeout_scale);
  job.set_start_timeout_seconds(options.start_timeout_s * timeout_scale);
  job.set_log_level(options.log_level);
  job.set_port_range(options.port_range);
  job.set_transport(options.transport);
  job.mutable_rdma_devices()->Add(options.rdma_devices.begin(), options.rdma_devices.end());
  if (options.rdma_gid_index >= 0) job.set_rdma_gid_index(options.rdma_gid_index);
  job.set_rdma_retry_seconds(kRdmaRetrySeconds * timeout_scale);
  job.set_timeout_scale(timeout_scale);
  return job;
}

}  // namespace reigen::run
