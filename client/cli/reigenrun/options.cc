#include "client/cli/reigenrun/options.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <map>
#include <system_error>

#include "runtime/base/version.h"

namespace reigen::run {
namespace {

// CLI11 refuses one dash before more than one letter.
const std::map<std::string, std::string>& OneDashNames() {
  static const auto* const names = new std::map<std::string, std::string>{
      {"-np", "--num-proc"},
      {"-cb", "--check-build"},
      {"-hostfile", "--hostfile"},
      {"-prefix-timestamp", "--prefix-output-with-timestamp"},
  };
  return *names;
}

std::string Translated(const std::string& word) {
  const size_t equals = std::min(word.find('='), word.size());
  const auto name = OneDashNames().find(word.substr(0, equals));
  return name == OneDashNames().end() ? word : name->second + word.substr(equals);
}

// What a coordinator takes (coordinator/limits.h).
constexpr int kMostRanks = 65536;
// Eleven days; a thousand times as long still fits a Duration.
constexpr double kMostSeconds = 1e6;

// CLI11's own checks let NaN pass, and name their limits in 300 digits.
std::function<std::string(const std::string&)> IsNumber(double least, double most,
                                                        const std::string& what) {
  return [least, most, what](const std::string& text) -> std::string {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool number = !text.empty() && *end == '\0';
    return number && value >= least && value <= most ? "" : "\"" + text + "\" is not " + what;
  };
}

std::function<std::string(const std::string&)> IsSeconds(double least) {
  return IsNumber(least, kMostSeconds,
                  least > 0 ? "a number of seconds (more than 0, at most 1000000)"
                            : "a number of seconds (0 to 1000000)");
}

std::string IsPortRange(const std::string& text) {
  const std::string mistake = "\"" + text + "\" is not FIRST-LAST";
  int first = 0, last = 0;
  const char* end = text.data() + text.size();
  const auto head = std::from_chars(text.data(), end, first);
  if (head.ec != std::errc() || head.ptr == end || *head.ptr != '-') return mistake;
  const auto tail = std::from_chars(head.ptr + 1, end, last);
  const bool range = tail.ec == std::errc() && tail.ptr == end && 1 <= first && first <= last &&
                     last <= 65535;
  return range ? "" : mistake;
}

void AddPlaces(CLI::App* app, Options* o) {
  app->add_option("--num-proc", o->np, "Ranks in all (-np N). Without it: one per slot")
      ->check(CLI::Range(1, kMostRanks));
  app->add_option("-H,--hosts", o->hosts, "Hosts with their slots: a:2,b:4,[fd00::7]:2")
      ->check(IsNotEmpty)
      ->excludes(app->add_option("--hostfile", o->hostfile,
                                 "File with one host a line: `a slots=2` or `a:2` (-hostfile)")
                     ->check(IsNotEmpty));
  app->add_option("-p,--ssh-port", o->ssh_port, "Port of ssh on the hosts")
      ->check(CLI::Range(1, 65535));
  app->add_option("-i,--ssh-identity-file", o->ssh_identity_file, "Key file for ssh")
      ->check(IsNotEmpty);
  app->add_option("--rsh", o->rsh,
                  "Command that starts a program on a host, in place of ssh: words with {host} and"
                  " {command} (its words) or {quoted} (one word for a shell),"
                  " as in 'ip netns exec {host} {command}'")
      ->check(IsNotEmpty);
  app->add_option("--worker-path", o->worker_path,
                  "Path of reigen-worker on the other hosts, if not the same as here")
      ->check(IsNotEmpty);
  app->add_option("--network-interface,--network-interfaces", o->networks,
                  "Networks to use on each host: names or CIDRs, eth0,10.1.0.0/16")
      ->delimiter(',')
      ->check(IsNotEmpty);
  app->add_option("--port-range", o->port_range, "Ports to listen on, FIRST-LAST")
      ->check(IsPortRange);
  app->add_option("--transport", o->transport,
                  "Between hosts: auto (RDMA where both ends can, else TCP, which is said), tcp,"
                  " rdma (or the job does not start)")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "tcp", "rdma"}));
  app->add_option("--rdma-devices", o->rdma_devices,
                  "RDMA devices to use on each host: mlx5_0,mlx5_1:2 (port 2)")
      ->delimiter(',')
      ->check(IsNotEmpty);
  app->add_option("--rdma-gid-index", o->rdma_gid_index, "GID to use, as show_gids numbers them")
      ->check(CLI::Range(0, 255));
}

