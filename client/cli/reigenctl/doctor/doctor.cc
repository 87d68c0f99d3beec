#include "client/cli/reigenctl/doctor/doctor.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "client/cli/reigenctl/doctor/examine.h"
#include "client/cli/reigenctl/doctor/facts_json.h"
#include "client/cli/reigenctl/doctor/gather.h"
#include "client/cli/reigenctl/doctor/phrases.h"
#include "client/cli/reigenrun/binaries.h"
#include "client/cli/reigenrun/hostfile.h"
#include "client/cli/reigenrun/hosts.h"
#include "client/cli/reigenrun/rsh.h"
#include "runtime/base/clock.h"
#include "runtime/base/interfaces.h"
#include "runtime/probe/facts.h"
#include "runtime/transport/rdma/variables.h"

namespace reigen::ctl {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kUsageCode = 2;

// As a job does: this host's own, else that of where it is started.
std::optional<std::string> Variable(const DoctorOptions& options, const std::string& name) {
  if (const char* const own = std::getenv(name.c_str()); own != nullptr) return own;
  for (const std::string& variable : options.launcher_variables) {
    if (variable.starts_with(name + "=")) return variable.substr(name.size() + 1);
  }
  return std::nullopt;
}

std::vector<std::string> VariablesToTakeAlong(const DoctorOptions& options) {
  std::vector<std::string> variables;
  for (const std::string& name : transport::rdma::VariableNames()) {
    const std::optional<std::string> value = Variable(options, name);
    if (value) variables.push_back(name + "=" + *value);
  }
  return variables;
}

// Of the job, if these are its hosts.
size_t HostsOfJob(const DoctorOptions& options, size_t listed) {
  return std::max(options.wishes.hosts, listed);
}

// What another host's reigenctl is to be told.
std::vector<std::string> RemoteWords(const DoctorOptions& options, const std::string& path,
                                     size_t listed) {
  const Wishes& wishes = options.wishes;
  std::vector<std::string> words = {path,           "doctor",
                                    "--json",       "--job-hosts",
                                    std::to_string(HostsOfJob(options, listed)),
                                    "--transport",  wishes.transport,
                                    "--gpu-direct", wishes.gpu_direct};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--network-interface", Join(wishes.networks, ","));
  add("--rdma-devices", Join(wishes.rdma.devices, ","));
  add("--rdma-gid-index",
      wishes.rdma.gid_index < 0 ? "" : std::to_string(wishes.rdma.gid_index));
  for (const std::string& variable : options.launcher_variables) {
    add("--launcher-variable", variable);
  }
  return words;
}

StatusOr<std::vector<run::HostEntry>> ListHosts(const DoctorOptions& options,
                                                const std::string& hostfile_text) {
  if (!options.hosts.empty()) {
    StatusOr<std::vector<run::HostEntry>> hosts = run::ParseHostList(options.hosts);
    return hosts.ok() ? hosts : Annotate(hosts.status(), "-H");
  }
  StatusOr<std::vector<run::HostEntry>> hosts = run::ParseHostfile(hostfile_text);
  return hosts.ok() ? hosts : Annotate(hosts.status(), options.hostfile);
}

StatusOr<std::vector<Place>> FindPlaces(const DoctorOptions& options) {
  if (options.hosts.empty() && options.hostfile.empty()) return std::vector<Place>{Place{}};
  std::string text;
  if (!options.hostfile.empty()) {
    REIGEN_ASSIGN_OR_RETURN(text, run::ReadHostfile(options.hostfile));
  }
  REIGEN_ASSIGN_OR_RETURN(const std::vector<InterfaceAddress> interfaces,
                          ListInterfaceAddresses());
  REIGEN_ASSIGN_OR_RETURN(const std::string own_path, run::OwnPath());
  return PlanPlaces(options, text, run::DescribeThisMachine(interfaces), run::ResolveByDns,
                    own_path);
}

HostAnswer LookHere(const DoctorOptions& options, const probe::HostFacts& facts,
                    const std::string& host) {
  const Wishes wishes = WithVariables(
      options.wishes, [&](const std::string& name) { return Variable(options, name); });
  HostAnswer answer;
  answer.report = Examine(facts, wishes);
  if (!host.empty()) answer.report.host = host;
  answer.host = answer.report.host;
  answer.json = ReportJson(answer.report, FactsJson(facts));
  return answer;
}

std::vector<HostAnswer> LookEverywhere(const DoctorOptions& options,
                                       const std::vector<Place>& places) {
  std::vector<Question> questions;
  for (const Place& place : places) {
    if (!place.question.words.empty()) questions.push_back(place.question);
  }
  const auto limit = std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(options.timeout_s));
  // Here last, and once, whatever this machine is called: it may start CUDA, which has
  // threads.
  std::vector<HostAnswer> remote = AskHosts(questions, Now() + limit);
  std::optional<probe::HostFacts> here;
  if (questions.size() < places.size()) here = GatherFacts();
  std::vector<HostAnswer> answers;
  auto next = remote.begin();
  for (const Place& place : places) {
    answers.push_back(place.question.words.empty() ? LookHere(options, *here, place.host)
                                                   : std::move(*next++));
  }
  return answers;
}

}  // namespace

