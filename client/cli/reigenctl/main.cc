// reigenctl: looks inside running jobs, and at hosts.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/cli/reigenctl/doctor/doctor.h"
#include "client/cli/reigenctl/jobs.h"
#include "client/cli/reigenctl/query.h"
#include "client/cli/reigenctl/render.h"
#include "client/cli/reigenrun/job_options.h"
#include "client/cli/reigenrun/options.h"
#include "proto/launch/launch.pb.h"
#include "runtime/base/runtime_folder.h"
#include "runtime/base/status.h"
#include "runtime/base/version.h"

namespace {

// 0: every job that was asked for was shown.
int ShowStatus(const std::string& wanted, bool json) {
  const std::string base = reigen::RuntimeBase("");
  nlohmann::ordered_json shown = nlohmann::ordered_json::array();
  size_t asked = 0;
  bool failed = false;
  for (const reigen::control::StatusFile& job : reigen::ctl::FindJobs(base)) {
    if (!wanted.empty() && job.job() != wanted) continue;
    const auto status = reigen::ctl::QueryStatus(job);
    if (!status.ok()) {
      failed = true;
      std::fprintf(stderr, "reigenctl: job %s: %s\n", job.job().c_str(),
                   reigen::Message(status.status()).c_str());
    } else if (json) {
      shown.push_back(reigen::ctl::StatusJson(*status));
    } else {
      std::printf("%s%s", asked > 0 ? "\n" : "", reigen::ctl::StatusText(*status).c_str());
    }
    ++asked;
  }
  if (json) {
    using Json = nlohmann::ordered_json;
    std::printf("%s\n", Json{{"jobs", shown}}.dump(2, ' ', false, Json::error_handler_t::replace)
                            .c_str());
  }
  if (asked > 0) return failed ? 1 : 0;
  if (wanted.empty()) {
    std::fprintf(stderr, "reigenctl: no job of yours is running on this machine (looked in %s)\n",
                 base.c_str());
  } else {
    std::fprintf(stderr, "reigenctl: no job '%s' of yours is running on this machine (looked in %s)\n",
                 wanted.c_str(), base.c_str());
  }
  return 1;
}

// As reigenrun's options of the same names.
CLI::App& AddDoctor(CLI::App* app, reigen::ctl::DoctorOptions* o) {
  CLI::App& doctor = *app->add_subcommand(
      "doctor", "What this host, or each host of a list, has and what is broken, with remedies.");
  doctor.add_flag("--json", o->json, "As JSON: {\"hosts\": [...], \"problems\": N}");
  doctor.add_option("-H,--hosts", o->hosts, "Look at these hosts: a,b:4. Default: at this one")
      ->excludes(doctor.add_option("--hostfile", o->hostfile, "File with one host a line"));
  doctor.add_option("-p,--ssh-port", o->ssh_port, "Port of ssh on the hosts")
      ->check(CLI::Range(1, 65535));
  doctor.add_option("-i,--ssh-identity-file", o->ssh_identity_file, "Key file for ssh");
  doctor.add_option("--rsh", o->rsh,
                    "Command that starts a program on a host, in place of ssh: words with {host}"
                    " and {command} or {quoted}");
  doctor.add_option("--reigenctl-path", o->reigenctl_path,
                    "Path of reigenctl on the other hosts, if not the same as here");
  doctor.add_option("--timeout", o->timeout_s, "Seconds in which the other hosts must answer")
      ->capture_default_str()
      ->check(CLI::Range(1, 3600));
  doctor.add_option("--network-interface,--network-interfaces", o->wishes.networks,
                    "The job's networks: names or CIDRs")
      ->delimiter(',');
  doctor.add_option("--transport", o->wishes.transport,
                    "The job's transport: auto, tcp, rdma (then no RDMA is a problem)")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "tcp", "rdma"}));
  doctor.add_option("--rdma-devices", o->wishes.rdma.devices, "The job's RDMA devices")
      ->delimiter(',');
  doctor.add_option("--rdma-gid-index", o->wishes.rdma.gid_index, "The job's GID")
      ->check(CLI::Range(0, 255));
  doctor.add_option("--gpu-direct", o->wishes.gpu_direct,
                    "The job's: auto, off, require (then no GPUDirect is a problem); default: "
                    "REIGEN_GPU_DIRECT, else auto")
      ->check(CLI::IsMember({"auto", "off", "require"}));
  // Hidden: from reigenctl to itself on another host.
  doctor.add_option("--launcher-variable", o->launcher_variables,
                    "NAME=VALUE of where the job is started")
      ->allow_extra_args(false)
      ->group("");
  doctor.add_option("--job-hosts", o->wishes.hosts, "How many hosts the job has")
      ->check(CLI::Range(2, 1 << 20))
      ->group("");
  return doctor;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Looks inside running jobs, on the machine where reigenrun was started, and at hosts.",
               "reigenctl");
  app.set_version_flag("--version", std::string("reigenctl ") + reigen::kVersion);
  app.require_subcommand(1);
  bool json = false;
  std::string job;
  CLI::App& status = *app.add_subcommand(
      "status", "Members, epoch, and what is awaited, from whom, since when and why.");
  status.add_flag("--json", json, "As JSON: {\"jobs\": [...]}.");
  status.add_option("--job", job, "Only this job. Default: all of yours.")->type_name("ID");
  reigen::ctl::DoctorOptions options;
  const CLI::App& doctor = AddDoctor(&app, &options);
  CLI11_PARSE(app, argc, argv);
  if (doctor.parsed()) {
    const reigen::launch::JobOptions job = reigen::run::MakeJobOptions(reigen::run::Options(), 1);
    options.wishes.registered_bytes = job.scratch_bytes();
    options.wishes.queues = static_cast<int>(job.channels());
    const char* const variable = std::getenv("REIGEN_GPU_DIRECT");
    const auto gpu_direct = reigen::run::ChooseGpuDirect(
        doctor.count("--gpu-direct") > 0 ? options.wishes.gpu_direct : "",
        variable == nullptr ? "" : variable);
    if (!gpu_direct.ok()) {
      std::fprintf(stderr, "reigenctl: %s\n", reigen::Message(gpu_direct.status()).c_str());
      return 2;
    }
    options.wishes.gpu_direct = *gpu_direct;
    return reigen::ctl::RunDoctor(options);
  }
  return ShowStatus(job, json);
}