void AddBehaviour(CLI::App* app, Options* o) {
  app->add_option("--start-timeout", o->start_timeout_s,
                  "Seconds in which every host must be up")
      ->capture_default_str()
      ->check(IsSeconds(0.001));
  app->add_option("--coordinator-timeout", o->coordinator_timeout_s,
                  "Seconds without a coordinator after which hosts give up")
      ->capture_default_str()
      ->check(IsSeconds(0.001));
  app->add_option("--stall-check-warning-time-seconds", o->stall_warning_s,
                  "Report tensors that some ranks have had for so long")
      ->capture_default_str()
      ->check(IsSeconds(0.001));
  CLI::Option* shutdown =
      app->add_option("--stall-check-shutdown-time-seconds", o->stall_shutdown_s,
                      "End the job when a tensor waits for so long; 0: never")
          ->capture_default_str()
          ->check(IsSeconds(0));
  app->add_flag("--no-stall-check", o->no_stall_check, "No stall reports, no end for a stall")
      ->excludes(shutdown);
  app->add_option("--fusion-threshold-mb", o->fusion_threshold_mb,
                  "Fuse tensors into buckets of up to so many MiB")
      ->capture_default_str()
      ->check(IsNumber(0, 65536, "a number of MiB (0 to 65536)"));
  app->add_option("--wire-precision", o->wire_precision,
                  "Of 16-bit sums between hosts: auto (float32 for averages), fp32, tensor")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "fp32", "tensor"}));
  app->add_option("--gpu-direct", o->gpu_direct,
                  "CUDA tensors between hosts: auto (reduced on GPUs, moved by GPUDirect RDMA"
                  " where that can be), off (by the CPU), require (GPUDirect RDMA, or the job"
                  " ends); default: REIGEN_GPU_DIRECT, else auto")
      ->check(CLI::IsMember({"auto", "off", "require"}));
}

void AddOutput(CLI::App* app, Options* o) {
  app->add_option("--output-filename", o->output_folder,
                  "Also write each rank's output to DIR/rank.N/stdout and stderr")
      ->check(IsNotEmpty);
  app->add_flag("--prefix-output-with-timestamp", o->timestamps,
                "Begin each line with the time (-prefix-timestamp)");
  app->add_option("--log-level", o->log_level,
                  "Of the daemons: trace, debug, info, warning, error, off")
      ->capture_default_str()
      ->transform(CLI::IsMember({"trace", "debug", "info", "warning", "error", "off"},
                                CLI::ignore_case));
  app->add_flag("--verbose", o->verbose, "Say what is started where, and why");
  app->add_flag("--check-build", o->check_build, "Print what this build can do (-cb)");
  app->set_version_flag("-v,--version", std::string("reigenrun ") + kVersion);
}

// How many leading words are options, with their values.
size_t CountOptionWords(CLI::App* app, const std::vector<std::string>& words) {
  size_t i = 0;
  while (i < words.size() && words[i].size() > 1 && words[i][0] == '-' && words[i] != "--") {
    const std::string& word = words[i++];
    const bool has_value = word.starts_with("--") ? word.find('=') != std::string::npos
                                                  : word.size() > 2;
    const CLI::Option* option = app->get_option_no_throw(word.substr(0, word.find('=')));
    if (!has_value && option != nullptr && option->get_items_expected_max() > 0) ++i;
  }
  return std::min(i, words.size());
}

StatusOr<Parsed> Check(Parsed parsed) {
  const Options& o = parsed.options;
  if (o.command.empty() && !o.check_build) {
    return InvalidArgument("no command to run: reigenrun [OPTIONS] COMMAND [ARGUMENTS]");
  }
  return parsed;
}

}  // namespace

std::string IsNotEmpty(const std::string& text) {
  return text.empty() ? "its value is empty" : "";
}

StatusOr<Parsed> ParseOptions(const std::vector<std::string>& arguments) {
  Parsed parsed;
  CLI::App app("Runs a data-parallel training job: one process per rank, on one or more hosts.",
               "reigenrun");
  AddPlaces(&app, &parsed.options);
  AddBehaviour(&app, &parsed.options);
  AddOutput(&app, &parsed.options);

  std::vector<std::string> words;
  for (const std::string& word : arguments) words.push_back(Translated(word));
  const size_t count = CountOptionWords(&app, words);
  // Of the command nothing is translated.
  size_t command = count;
  if (command < arguments.size() && arguments[command] == "--") ++command;
  parsed.options.command.assign(arguments.begin() + static_cast<std::ptrdiff_t>(command),
                                arguments.end());
  words.resize(count);
  std::reverse(words.begin(), words.end());  // as CLI11 wants them
  try {
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    parsed.text = app.help();
    const std::string usage = "[OPTIONS]";
    const size_t at = parsed.text.find(usage);
    if (at != std::string::npos) parsed.text.insert(at + usage.size(), " COMMAND [ARGUMENTS]");
    return parsed;
  } catch (const CLI::CallForVersion& version) {
    parsed.text = std::string(version.what()) + "\n";
    return parsed;
  } catch (const CLI::ParseError& error) {
    return InvalidArgument(error.what());
  }
  return Check(std::move(parsed));
}

}  // namespace reigen::run
