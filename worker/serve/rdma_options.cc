#include "worker/serve/rdma_options.h"

#include <chrono>
#include <cstdint>

#include "runtime/transport/rdma/variables.h"
#include "worker/serve/tcp_options.h"

namespace reigen::worker {
namespace {

using transport::rdma::Lookup;
using transport::rdma::ReadNumber;

std::optional<std::string> OfTheLauncher(const launch::GuardStart& start, const std::string& name) {
  for (const std::string& item : start.environment()) {
    if (item.starts_with(name + "=")) return item.substr(name.size() + 1);
  }
  return std::nullopt;
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
  if (job.has_rdma_gid_index()) options.wish.gid_index = job.rdma_gid_index();
  REIGEN_RETURN_IF_ERROR(transport::rdma::ReadWish(lookup, &options.wish));
  REIGEN_ASSIGN_OR_RETURN(const int level, ReadNumber(lookup, "REIGEN_RDMA_SERVICE_LEVEL", 15, 0));
  options.service_level = static_cast<uint8_t>(level);
  REIGEN_ASSIGN_OR_RETURN(const int traffic, ReadNumber(lookup, "REIGEN_RDMA_TRAFFIC_CLASS", 255, 0));
  options.traffic_class = static_cast<uint8_t>(traffic);
  const int channels = job.channels() > 0 ? static_cast<int>(job.channels()) : options.channels;
  REIGEN_ASSIGN_OR_RETURN(options.channels, ReadNumber(lookup, "REIGEN_RDMA_QUEUES", 15, channels));
  REIGEN_ASSIGN_OR_RETURN(const int relaxed, ReadNumber(lookup, "REIGEN_RDMA_RELAXED_ORDERING", 1, 1));
  options.relaxed_ordering = relaxed == 1;
  options.connect_deadline = Scaled(options.connect_deadline, job);
  if (job.rdma_retry_seconds() > 0) {
    options.retry_budget = std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(job.rdma_retry_seconds()));
  }
  return options;
}

}  // namespace reigen::worker
