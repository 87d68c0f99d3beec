#include "client/cli/reigenrun/plan.h"

#include <algorithm>
#include <utility>

#include "client/cli/reigenrun/environment.h"
#include "client/cli/reigenrun/job_options.h"
#include "client/cli/reigenrun/rsh.h"
#include "runtime/base/child_process.h"
#include "runtime/base/version.h"

namespace reigen::run {
namespace {

constexpr int kFirstIncarnation = 1;

std::string Join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + QuoteForShell(word);
  return text;
}

StatusOr<std::vector<HostEntry>> ListHosts(const Options& options,
                                           const std::string& hostfile_text) {
  if (!options.hosts.empty()) {
    StatusOr<std::vector<HostEntry>> hosts = ParseHostList(options.hosts);
    return hosts.ok() ? hosts : Annotate(hosts.status(), "-H");
  }
  if (!options.hostfile.empty()) {
    StatusOr<std::vector<HostEntry>> hosts = ParseHostfile(hostfile_text);
    return hosts.ok() ? hosts : Annotate(hosts.status(), options.hostfile);
  }
  return std::vector<HostEntry>();
}

// Loopback, if no packet leaves this machine.
ChosenAddresses LoopbackAddresses(const std::vector<InterfaceAddress>& interfaces) {
  const bool v4 = std::any_of(interfaces.begin(), interfaces.end(),
                              [](const InterfaceAddress& a) { return a.address == "127.0.0.1"; });
  return {{v4 ? "127.0.0.1" : "::1"}, "all hosts are this machine"};
}

Status ChooseProgram(const Surroundings& around, Plan* plan) {
  const std::string path = FindVariable(around.environment, "PATH");
  plan->program = FindProgram(plan->command[0], path, around.working_directory);
  const bool needed_here = std::any_of(plan->hosts.begin(), plan->hosts.end(),
                                       [](const HostPlan& h) { return h.local; });
  if (!plan->program.empty() || !needed_here) return OkStatus();
  return NotFound("cannot run \"" + plan->command[0] + "\": " +
                  WhyNoProgram(plan->command[0], path, around.working_directory));
}

Status PlanHosts(const Options& options, const std::string& hostfile_text,
                 const Surroundings& around, Plan* plan) {
  REIGEN_ASSIGN_OR_RETURN(const std::vector<HostEntry> entries, ListHosts(options, hostfile_text));
  REIGEN_ASSIGN_OR_RETURN(std::vector<PlacedHost> placed, PlaceRanks(entries, options.np));
  const RshOptions rsh{.command_template = options.rsh,
                       .ssh_port = options.ssh_port,
                       .ssh_identity_file = options.ssh_identity_file,
                       .connect_timeout_s = std::max(1, static_cast<int>(options.start_timeout_s))};
  // A template may reach hosts by names that no resolver knows, or knows otherwise.
  const Resolve resolve = options.rsh.empty()
                              ? around.resolve
                              : [](const std::string&) { return std::vector<std::string>(); };
  const std::string remote_path =
      options.worker_path.empty() ? around.worker_path : options.worker_path;
  for (PlacedHost& p : placed) {
    HostPlan host{.placed = std::move(p), .local = false, .guard_words = {}};
    host.local = IsThisMachine(host.placed.name, around.machine, resolve);
    plan->size += static_cast<int>(host.placed.ranks.size());
    if (host.local) {
      host.guard_words = {around.worker_path, "guard"};
    } else {
      REIGEN_ASSIGN_OR_RETURN(host.guard_words,
                              RshWords(rsh, host.placed.name, {remote_path, "guard"}));
    }
    plan->hosts.push_back(std::move(host));
  }
  return OkStatus();
}

launch::HostSlots ToMessage(const HostPlan& host, int number) {
  launch::HostSlots slots;
  slots.set_host(number);
  slots.set_name(host.placed.name);
  slots.set_slots(host.placed.slots);
  slots.mutable_ranks()->Add(host.placed.ranks.begin(), host.placed.ranks.end());
  slots.set_local(host.local);
  return slots;
}

}  // namespace

