#include "coordinator/config.h"

#include <algorithm>
#include <set>

#include "coordinator/limits.h"

namespace reigen::coordinator {
namespace {

// Longer times are as good as none.
constexpr double kMaxSeconds = 1e8;
constexpr size_t kMinSecretBytes = 16;

StatusOr<Duration> DurationFrom(const std::string& name, double value) {
  if (!(value >= 0) || value > kMaxSeconds) {
    return InvalidArgument(name + " of " + std::to_string(value) + " s");
  }
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(value));
}

StatusOr<WirePrecision> WirePrecisionFrom(const std::string& text) {
  if (text.empty() || text == "auto") return WirePrecision::kAuto;
  if (text == "fp32") return WirePrecision::kFp32;
  if (text == "tensor") return WirePrecision::kTensor;
  return InvalidArgument("wire precision '" + text + "' is none of auto, fp32, tensor");
}

StatusOr<std::vector<HostConfig>> HostsFrom(const launch::CoordinatorStart& start) {
  if (start.hosts_size() == 0 || static_cast<size_t>(start.hosts_size()) > kMaxHosts) {
    return InvalidArgument("a job of " + std::to_string(start.hosts_size()) + " hosts");
  }
  std::vector<HostConfig> hosts;
  std::set<int> ranks;
  for (const launch::HostSlots& slots : start.hosts()) {
    if (slots.host() != static_cast<int>(hosts.size()) || slots.ranks_size() == 0) {
      return InvalidArgument("host " + std::to_string(slots.host()) +
                             " is out of place or has no rank");
    }
    for (int rank : slots.ranks()) {
      if (!ranks.insert(rank).second) {
        return InvalidArgument("rank " + std::to_string(rank) + " is there twice");
      }
    }
    hosts.push_back({slots.name(), {slots.ranks().begin(), slots.ranks().end()}});
  }
  if (*ranks.begin() != 0 || *ranks.rbegin() != static_cast<int>(ranks.size()) - 1 ||
      ranks.size() > kMaxRanks) {
    return InvalidArgument("ranks are not 0 ... size - 1");
  }
  return hosts;
}

}  // namespace

StatusOr<Coordinator::Options> OptionsFrom(const launch::CoordinatorStart& start) {
  const launch::JobOptions& given = start.options();
  Coordinator::Options options;
  JobConfig& config = options.config;
  if (start.secret().size() < kMinSecretBytes) return InvalidArgument("the job's secret is short");
  options.secret = start.secret();
  options.listen_addresses = {start.listen_addresses().begin(), start.listen_addresses().end()};
  options.port_range = given.port_range();

  config.job = start.job();
  config.incarnation = std::max(start.incarnation(), 1u);
  REIGEN_ASSIGN_OR_RETURN(config.hosts, HostsFrom(start));
  config.fusion_threshold_bytes = given.fusion_threshold_bytes();
  config.small_max_bytes = given.small_max_bytes();
  if (given.segment_bytes() > 0) config.segment_bytes = given.segment_bytes();
  if (given.channels() > 0) config.channels = given.channels();
  REIGEN_ASSIGN_OR_RETURN(config.wire_precision, WirePrecisionFrom(given.wire_precision()));
  REIGEN_ASSIGN_OR_RETURN(config.stall_warning,
                          DurationFrom("stall warning time", given.stall_warning_seconds()));
  REIGEN_ASSIGN_OR_RETURN(config.stall_shutdown,
                          DurationFrom("stall shutdown time", given.stall_shutdown_seconds()));
  const double scale = given.timeout_scale() > 0 ? given.timeout_scale() : 1;
  REIGEN_ASSIGN_OR_RETURN(config.stall_grace,
                          DurationFrom("stall grace", scale * ToSeconds(kStallGrace)));
  // Not for peers to be refused where other times are short: it bounds strangers alone.
  const double handshake_scale = std::max(scale, 1.0);
  REIGEN_ASSIGN_OR_RETURN(options.handshake_time,
                          DurationFrom("handshake time",
                                       handshake_scale * ToSeconds(kHandshakeTime)));
  REIGEN_ASSIGN_OR_RETURN(options.end_time,
                          DurationFrom("end time", scale * ToSeconds(kEndTime)));
  if (given.heartbeat_seconds() > 0) {
    REIGEN_ASSIGN_OR_RETURN(config.heartbeat,
                            DurationFrom("heartbeat time", given.heartbeat_seconds()));
  }
  if (given.dead_after_seconds() > 0) {
    REIGEN_ASSIGN_OR_RETURN(config.dead_after,
                            DurationFrom("time of silence", given.dead_after_seconds()));
  }
  return options;
}

}  // namespace reigen::coordinator
