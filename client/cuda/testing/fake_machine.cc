#include "client/cuda/testing/fake_machine.h"

#include <sys/mman.h>

#include <iterator>

namespace reigen::fake_cuda {
namespace {

constexpr int kInvalidValue = 1;
constexpr int kInvalidContext = 201;
constexpr int kNotReady = 600;
constexpr int kFirstSticky = 700;
constexpr int kAlreadyRegistered = 712;
constexpr int kNotRegistered = 713;

bool Covers(const std::map<uintptr_t, size_t>& ranges, uintptr_t address, size_t bytes) {
  auto range = ranges.upper_bound(address);
  if (range == ranges.begin()) return false;
  --range;
  const uintptr_t into = address - range->first;
  return into <= range->second && bytes <= range->second - into;
}

}  // namespace

thread_local std::vector<int> contexts;

// Never destroyed: the process's last calls come late.
Machine& Machine::Get() {
  static auto* const machine = new Machine;
  return *machine;
}

int Machine::Enter(const char* symbol, bool needs_context) {
  ++calls_[symbol];
  if (sticky_ != 0) return sticky_;
  if (fail_code_ != 0 && fail_symbol_ == symbol && fail_skip_-- == 0) {
    const int code = fail_code_;
    fail_code_ = 0;
    if (code >= kFirstSticky && code < kAlreadyRegistered) sticky_ = code;
    return code;
  }
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
}

int Machine::calls(const std::string& symbol) const {
  const auto found = calls_.find(symbol);
  return found == calls_.end() ? 0 : found->second;
}

Stream* Machine::StreamOf(void* handle) {
  const auto number = reinterpret_cast<uintptr_t>(handle);
  if (number > 2) return static_cast<Stream*>(handle);
  Stream* const legacy = &legacy_[contexts.empty() ? 0 : contexts.back()];
  legacy->device = contexts.empty() ? 0 : contexts.back();
  return legacy;
}

void Machine::Push(Stream* stream, std::function<void()> work) {
  stream->work.push_back(std::move(work));
}

void Machine::RunTo(Stream* stream, size_t position) {
  while (stream->done < position) {
    const auto work = std::move(stream->work[stream->done++]);
    work();
  }
}

int Machine::Query(void* handle, Stream* stream, size_t position) {
  if (stream->done >= position) return 0;
  if (hangs_ || asked_.insert(handle).second) return kNotReady;
  asked_.erase(handle);
  RunTo(stream, position);
  return 0;
}

void* Machine::Allocate(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  memory_[reinterpret_cast<uintptr_t>(memory)] = bytes;
  device_of_[reinterpret_cast<uintptr_t>(memory)] = contexts.back();
  return memory;
}

bool Machine::Free(void* memory) {
  const auto found = memory_.find(reinterpret_cast<uintptr_t>(memory));
  if (found == memory_.end()) return false;
  munmap(memory, found->second);
  memory_.erase(found);
  return true;
}

int Machine::Register(void* memory, size_t bytes) {
  if (memory == nullptr || bytes == 0) return kInvalidValue;
  if (Registered(memory)) return kAlreadyRegistered;
  registered_[reinterpret_cast<uintptr_t>(memory)] = bytes;
  return 0;
}

int Machine::Unregister(void* memory) {
  return registered_.erase(reinterpret_cast<uintptr_t>(memory)) == 1 ? 0 : kNotRegistered;
}

bool Machine::Registered(const void* memory) const {
  return Covers(registered_, reinterpret_cast<uintptr_t>(memory), 1);
}

bool Machine::OnDevice(uint64_t address, size_t bytes) const {
  return Covers(memory_, address, bytes);
}

int Machine::DeviceOf(uint64_t address) const {
  return std::prev(device_of_.upper_bound(address))->second;
}

void Machine::Touch(int device, const std::function<void()>& work) {
  const auto protect = [&](int how) {
    for (const auto& [address, bytes] : memory_) {
      if (device >= 0 && device_of_.at(address) != device) continue;
      mprotect(reinterpret_cast<void*>(address), bytes, how);
    }
  };
  protect(PROT_READ | PROT_WRITE);
  work();
  protect(PROT_NONE);
}

}  // namespace reigen::fake_cuda
