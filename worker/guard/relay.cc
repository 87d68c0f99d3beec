#include "worker/guard/relay.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace reigen::worker {
namespace {

constexpr size_t kReadBytes = 64 << 10;
// A log line is sent in pieces of this when it has no end.
constexpr size_t kMaxLineBytes = 64 << 10;

}  // namespace

void Relay::Watch(std::vector<UniqueFd> outputs, std::vector<int> ranks, UniqueFd log) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    sources_.push_back({std::move(outputs[i]), ranks[i / 2], i % 2 == 1, ""});
  }
  sources_.push_back({std::move(log), -1, false, ""});
}

void Relay::Send(const launch::FromGuard& message) {
  if (launcher_gone_) return;
  writer_.Queue(message.SerializeAsString());
}

void Relay::Log(const std::string& text) {
  launch::FromGuard message;
  message.mutable_log()->set_text(text);
  Send(message);
}

void Relay::AddTo(std::vector<pollfd>* entries) const {
  if (!all_sent()) entries->push_back({writer_.fd(), POLLOUT, 0});
  if (!HasRoom()) return;
  for (const Source& s : sources_) {
    if (s.fd.valid()) entries->push_back({s.fd.get(), POLLIN, 0});
  }
}

void Relay::Flush() {
  if (launcher_gone_ || writer_.Flush().ok()) return;
  launcher_gone_ = true;
}

void Relay::Progress() {
  // One read of each in turn, and the turn goes on where the room ended: loud ranks
  // do not keep the others waiting.
  for (size_t i = 0; i < sources_.size() && HasRoom(); ++i) {
    Source& s = sources_[next_ % sources_.size()];
    ++next_;
    if (s.fd.valid()) ReadOnce(&s);
  }
  Flush();
}

bool Relay::Drain() {
  for (Source& s : sources_) {
    while (s.fd.valid()) {
      Flush();
      if (!HasRoom()) return false;
      if (ReadOnce(&s) == Got::kNothing) End(&s);
    }
  }
  Flush();
  return true;
}

Relay::Got Relay::ReadOnce(Source* source) {
  char data[kReadBytes];
  const ssize_t n = read(source->fd.get(), data, sizeof data);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return Got::kNothing;
  if (n <= 0) {
    End(source);
    return Got::kEnd;
  }
  if (source->rank < 0) {
    TakeLog(source, data, static_cast<size_t>(n));
    return Got::kData;
  }
  launch::FromGuard message;
  launch::Output* output = message.mutable_output();
  output->set_rank(source->rank);
  output->set_is_stderr(source->is_stderr);
  output->set_data(data, static_cast<size_t>(n));
  Send(message);
  return Got::kData;
}

void Relay::TakeLog(Source* source, const char* data, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    if (data[i] != '\n') source->line += data[i];
    if (data[i] != '\n' && source->line.size() < kMaxLineBytes) continue;
    Log(source->line);
    source->line.clear();
  }
}

void Relay::End(Source* source) {
  if (source->rank >= 0) {
    launch::FromGuard message;
    launch::Output* output = message.mutable_output();
    output->set_rank(source->rank);
    output->set_is_stderr(source->is_stderr);
    output->set_end(true);
    Send(message);
  } else if (!source->line.empty()) {
    Log(std::exchange(source->line, {}));
  }
  source->fd.Reset();
}

}  // namespace reigen::worker
