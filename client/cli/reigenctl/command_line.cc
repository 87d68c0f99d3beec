#include "client/cli/reigenctl/command_line.h"

#include <CLI/CLI.hpp>

#include "client/cli/reigenctl/doctor/findings.h"
#include "client/cli/reigenrun/job_options.h"
#include "client/cli/reigenrun/options.h"
#include "proto/launch/launch.pb.h"
#include "runtime/base/version.h"

namespace reigen::ctl {
namespace {

using run::IsNotEmpty;

CLI::App& AddStatus(CLI::App* app, StatusOptions* o) {
  CLI::App& status = *app->add_subcommand(
      "status", "Members, epoch, and what is awaited, from whom, since when and why.");
  status.add_flag("--json", o->json, "As JSON: {\"jobs\": [...]}.");
  status.add_option("--job", o->job, "Only this job. Default: all of yours.")
      ->type_name("ID")
      ->check(IsNotEmpty);
  return status;
}

void AddPlaces(CLI::App* doctor, DoctorOptions* o) {
  doctor->add_option("-H,--hosts", o->hosts, "Look at these hosts: a,b:4. Default: at this one")
      ->check(IsNotEmpty)
      ->excludes(doctor->add_option("--hostfile", o->hostfile, "File with one host a line")
                     ->check(IsNotEmpty));
  doctor->add_option("-p,--ssh-port", o->ssh_port, "Port of ssh on the hosts")
      ->check(CLI::Range(1, 65535));
  doctor->add_option("-i,--ssh-identity-file", o->ssh_identity_file, "Key file for ssh")
      ->check(IsNotEmpty);
  doctor->add_option("--rsh", o->rsh,
                     "Command that starts a program on a host, in place of ssh: words with {host}"
                     " and {command} or {quoted}")
      ->check(IsNotEmpty);
  doctor->add_option("--reigenctl-path", o->reigenctl_path,
                     "Path of reigenctl on the other hosts, if not the same as here")
      ->check(IsNotEmpty);
  doctor->add_option("--timeout", o->timeout_s, "Seconds in which the other hosts must answer")
      ->capture_default_str()
      ->check(CLI::Range(1, 3600));
}

void AddWishes(CLI::App* doctor, Wishes* wishes, std::string* gpu_direct) {
  doctor->add_option("--network-interface,--network-interfaces", wishes->networks,
                     "The job's networks: names or CIDRs")
      ->delimiter(',')
      ->check(IsNotEmpty);
  doctor->add_option("--transport", wishes->transport,
                     "The job's transport: auto, tcp, rdma (then no RDMA is a problem)")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "tcp", "rdma"}));
  doctor->add_option("--rdma-devices", wishes->rdma.devices, "The job's RDMA devices")
      ->delimiter(',')
      ->check(IsNotEmpty);
  doctor->add_option("--rdma-gid-index", wishes->rdma.gid_index, "The job's GID")
      ->check(CLI::Range(0, 255));
  doctor->add_option("--gpu-direct", *gpu_direct,
                     "The job's: auto, off, require (then no GPUDirect is a problem); default: "
                     "REIGEN_GPU_DIRECT, else auto")
      ->check(CLI::IsMember({"auto", "off", "require"}));
}

// As reigenrun's options of the same names.
CLI::App& AddDoctor(CLI::App* app, DoctorOptions* o, std::string* gpu_direct) {
  CLI::App& doctor = *app->add_subcommand(
      "doctor", "What this host, or each host of a list, has and what is broken, with remedies.");
  doctor.add_flag("--json", o->json, "As JSON: {\"hosts\": [...], \"problems\": N}");
  AddPlaces(&doctor, o);
  AddWishes(&doctor, &o->wishes, gpu_direct);
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

Status CompleteWishes(const std::string& flag, const std::string& variable, Wishes* wishes) {
  const launch::JobOptions job = run::MakeJobOptions(run::Options(), 1);
  wishes->registered_bytes = job.scratch_bytes();
  wishes->queues = static_cast<int>(job.channels());
  REIGEN_ASSIGN_OR_RETURN(wishes->gpu_direct, run::ChooseGpuDirect(flag, variable));
  return OkStatus();
}

}  // namespace

StatusOr<CommandLine> ParseCommandLine(const std::vector<std::string>& arguments,
                                       const std::string& gpu_direct_variable) {
  CommandLine line;
  std::string gpu_direct;
  CLI::App app("Looks inside running jobs, on the machine where reigenrun was started, and at hosts.",
               "reigenctl");
  app.set_version_flag("-v,--version", std::string("reigenctl ") + kVersion);
  // That there must be one is checked below: CLI11 would ask for one in place of naming
  // the word that is none.
  app.require_subcommand(0, 1);
  const CLI::App& status = AddStatus(&app, &line.status);
  const CLI::App& doctor = AddDoctor(&app, &line.doctor, &gpu_direct);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // as CLI11 wants them
  } catch (const CLI::CallForHelp&) {
    line.text = app.help();
    return line;
  } catch (const CLI::CallForVersion& version) {
    line.text = std::string(version.what()) + "\n";
    return line;
  } catch (const CLI::ParseError& error) {
    return InvalidArgument(error.what());
  }
  if (!status.parsed() && !doctor.parsed()) {
    return InvalidArgument("no command: reigenctl status or reigenctl doctor");
  }
  line.is_doctor = doctor.parsed();
  if (line.is_doctor) {
    REIGEN_RETURN_IF_ERROR(
        CompleteWishes(gpu_direct, gpu_direct_variable, &line.doctor.wishes));
  }
  return line;
}

}  // namespace reigen::ctl