StatusOr<Plan> MakePlan(const Options& options, const std::string& hostfile_text,
                        const Surroundings& around) {
  REIGEN_ASSIGN_OR_RETURN(const double scale, ParseTimeoutScale(FindVariable(
                                                  around.environment, "REIGEN_TIMEOUT_SCALE")));
  Plan plan;
  REIGEN_RETURN_IF_ERROR(PlanHosts(options, hostfile_text, around, &plan));
  plan.loopback_only = std::all_of(plan.hosts.begin(), plan.hosts.end(),
                                   [](const HostPlan& h) { return h.local; });
  if (plan.loopback_only && options.networks.empty()) {
    ChosenAddresses chosen = LoopbackAddresses(around.interfaces);
    plan.listen_addresses = std::move(chosen.addresses);
    plan.listen_reason = std::move(chosen.reason);
  } else {
    REIGEN_ASSIGN_OR_RETURN(ChosenAddresses chosen,
                            ChooseAddresses(around.interfaces, options.networks,
                                            "localhost (the launcher's)"));
    plan.listen_addresses = std::move(chosen.addresses);
    plan.listen_reason = std::move(chosen.reason);
    plan.loopback_only = false;
  }
  plan.networks = options.networks;
  plan.command = options.command;
  plan.environment = around.environment;
  plan.working_directory = around.working_directory;
  plan.job_options = MakeJobOptions(options, scale);
  REIGEN_ASSIGN_OR_RETURN(*plan.job_options.mutable_gpu_direct(),
                          ChooseGpuDirect(options.gpu_direct,
                                          FindVariable(around.environment, "REIGEN_GPU_DIRECT")));
  REIGEN_RETURN_IF_ERROR(ChooseProgram(around, &plan));
  return plan;
}

std::vector<std::string> Describe(const Plan& plan) {
  std::vector<std::string> lines = {"command: " + Join(plan.command)};
  if (!plan.program.empty()) lines.push_back("program: " + plan.program);
  for (const HostPlan& host : plan.hosts) {
    std::string ranks;
    for (int r : host.placed.ranks) ranks += (ranks.empty() ? "" : ",") + std::to_string(r);
    lines.push_back("host " + host.placed.name + ": ranks " + ranks + "; " +
                    (host.local ? "this machine: " : "another machine: ") + Join(host.guard_words));
  }
  lines.push_back("the coordinator listens on " + Join(plan.listen_addresses) + " (" +
                  plan.listen_reason + ")");
  return lines;
}

launch::CoordinatorStart MakeCoordinatorStart(const Plan& plan, const JobNames& names) {
  launch::CoordinatorStart start;
  start.set_job(names.job);
  start.set_secret(names.secret);
  start.set_incarnation(kFirstIncarnation);
  for (size_t h = 0; h < plan.hosts.size(); ++h) {
    *start.add_hosts() = ToMessage(plan.hosts[h], static_cast<int>(h));
  }
  *start.mutable_options() = plan.job_options;
  start.mutable_listen_addresses()->Add(plan.listen_addresses.begin(),
                                        plan.listen_addresses.end());
  start.set_folder(names.coordinator_folder);
  return start;
}

launch::GuardStart MakeGuardStart(const Plan& plan, const JobNames& names, int host,
                                  const std::vector<std::string>& coordinator_addresses) {
  const HostPlan& h = plan.hosts[host];
  const std::vector<std::string> environment = TrainersEnvironment(plan.environment, h.local);
  launch::GuardStart start;
  start.set_job(names.job);
  start.set_secret(names.secret);
  *start.mutable_host() = ToMessage(h, host);
  start.set_size(plan.size);
  start.set_hosts(static_cast<int>(plan.hosts.size()));
  *start.mutable_options() = plan.job_options;
  start.mutable_coordinator_addresses()->Add(coordinator_addresses.begin(),
                                             coordinator_addresses.end());
  start.mutable_networks()->Add(plan.networks.begin(), plan.networks.end());
  start.set_loopback_only(plan.loopback_only);
  start.mutable_argv()->Add(plan.command.begin(), plan.command.end());
  start.mutable_environment()->Add(environment.begin(), environment.end());
  start.set_working_directory(plan.working_directory);
  start.mutable_cross_ranks()->Add(h.placed.cross_ranks.begin(), h.placed.cross_ranks.end());
  start.mutable_cross_sizes()->Add(h.placed.cross_sizes.begin(), h.placed.cross_sizes.end());
  start.set_program(plan.program);
  start.set_version(kVersion);
  return start;
}

}  // namespace reigen::run