Wishes WithVariables(const Wishes& given, const transport::rdma::Lookup& lookup) {
  Wishes wishes = given;
  transport::rdma::Settings settings;
  wishes.variable_error =
      Message(transport::rdma::ReadVariables(lookup, &wishes.rdma, &settings));
  wishes.queues = settings.queues.value_or(wishes.queues);
  return wishes;
}

StatusOr<std::vector<Place>> PlanPlaces(const DoctorOptions& options,
                                        const std::string& hostfile_text,
                                        const run::ThisMachine& machine,
                                        const run::Resolve& resolve,
                                        const std::string& own_path) {
  REIGEN_ASSIGN_OR_RETURN(const std::vector<run::HostEntry> entries,
                          ListHosts(options, hostfile_text));
  const std::string path = options.reigenctl_path.empty() ? own_path : options.reigenctl_path;
  const std::vector<std::string> command = RemoteWords(options, path, entries.size());
  const run::RshOptions rsh{.command_template = options.rsh,
                            .ssh_port = options.ssh_port,
                            .ssh_identity_file = options.ssh_identity_file,
                            .connect_timeout_s =
                                std::max(1, static_cast<int>(options.timeout_s))};
  // A template may reach hosts by names that no resolver knows, or knows otherwise.
  const run::Resolve by_name = options.rsh.empty()
                                   ? resolve
                                   : [](const std::string&) { return std::vector<std::string>(); };
  std::vector<Place> places;
  for (const run::HostEntry& entry : entries) {
    Place place{entry.name, {entry.name, {}}};
    if (!run::IsThisMachine(entry.name, machine, by_name)) {
      REIGEN_ASSIGN_OR_RETURN(place.question.words, run::RshWords(rsh, entry.name, command));
    }
    places.push_back(std::move(place));
  }
  return places;
}

int RunDoctor(const DoctorOptions& given) {
  DoctorOptions options = given;
  options.launcher_variables = VariablesToTakeAlong(given);
  const StatusOr<std::vector<Place>> places = FindPlaces(options);
  if (!places.ok()) {
    std::fprintf(stderr, "reigenctl: %s\n", Message(places.status()).c_str());
    return kUsageCode;
  }
  options.wishes.hosts = HostsOfJob(options, places->size());
  const std::vector<HostAnswer> answers = LookEverywhere(options, *places);
  std::vector<Report> reports;
  Json hosts = Json::array();
  int problems = 0;
  for (const HostAnswer& answer : answers) {
    reports.push_back(answer.report);
    hosts.push_back(answer.json);
    problems += Problems(answer.report.findings);
    if (!options.json) {
      std::printf("%s%s", reports.size() > 1 ? "\n" : "", ReportText(answer.report).c_str());
    }
  }
  const std::vector<Finding> between = Compare(reports, options.wishes);
  problems += Problems(between);
  if (options.json) {
    const Json all{{"hosts", hosts},
                   {"between_hosts", FindingsJson(between)},
                   {"problems", problems}};
    std::printf("%s\n", all.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  } else if (!between.empty()) {
    std::printf("\n%s", FindingsText("all hosts", between).c_str());
  }
  return problems > 0 ? 1 : 0;
}

}  // namespace reigen::ctl
