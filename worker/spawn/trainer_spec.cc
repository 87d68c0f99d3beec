#include "worker/spawn/trainer_spec.h"

#include <algorithm>
#include <utility>

namespace reigen::worker {
namespace {

using Variable = std::pair<std::string, std::string>;

std::vector<Variable> RankVariables(const launch::GuardStart& start, int local_rank,
                                    const std::string& socket_path) {
  const std::vector<Variable> numbers = {
      {"RANK", std::to_string(start.host().ranks(local_rank))},
      {"SIZE", std::to_string(start.size())},
      {"LOCAL_RANK", std::to_string(local_rank)},
      {"LOCAL_SIZE", std::to_string(start.host().ranks_size())},
      {"CROSS_RANK", std::to_string(start.cross_ranks(local_rank))},
      {"CROSS_SIZE", std::to_string(start.cross_sizes(local_rank))},
  };
  std::vector<Variable> all;
  for (const auto& [name, value] : numbers) {
    all.emplace_back("REIGEN_" + name, value);
    all.emplace_back("HOROVOD_" + name, value);
  }
  all.emplace_back("REIGEN_SOCKET", socket_path);
  all.emplace_back("REIGEN_JOB", start.job());
  all.emplace_back("HOROVOD_HOSTNAME", start.host().name());
  all.emplace_back("HOROVOD_CONTROLLER", "gloo");
  // A trainer's prints appear when it makes them, not when a buffer is full.
  all.emplace_back("PYTHONUNBUFFERED", "1");
  return all;
}

}  // namespace

Status CheckGuardStart(const launch::GuardStart& start) {
  const int local_size = start.host().ranks_size();
  if (local_size == 0 || start.cross_ranks_size() != local_size ||
      start.cross_sizes_size() != local_size) {
    return InvalidArgument("start message: its ranks and cross ranks differ in number");
  }
  if (start.argv_size() == 0) return InvalidArgument("start message: no command");
  const auto in_job = [&](int rank) { return rank >= 0 && rank < start.size(); };
  if (!std::all_of(start.host().ranks().begin(), start.host().ranks().end(), in_job)) {
    return InvalidArgument("start message: a rank outside the job");
  }
  return OkStatus();
}

std::vector<std::string> TrainerEnvironment(const launch::GuardStart& start, int local_rank,
                                            const std::string& socket_path) {
  const std::vector<Variable> variables = RankVariables(start, local_rank, socket_path);
  std::vector<std::string> environment;
  for (const std::string& entry : start.environment()) {
    const std::string name = entry.substr(0, entry.find('='));
    const bool ours = std::any_of(variables.begin(), variables.end(),
                                  [&](const Variable& v) { return v.first == name; });
    if (!ours) environment.push_back(entry);
  }
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  return environment;
}

}  // namespace reigen::worker
