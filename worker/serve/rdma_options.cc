#include "worker/serve/rdma_options.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "worker/serve/tcp_options.h"

namespace reigen::worker {
namespace {

using Lookup = std::function<std::optional<std::string>(const std::string&)>;

std::optional<std::string> OfTheLauncher(const launch::GuardStart& start, const std::string& name) {
  for (const std::string& item : start.environment()) {
    if (item.starts_with(name + "=")) return item.substr(name.size() + 1);
  }
  return std::nullopt;
}

// `fallback` if the variable is not set.
StatusOr<int> Number(const Lookup& lookup, const std::string& name, int most, int fallback) {
  const std::optional<std::string> text = lookup(name);
  if (!text) return fallback;
  const bool hex = text->starts_with("0x");
  const char* const begin = text->data() + (hex ? 2 : 0);
  const char* const end = text->data() + text->size();
  int value = -1;
  const auto parsed = std::from_chars(begin, end, value, hex ? 16 : 10);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < 0 || value > most) {
    return InvalidArgument(name + ": \"" + *text + "\" is not a number from 0 to " +
                           std::to_string(most));
  }
  return value;
}

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

StatusOr<transport::rdma::RdmaOptions> MakeRdmaOptions(
    const launch::GuardStart& start,
    const std::function<std::optional<std::string>(const std::string&)>& variable) {
  const launch::JobOptions& job = start.options();
  const Lookup lookup = [&](const std::string& name) {
    const std::optional<std::string> here = variable(name);
    return here ? here : OfTheLauncher(start, name);
  };
  transport::rdma::RdmaOptions options;
  options.job = start.job();
  options.secret = start.secret();
  options.host = start.host().host();
  options.name = start.host().name();
  options.wish.devices = {job.rdma_devices().begin(), job.rdma_devices().end()};
  if (options.wish.devices.empty()) {
    options.wish.devices = Split(lookup("REIGEN_RDMA_DEVICES").value_or(""));
  }
  if (job.has_rdma_gid_index()) {
    options.wish.gid_index = job.rdma_gid_index();
  } else {
    REIGEN_ASSIGN_OR_RETURN(options.wish.gid_index, Number(lookup, "REIGEN_RDMA_GID_INDEX", 255, -1));
  }
  REIGEN_ASSIGN_OR_RETURN(const int pkey, Number(lookup, "REIGEN_RDMA_PKEY", 0xffff, -1));
  if (pkey >= 0) options.wish.pkey = static_cast<uint16_t>(pkey);
  REIGEN_ASSIGN_OR_RETURN(const int level, Number(lookup, "REIGEN_RDMA_SERVICE_LEVEL", 15, 0));
  options.service_level = static_cast<uint8_t>(level);
  REIGEN_ASSIGN_OR_RETURN(const int traffic, Number(lookup, "REIGEN_RDMA_TRAFFIC_CLASS", 255, 0));
  options.traffic_class = static_cast<uint8_t>(traffic);
  const int channels = job.channels() > 0 ? static_cast<int>(job.channels()) : options.channels;
  REIGEN_ASSIGN_OR_RETURN(options.channels, Number(lookup, "REIGEN_RDMA_QUEUES", 15, channels));
  REIGEN_ASSIGN_OR_RETURN(const int relaxed, Number(lookup, "REIGEN_RDMA_RELAXED_ORDERING", 1, 1));
  options.relaxed_ordering = relaxed == 1;
  REIGEN_ASSIGN_OR_RETURN(const int mtu, Number(lookup, "REIGEN_RDMA_MTU", 4096, 0));
  options.wish.mtu_bytes = static_cast<uint32_t>(mtu);
  options.connect_deadline = Scaled(options.connect_deadline, job);
  if (job.rdma_retry_seconds() > 0) {
    options.retry_budget = std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(job.rdma_retry_seconds()));
  }
  return options;
}

}  // namespace reigen::worker
