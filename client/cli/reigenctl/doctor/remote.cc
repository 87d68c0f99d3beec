#include "client/cli/reigenctl/doctor/remote.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/base/child_process.h"
#include "runtime/base/unique_fd.h"

namespace reigen::ctl {
namespace {

using Json = nlohmann::ordered_json;

// A report has some ten KiB; a host with very many interfaces some hundred.
constexpr size_t kMaxOutputBytes = 4 << 20;
// Of what goes into a message.
constexpr size_t kMaxErrorBytes = 600;
// Of what a command that has ended left in a pipe, which holds 1 MiB unless root allows more.
constexpr size_t kMostPipeReads = 64;
// For what was killed to be gone; what hangs in the kernel is left to init.
constexpr int kGoneMs = 2000;

struct Asked {
  Child child;
  UniqueFd output_fd, errors_fd;
  std::string output, errors;
  std::string end;  // how it ended; empty: it runs
};

Status Start(const Question& question, Asked* asked) {
  const std::vector<std::string> environment = CurrentEnvironment();
  const std::string path =
      FindProgram(question.words[0], FindVariable(environment, "PATH"), "/");
  if (path.empty()) return NotFound("there is no program " + question.words[0] + " here");
  int output[2], errors[2];
  if (pipe2(output, O_CLOEXEC) != 0) return ErrnoStatus(StatusCode::kInternal, "pipe");
  asked->output_fd.Reset(output[0]);
  const UniqueFd output_end(output[1]);
  if (pipe2(errors, O_CLOEXEC) != 0) return ErrnoStatus(StatusCode::kInternal, "pipe");
  asked->errors_fd.Reset(errors[0]);
  const UniqueFd errors_end(errors[1]);
  // Here alone: the other ends are files of their own.
  for (const int fd : {output[0], errors[0]}) {
    if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0) return ErrnoStatus(StatusCode::kInternal, "fcntl");
  }
  REIGEN_ASSIGN_OR_RETURN(asked->child,
                          StartChild({.path = path,
                                      .argv = question.words,
                                      .environment = environment,
                                      .fds = {-1, output_end.get(), errors_end.get()},
                                      .die_with_parent = true}));
  return OkStatus();
}

// Takes some of what is there; closes at the end. False: there is nothing (more).
bool Take(UniqueFd& fd, std::string& text) {
  std::array<char, 65536> bytes;
  const ssize_t n = read(fd.get(), bytes.data(), bytes.size());
  if (n < 0 && errno == EINTR) return true;
  if (n < 0 && errno == EAGAIN) return false;
  if (n <= 0) {
    fd.Reset();
    return false;
  }
  const size_t room = kMaxOutputBytes - std::min(kMaxOutputBytes, text.size());
  text.append(bytes.data(), std::min(static_cast<size_t>(n), room));
  return true;
}

// The command has ended: what it wrote is there. Whoever still has the other end is not waited
// for, as ssh's master in the background (ControlPersist).
void TakeRest(UniqueFd& fd, std::string& text) {
  // Others may go on writing.
  for (size_t taken = 0; fd.valid() && taken < kMostPipeReads && Take(fd, text); ++taken) {
  }
  fd.Reset();
}

// Waits for bytes or the end of any of them, and takes what there is. False: there is nothing to
// wait for.
bool TakeOnce(std::vector<Asked>& all, int timeout_ms) {
  std::vector<pollfd> entries;
  std::vector<std::pair<UniqueFd*, std::string*>> targets;
  std::vector<Asked*> running;
  for (Asked& asked : all) {
    const size_t before = targets.size();
    for (const auto& [fd, text] : {std::pair(&asked.output_fd, &asked.output),
                                   std::pair(&asked.errors_fd, &asked.errors)}) {
      if (!fd->valid()) continue;
      entries.push_back({fd->get(), POLLIN, 0});
      targets.emplace_back(fd, text);
    }
    if (targets.size() > before) running.push_back(&asked);
  }
  if (entries.empty()) return false;
  for (const Asked* asked : running) entries.push_back({asked->child.pidfd.get(), POLLIN, 0});
  if (poll(entries.data(), entries.size(), timeout_ms) <= 0) return true;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (entries[i].revents != 0) Take(*targets[i].first, *targets[i].second);
  }
  for (size_t i = 0; i < running.size(); ++i) {
    if (entries[targets.size() + i].revents == 0) continue;
    TakeRest(running[i]->output_fd, running[i]->output);
    TakeRest(running[i]->errors_fd, running[i]->errors);
  }
  return true;
}

int MsUntil(Time deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 60000));
}

// Its end, or its end by us: a session of its own, so its children too.
void Finish(Asked& asked, Time deadline) {
  pollfd entry{asked.child.pidfd.get(), POLLIN, 0};
  const bool ended = poll(&entry, 1, MsUntil(deadline)) > 0;
  if (!ended) {
    kill(-asked.child.pid, SIGKILL);
    poll(&entry, 1, kGoneMs);
  }
  const std::optional<ExitStatus> status = TryReap(asked.child.pid);
  asked.end = !ended ? "no answer in time" : status ? ToString(*status) : "ended";
}

}  // namespace

HostAnswer ReadAnswer(const Question& question, const std::string& end, const std::string& output,
                      const std::string& errors) {
  HostAnswer answer;
  answer.host = question.host;
  // Whatever a login shell said before.
  const Json json = Json::parse(output.substr(std::min(output.find('{'), output.size())), nullptr,
                                /*allow_exceptions=*/false);
  if (json.is_object() && json.contains("hosts") && json["hosts"].is_array() &&
      json["hosts"].size() == 1) {
    StatusOr<Report> report = ParseReport(json["hosts"][0]);
    if (report.ok()) {
      answer.report = std::move(report).value();
      answer.report.host = question.host;
      answer.json = json["hosts"][0];
      answer.json["host"] = question.host;
      return answer;
    }
  }
  std::string said = errors.substr(0, kMaxErrorBytes);
  while (!said.empty() && (said.back() == '\n' || said.back() == '\r')) said.pop_back();
  if (said.empty() && !output.empty()) said = "what it printed is no report of reigenctl doctor";
  answer.report.host = question.host;
  answer.report.findings.push_back(
      {Level::kProblem, "hosts", "answer", end + (said.empty() ? "" : ": " + said),
       "the same way as reigenrun's must lead there without a password (`ssh " + question.host +
           " true`, or --rsh), and reigenctl must be there where it is here (or --reigenctl-path)"});
  answer.json = ReportJson(answer.report, Json::object());
  return answer;
}

std::vector<HostAnswer> AskHosts(const std::vector<Question>& questions, Time deadline) {
  std::vector<Asked> all(questions.size());
  for (size_t i = 0; i < questions.size(); ++i) {
    const Status status = Start(questions[i], &all[i]);
    if (status.ok()) continue;
    all[i].end = "it could not be asked: " + Message(status);
    all[i].output_fd.Reset();
    all[i].errors_fd.Reset();
  }
  while (Now() < deadline && TakeOnce(all, MsUntil(deadline))) {
  }
  std::vector<HostAnswer> answers;
  for (size_t i = 0; i < questions.size(); ++i) {
    if (all[i].end.empty()) Finish(all[i], deadline);
    answers.push_back(ReadAnswer(questions[i], all[i].end, all[i].output, all[i].errors));
  }
  return answers;
}

}  // namespace reigen::ctl
