#include "client/cli/reigenrun/output_router.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <system_error>

namespace reigen::run {
namespace {

bool SameFile(int a, int b) {
  struct stat x, y;
  return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

// "2024-05-17 12:34:56.789 ", local time.
std::string TimeText() {
  timespec now;
  timespec_get(&now, TIME_UTC);
  tm parts;
  localtime_r(&now.tv_sec, &parts);
  char text[64];
  const size_t n = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  std::snprintf(text + n, sizeof text - n, ".%03ld ", now.tv_nsec / 1000000);
  return text;
}

}  // namespace

OutputRouter::OutputRouter(int size, bool timestamps)
    : timestamps_(timestamps),
      streams_(2 * static_cast<size_t>(size)),
      stdout_format_(isatty(STDOUT_FILENO) != 0),
      stderr_format_(isatty(STDERR_FILENO) != 0),
      same_console_(SameFile(STDOUT_FILENO, STDERR_FILENO)) {}

StatusOr<std::unique_ptr<OutputRouter>> OutputRouter::Create(int size, const std::string& folder,
                                                             bool timestamps) {
  std::unique_ptr<OutputRouter> router(new OutputRouter(size, timestamps));
  if (folder.empty()) return router;
  for (int rank = 0; rank < size; ++rank) {
    const std::string place = folder + "/rank." + std::to_string(rank);
    std::error_code error;
    std::filesystem::create_directories(place, error);
    if (error) return InvalidArgument("--output-filename: " + place + ": " + error.message());
    for (bool is_stderr : {false, true}) {
      const std::string path = place + (is_stderr ? "/stderr" : "/stdout");
      UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
      if (!fd.valid()) return ErrnoStatus(StatusCode::kInvalidArgument, "--output-filename: " + path);
      router->streams_[2 * rank + is_stderr].file = std::move(fd);
    }
  }
  return router;
}

OutputQueue& OutputRouter::ConsoleOf(bool is_stderr) {
  return is_stderr && !same_console_ ? stderr_queue_ : stdout_queue_;
}

void OutputRouter::OnOutput(const launch::Output& output) {
  const size_t index = 2 * static_cast<size_t>(output.rank()) + output.is_stderr();
  if (output.rank() < 0 || index >= streams_.size()) return;  // not of this job
  Stream& stream = streams_[index];
  if (stream.file.valid()) files_queue_.Push(stream.file.get(), output.data());
  const StreamName name{output.rank(), output.is_stderr()};
  Write(name, stream.splitter.Append(output.data()));
  if (output.end()) Write(name, stream.splitter.Finish());
  TellFailures();
}

void OutputRouter::Write(StreamName name, const std::vector<Piece>& pieces) {
  if (pieces.empty()) return;
  const std::string time = timestamps_ ? TimeText() : "";
  // One terminal has one cursor: the bar that is drawn there is of either stream.
  OutputFormatter& format =
      name.is_stderr && !same_console_ ? stderr_format_ : stdout_format_;
  std::string text;
  for (const Piece& piece : pieces) {
    text += format.Format(name, piece, time);
    streams_[2 * static_cast<size_t>(name.rank) + name.is_stderr].tail.Add(piece.text);
  }
  ConsoleOf(name.is_stderr).Push(name.is_stderr ? STDERR_FILENO : STDOUT_FILENO, std::move(text));
}

void OutputRouter::Note(const std::string& line) {
  OutputFormatter& format = same_console_ ? stdout_format_ : stderr_format_;
  ConsoleOf(/*is_stderr=*/true).Push(STDERR_FILENO, format.Plain(line + "\n"));
}

void OutputRouter::FinishStreams() {
  for (size_t i = 0; i < streams_.size(); ++i) {
    Write({static_cast<int>(i / 2), i % 2 == 1}, streams_[i].splitter.Finish());
  }
}

void OutputRouter::TellFailures() {
  for (OutputQueue* queue : {&stdout_queue_, &stderr_queue_, &files_queue_}) {
    for (const std::string& failure : queue->TakeFailures()) {
      Note("reigenrun: output is lost from here on, the job goes on: " + failure);
    }
  }
}

bool OutputRouter::throttled() const {
  return stdout_queue_.pending_bytes() + stderr_queue_.pending_bytes() +
             files_queue_.pending_bytes() >=
         OutputQueue::kMaxPendingBytes;
}

bool OutputRouter::Idle() const {
  return stdout_queue_.Idle() && stderr_queue_.Idle() && files_queue_.Idle();
}

}  // namespace reigen::run
