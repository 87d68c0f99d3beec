#include "worker/serve/tcp_options.h"

#include <charconv>
#include <chrono>

namespace reigen::worker {

StatusOr<transport::PortRange> ParsePorts(const std::string& text) {
  transport::PortRange ports;
  if (text.empty()) return ports;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, ports.first);
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == '-') {
    const auto last = std::from_chars(first.ptr + 1, end, ports.last);
    if (last.ec == std::errc() && last.ptr == end && ports.first > 0 &&
        ports.first <= ports.last) {
      return ports;
    }
  }
  return InvalidArgument("port range '" + text + "' is not FIRST-LAST within 1-65535");
}

Duration Scaled(Duration time, const launch::JobOptions& job) {
  if (!(job.timeout_scale() > 0)) return time;
  return std::chrono::duration_cast<Duration>(time * job.timeout_scale());
}

StatusOr<transport::TcpOptions> MakeTcpOptions(const launch::GuardStart& start,
                                               const std::string& local_address) {
  const launch::JobOptions& job = start.options();
  transport::TcpOptions options;
  options.job = start.job();
  options.secret = start.secret();
  options.host = start.host().host();
  options.name = start.host().name();
  options.bind_addresses = {local_address};
  REIGEN_ASSIGN_OR_RETURN(options.ports, ParsePorts(job.port_range()));
  if (job.channels() > 0) options.channels = static_cast<int>(job.channels());
  options.connect_deadline = Scaled(options.connect_deadline, job);
  options.path_timeout = Scaled(options.path_timeout, job);
  return options;
}

}  // namespace reigen::worker
