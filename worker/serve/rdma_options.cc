#include "worker/serve/rdma_options.h"

#include <chrono>

#include "runtime/transport/rdma/variables.h"
#include "worker/serve/tcp_options.h"

namespace reigen::worker {
namespace {

using transport::rdma::Lookup;

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
  transport::rdma::Settings settings;
  REIGEN_RETURN_IF_ERROR(transport::rdma::ReadVariables(lookup, &options.wish, &settings));
  options.service_level = settings.service_level;
  options.traffic_class = settings.traffic_class;
  options.relaxed_ordering = settings.relaxed_ordering;
  if (job.channels() > 0) options.channels = static_cast<int>(job.channels());
  options.channels = settings.queues.value_or(options.channels);
  options.connect_deadline = Scaled(options.connect_deadline, job);
  if (job.rdma_retry_seconds() > 0) {
    options.retry_budget = std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(job.rdma_retry_seconds()));
  }
  return options;
}

}  // namespace reigen::worker
