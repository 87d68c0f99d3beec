#include "client/cli/reigenrun/output_queue.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace reigen::run {
namespace {

// How often a blocked writer looks whether it is to stop.
constexpr int kPollMs = 50;

// As people know it: "stdout", or a file's path.
std::string NameOf(int fd) {
  if (fd == STDOUT_FILENO) return "stdout";
  if (fd == STDERR_FILENO) return "stderr";
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
  return error ? "descriptor " + std::to_string(fd) : path.string();
}

}  // namespace

OutputQueue::OutputQueue() : thread_([this] { Run(); }) {}

OutputQueue::~OutputQueue() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void OutputQueue::Push(int fd, std::string bytes) {
  if (bytes.empty()) return;
  pending_bytes_ += bytes.size();
  {
    std::lock_guard lock(mutex_);
    // Neighbours of one descriptor become one write.
    if (!items_.empty() && items_.back().fd == fd && items_.back().bytes.size() < (64 << 10)) {
      items_.back().bytes += bytes;
    } else {
      items_.push_back({fd, std::move(bytes)});
    }
  }
  wake_.notify_one();
}

std::vector<std::string> OutputQueue::TakeFailures() {
  std::lock_guard lock(mutex_);
  return std::exchange(failures_, {});
}

void OutputQueue::Run() {
  for (;;) {
    Item item;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stop_ || !items_.empty(); });
      if (stop_) return;
      item = std::move(items_.front());
      items_.pop_front();
    }
    Write(item);
    pending_bytes_ -= item.bytes.size();
  }
}

void OutputQueue::Write(const Item& item) {
  size_t done = 0;
  while (done < item.bytes.size() && failed_.count(item.fd) == 0 && !stop_) {
    // A write of at most PIPE_BUF after POLLOUT does not block, whatever the
    // descriptor's flags, which it may share with other programs, are.
    pollfd entry{item.fd, POLLOUT, 0};
    if (poll(&entry, 1, kPollMs) <= 0) continue;
    const size_t part = std::min<size_t>(item.bytes.size() - done, 4096);
    const ssize_t n = write(item.fd, item.bytes.data() + done, part);
    if (n >= 0) {
      done += static_cast<size_t>(n);
    } else if (errno != EAGAIN && errno != EINTR) {
      const std::string why = std::strerror(errno);
      failed_.insert(item.fd);
      std::lock_guard lock(mutex_);
      failures_.push_back(NameOf(item.fd) + ": " + why);
    }
  }
}

}  // namespace reigen::run
