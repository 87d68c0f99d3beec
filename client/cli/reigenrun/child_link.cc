#include "client/cli/reigenrun/child_link.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

namespace reigen::run {
namespace {

struct PipeEnds {
  UniqueFd read_end;
  UniqueFd write_end;
};

StatusOr<PipeEnds> MakePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoStatus(StatusCode::kResourceExhausted, "pipe");
  return PipeEnds{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

std::string CurrentFolder() {
  const std::unique_ptr<char, void (*)(void*)> folder(getcwd(nullptr, 0), &free);
  return folder ? folder.get() : "/";
}

}  // namespace

StatusOr<std::unique_ptr<ChildLink>> ChildLink::Start(const std::vector<std::string>& words) {
  const std::vector<std::string> environment = CurrentEnvironment();
  const std::string path_variable = FindVariable(environment, "PATH");
  const std::string path = FindProgram(words[0], path_variable, CurrentFolder());
  if (path.empty()) {
    return NotFound("cannot start \"" + words[0] + "\": " +
                    WhyNoProgram(words[0], path_variable, CurrentFolder()));
  }
  REIGEN_ASSIGN_OR_RETURN(PipeEnds input, MakePipe());
  REIGEN_ASSIGN_OR_RETURN(PipeEnds output, MakePipe());
  REIGEN_ASSIGN_OR_RETURN(PipeEnds errors, MakePipe());
  for (int fd : {input.write_end.get(), output.read_end.get(), errors.read_end.get()}) {
    REIGEN_RETURN_IF_ERROR(SetNonBlocking(fd));
  }
  std::unique_ptr<ChildLink> link(new ChildLink);
  const std::vector<int> fds = {input.read_end.get(), output.write_end.get(),
                                errors.write_end.get()};
  REIGEN_ASSIGN_OR_RETURN(
      link->child_,
      StartChild({.path = path, .argv = words, .environment = environment, .fds = fds}));
  link->input_ = std::move(input.write_end);
  link->output_ = std::move(output.read_end);
  link->errors_ = std::move(errors.read_end);
  link->writer_.emplace(link->input_.get());
  link->reader_.emplace(link->output_.get());
  return link;
}

ChildLink::~ChildLink() {
  if (child_.pid <= 0 || exit_) return;
  Kill();
  waitpid(child_.pid, nullptr, 0);
}

void ChildLink::Send(const std::string& payload) {
  if (!input_.valid()) return;
  writer_->Queue(payload);
  if (!writer_->Flush().ok()) input_.Reset();  // it is ending: its exit tells
}

void ChildLink::CloseInput() { input_.Reset(); }

void ChildLink::Wake() {
  if (!exit_) kill(child_.pid, SIGCONT);
}

void ChildLink::Kill() {
  if (!exit_) kill(-child_.pid, SIGKILL);
}

void ChildLink::AddTo(std::vector<pollfd>* entries, bool read) const {
  if (input_.valid() && writer_->pending_bytes() > 0) {
    entries->push_back({input_.get(), POLLOUT, 0});
  }
  if (output_.valid() && read) entries->push_back({output_.get(), POLLIN, 0});
  if (errors_.valid()) entries->push_back({errors_.get(), POLLIN, 0});
  if (!exit_) entries->push_back({child_.pidfd.get(), POLLIN, 0});
}

void ChildLink::Progress(bool read) {
  if (input_.valid() && !writer_->Flush().ok()) input_.Reset();
  if (errors_.valid()) ReadErrors();
  if (output_.valid() && read) ReadFrames();
  if (exit_ || !(exit_ = TryReap(child_.pid))) return;
  // Whatever it wrote before its end is in the pipes by now.
  input_.Reset();
  if (errors_.valid()) ReadErrors();
}

void ChildLink::ReadErrors() {
  char data[4096];
  ssize_t n;
  const auto add = [this](const std::vector<Piece>& pieces) {
    for (const Piece& piece : pieces) {
      error_lines_.push_back(piece.text);
      error_tail_.Add(piece.text);
    }
  };
  while ((n = read(errors_.get(), data, sizeof data)) > 0) {
    add(error_splitter_.Append(std::string(data, static_cast<size_t>(n))));
  }
  if (n < 0 && errno == EAGAIN && !exit_) return;
  add(error_splitter_.Finish());
  errors_.Reset();
}

void ChildLink::ReadFrames() {
  // A child that has ended but left its stdout to another does not keep us.
  const bool ended = exit_.has_value();
  const StatusOr<bool> open = reader_->Fill();
  bool any = false;
  for (;;) {
    StatusOr<std::optional<std::string>> next = reader_->Next();
    if (!next.ok()) {
      bad_ = "it does not speak the launcher's protocol: " + Message(next.status());
      Kill();
      output_.Reset();
      return;
    }
    if (!*next) break;
    frames_.push_back(std::move(**next));
    any = true;
  }
  pollfd entry{output_.get(), POLLIN, 0};
  const bool more = poll(&entry, 1, 0) > 0;
  if (!open.ok() || !*open || (ended && !any && !more)) output_.Reset();
}

std::vector<std::string> ChildLink::TakeFrames() { return std::exchange(frames_, {}); }

std::vector<std::string> ChildLink::TakeErrorLines() { return std::exchange(error_lines_, {}); }

std::string ChildLink::LastWords() const {
  std::string text;
  for (const std::string& line : error_tail_.lines()) text += "    " + line + "\n";
  if (!text.empty()) text.pop_back();
  return text;
}

std::string ChildLink::how() const {
  if (!bad_.empty()) return bad_;
  return exit_ ? ToString(*exit_) : "its output is closed";
}

}  // namespace reigen::run
