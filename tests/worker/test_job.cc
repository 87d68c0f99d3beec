#include "tests/worker/test_job.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/runtime_folder.h"
#include "runtime/base/version.h"

namespace reigen::testing {
namespace {

constexpr char kCoordinator[] = "coordinator/reigen-coordinator";
constexpr char kWorker[] = "worker/reigen-worker";
constexpr char kTrainer[] = "tests/worker/trainer_script";

launch::JobOptions MakeJobOptions(const TestJob::Options& job) {
  launch::JobOptions options;
  options.set_gpu_direct(job.gpu_direct);
  options.set_timeout_scale(job.timeout_scale);
  options.set_fusion_threshold_bytes(64 << 20);
  options.set_stall_warning_seconds(60);
  options.set_wire_precision("auto");
  options.set_small_max_bytes(16 << 10);
  options.set_segment_bytes(256 << 10);
  options.set_channels(2);
  options.set_heartbeat_seconds(0.2);
  options.set_dead_after_seconds(3);
  options.set_grace_seconds(3);
  options.set_coordinator_timeout_seconds(2);
  options.set_start_timeout_seconds(20);
  options.set_scratch_bytes(64 << 20);
  options.set_reduce_threads(2);
  options.set_log_level("info");
  return options;
}

}  // namespace

TestJob::TestJob(const Options& options) : options_(options) {
  signal(SIGPIPE, SIG_IGN);
  folder_ = "/tmp/reigen-job-XXXXXX";  // short: it holds sockets
  REIGEN_CHECK(mkdtemp(folder_.data()) != nullptr);
  StartCoordinator();
  for (int host = 0; host < options_.hosts; ++host) StartGuard(host);
}

TestJob::~TestJob() {
  for (const auto& guard : guards_) {
    guard->input.Reset();  // the launcher is gone: it ends its tree
    for (const Time deadline = Now() + seconds(15); Now() < deadline; usleep(10'000)) {
      if (waitpid(guard->child.pid, nullptr, WNOHANG) != 0) break;
    }
    kill(guard->child.pid, SIGKILL);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void TestJob::StartCoordinator() {
  coordinator_ = std::make_unique<coordinator::CoordinatorChild>(kCoordinator);
  launch::ToCoordinator message;
  launch::CoordinatorStart& start = *message.mutable_start();
  start.set_job("j");
  start.set_secret(std::string(32, 's'));
  start.set_incarnation(1);
  start.add_listen_addresses("127.0.0.1");
  start.set_folder(RuntimeFolderPath(folder_, "j-c"));
  *start.mutable_options() = MakeJobOptions(options_);
  for (int host = 0; host < options_.hosts; ++host) {
    launch::HostSlots& slots = *start.add_hosts();
    slots.set_host(host);
    slots.set_name("h" + std::to_string(host));
    slots.set_slots(options_.slots);
    slots.set_local(true);
    for (int i = 0; i < options_.slots; ++i) slots.add_ranks(host * options_.slots + i);
  }
  coordinator_->Tell(message);
  const auto listening = coordinator_->Receive();
  REIGEN_CHECK(listening.has_value() && listening->has_listening());
  addresses_ = {listening->listening().addresses().begin(),
                listening->listening().addresses().end()};
}

void TestJob::StartGuard(int host) {
  auto guard = std::make_unique<Guard>();
  int in[2], out[2];
  REIGEN_CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
  UniqueFd child_in(in[0]), child_out(out[1]);
  guard->input.Reset(in[1]);
  guard->output.Reset(out[0]);
  guard->reader = std::make_unique<FrameReader>(out[0]);
  auto child = StartChild({.path = std::filesystem::absolute(kWorker),
                           .argv = {"reigen-worker", "guard"},
                           .environment = CurrentEnvironment(),
                           .fds = {child_in.get(), child_out.get(), STDERR_FILENO}});
  REIGEN_CHECK(child.ok());
  guard->child = std::move(*child);

  launch::ToGuard message;
  launch::GuardStart& start = *message.mutable_start();
  start.set_version(kVersion);
  start.set_job("j");
  start.set_secret(std::string(32, 's'));
  start.mutable_host()->set_host(host);
  start.mutable_host()->set_name("h" + std::to_string(host));
  start.mutable_host()->set_slots(options_.slots);
  start.mutable_host()->set_local(true);
  for (int i = 0; i < options_.slots; ++i) {
    start.mutable_host()->add_ranks(host * options_.slots + i);
    start.add_cross_ranks(host);
    start.add_cross_sizes(options_.hosts);
  }
  start.set_size(options_.hosts * options_.slots);
  start.set_hosts(options_.hosts);
  *start.mutable_options() = MakeJobOptions(options_);
  for (const std::string& address : addresses_) start.add_coordinator_addresses(address);
  start.set_loopback_only(true);
  start.add_argv(std::filesystem::absolute(kTrainer));
  for (const std::string& argument : options_.argv) start.add_argv(argument);
  for (const std::string& variable : CurrentEnvironment()) start.add_environment(variable);
  start.add_environment("REIGEN_RUNTIME_DIR=" + folder_);
  start.set_working_directory(std::filesystem::current_path());
  REIGEN_CHECK(
      WriteFrame(guard->input.get(), message.SerializeAsString(), Now() + seconds(10)).ok());
  guards_.push_back(std::move(guard));
  outcome_.worker_lost.push_back(false);
}

// As the launcher does when a host is gone.
void TestJob::Lose(int host) {
  guards_[host]->done = true;
  if (coordinator_ == nullptr) return;
  launch::ToCoordinator message;
  message.mutable_host_lost()->set_host(host);
  message.mutable_host_lost()->set_code(71);
  message.mutable_host_lost()->set_reason("host " + std::to_string(host) + " is lost");
  coordinator_->Tell(message);
}

// Whatever the guards have said by now; waits for it a little.
void TestJob::Pump() {
  std::vector<pollfd> fds;
  for (const auto& guard : guards_) {
    fds.push_back({guard->done ? -1 : guard->output.get(), POLLIN, 0});
  }
  poll(fds.data(), fds.size(), 20);
  for (size_t host = 0; host < guards_.size(); ++host) {
    if (fds[host].revents == 0) continue;
    const auto more = guards_[host]->reader->Fill();
    if (!more.ok() || !*more) {
      Lose(static_cast<int>(host));
      continue;
    }
    for (auto frame = guards_[host]->reader->Next(); frame.ok() && frame->has_value();
         frame = guards_[host]->reader->Next()) {
      launch::FromGuard message;
      if (message.ParseFromString(**frame)) Take(static_cast<int>(host), message);
    }
  }
}

void TestJob::Take(int host, const launch::FromGuard& message) {
  switch (message.kind_case()) {
    case launch::FromGuard::kReady:
      guards_[host]->worker_pid = message.ready().worker_pid();
      break;
    case launch::FromGuard::kOutput:
      outcome_.output[message.output().rank()] += message.output().data();
      break;
    case launch::FromGuard::kLog:
      outcome_.log += message.log().text() + "\n";
      break;
    case launch::FromGuard::kDone:
      guards_[host]->done = true;
      if (message.done().worker_lost()) Lose(host);
      outcome_.worker_lost[host] = message.done().worker_lost();
      outcome_.log += "guard of host " + std::to_string(host) + ": " + message.done().reason() + "\n";
      break;
    default:
      break;
  }
}

bool TestJob::WaitForOutput(const std::string& text, Duration limit) {
  const Time deadline = Now() + limit;
  const auto all = [&] {
    int count = 0;
    for (const auto& [rank, output] : outcome_.output) {
      count += output.find(text) != std::string::npos;
    }
    return count == options_.hosts * options_.slots;
  };
  while (!all()) {
    if (Now() > deadline) return false;
    Pump();
  }
  return true;
}

TestJob::Outcome TestJob::Wait(Duration limit) {
  const Time start = Now();
  const auto all_done = [this] {
    return std::all_of(guards_.begin(), guards_.end(), [](const auto& g) { return g->done; });
  };
  while (!all_done() && Now() < start + limit) Pump();
  outcome_.ended = all_done();
  outcome_.seconds = ToSeconds(Now() - start);
  while (coordinator_ != nullptr) {
    const auto message = coordinator_->Receive();
    if (!message.has_value()) break;
    if (message->has_verdict()) outcome_.verdict = message->verdict();
  }
  if (coordinator_ != nullptr) outcome_.ended &= coordinator_->WaitForExit().has_value();
  return outcome_;
}

}  // namespace reigen::testing
