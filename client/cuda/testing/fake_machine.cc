#include "client/cuda/testing/fake_machine.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace reigen::fake_cuda {
namespace {

constexpr int kRelaxed = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED
constexpr int kCaptureUnsupported = 900;
constexpr int kInvalidContext = 201;
constexpr int kNotReady = 600;
constexpr int kUsedAfterEnd = 86;
constexpr int kFirstSticky = 700;
constexpr int kIllegalAddress = 700;
constexpr int kMisalignedAddress = 716;
constexpr int kFirstNotSticky = 712;

}  // namespace

thread_local Contexts contexts;
thread_local int capture_mode = 0;

// Never destroyed: the process's last calls come late.
Machine& Machine::Get() {
  static auto* const machine = new Machine;
  return *machine;
}

int Machine::Enter(const char* symbol, bool needs_context) {
  if (ended_ && HasStrictEnd()) _exit(kUsedAfterEnd);
  const int calls = ++calls_[symbol];
  if (sticky_ != 0) return sticky_;
  if (fail_code_ != 0 && fail_symbol_ == symbol && fail_skip_-- == 0) {
    const int code = fail_code_;
    fail_code_ = 0;
    if (code >= kFirstSticky && code < kFirstNotSticky) sticky_ = code;
    return code;
  }
  if (const int code = FailureOf(symbol, calls); code != 0) return code;
  if (captures_ && needs_context && capture_mode != kRelaxed) return kCaptureUnsupported;
  return needs_context && contexts.empty() ? kInvalidContext : 0;
}

void Machine::FailOnce(const char* symbol, int code, int skip) {
  fail_symbol_ = symbol;
  fail_code_ = code;
  fail_skip_ = skip;
}

void Machine::Mend() {
  fail_code_ = 0;
  sticky_ = 0;
  hangs_ = false;
  captures_ = false;
  for (Stream& legacy : legacy_) legacy.hangs = legacy.captures = false;
  for (const auto& [handle, stream] : streams_) stream->hangs = stream->captures = false;
}

int Machine::calls(const std::string& symbol) const {
  const auto found = calls_.find(symbol);
  return found == calls_.end() ? 0 : found->second;
}

Stream* Machine::StreamOf(void* handle) {
  const auto number = reinterpret_cast<uintptr_t>(handle);
  if (number > 2) {
    const auto found = streams_.find(handle);
    REIGEN_CHECK(found != streams_.end(), "a CUDA stream is used that is not there");
    return found->second.get();
  }
  Stream* const legacy = &legacy_[contexts.empty() ? 0 : contexts.back()];
  legacy->device = contexts.empty() ? 0 : contexts.back();
  return legacy;
}

void Machine::Destroy(void* stream) {
  StreamOf(stream)->hangs = false;
  destroyed_.push_back(std::move(streams_.at(stream)));
  streams_.erase(stream);
}

void Machine::Push(Stream* stream, std::function<void()> work) {
  stream->work.push_back({.run = std::move(work), .after = nullptr, .position = 0});
}

void Machine::PushWait(Stream* stream, Stream* after, size_t position) {
  stream->work.push_back({.run = [] {}, .after = after, .position = position});
}

bool Machine::RunTo(Stream* stream, size_t position) {
  while (stream->done < position) {
    Stream::Work& next = stream->work[stream->done];
    if (stream->hangs || (next.after != nullptr && !RunTo(next.after, next.position))) return false;
    ++stream->done;
    std::exchange(next.run, nullptr)();
  }
  return true;
}

bool Machine::StreamCaptures() const {
  return std::any_of(streams_.begin(), streams_.end(),
                     [](const auto& entry) { return entry.second->captures; });
}

int Machine::Query(void* handle, Stream* stream, size_t position) {
  if (stream->done >= position) return 0;
  if (hangs_ || asked_.insert(handle).second) return kNotReady;
  if (!RunTo(stream, position)) return kNotReady;
  asked_.erase(handle);
  return sticky_;
}

void Machine::Touch(int device, std::span<const Range> ranges,
                    const std::function<void()>& work) {
  if (sticky_ == 0 && !memory_.Touch(device, ranges, work)) sticky_ = kIllegalAddress;
}

void Machine::FailMisaligned() {
  if (sticky_ == 0) sticky_ = kMisalignedAddress;
}

}  // namespace reigen::fake_cuda
