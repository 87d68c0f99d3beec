#include "runtime/collective/scratch.h"

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/base/check.h"

namespace reigen::collective {

size_t Scratch::WindowsEnd() const {
  size_t end = 0;
  for (const auto& [stream, window] : windows_) end = std::max(end, window.end);
  return end;
}

Status Scratch::Open(uint32_t stream, size_t bytes) {
  REIGEN_CHECK(!windows_.contains(stream), "stream ids are never reused in an epoch");
  bytes = Rounded(bytes);
  std::vector<Range> used;
  for (const auto& [id, window] : windows_) used.push_back(window);
  std::sort(used.begin(), used.end(), [](Range a, Range b) { return a.begin < b.begin; });
  size_t begin = 0;
  for (const Range& window : used) {
    if (window.begin - begin >= bytes) break;  // a gap that a closed stream left
    begin = window.end;
  }
  if (begin + bytes > memory_.size()) {
    return ResourceExhausted("scratch of " + std::to_string(memory_.size()) + " bytes has no " +
                             std::to_string(bytes) + " left for stream " + std::to_string(stream));
  }
  windows_[stream] = {begin, begin + bytes};
  return OkStatus();
}

void Scratch::Close(uint32_t stream) { windows_.erase(stream); }

size_t Scratch::WindowBytes(uint32_t stream) const {
  const auto it = windows_.find(stream);
  return it == windows_.end() ? 0 : it->second.end - it->second.begin;
}

std::byte* Scratch::Take(Range within, size_t bytes) {
  bytes = std::max(Rounded(bytes), kAlign);
  size_t begin = within.begin;
  // The first piece that may reach into the range is the one before it.
  auto next = taken_.upper_bound(begin);
  if (next != taken_.begin()) begin = std::max(begin, std::prev(next)->second);
  for (; next != taken_.end() && next->first < begin + bytes; ++next) begin = next->second;
  if (begin + bytes > within.end) return nullptr;
  taken_[begin] = begin + bytes;
  return memory_.data() + begin;
}

std::byte* Scratch::TakeFromWindow(uint32_t stream, size_t bytes) {
  const auto it = windows_.find(stream);
  return it == windows_.end() ? nullptr : Take(it->second, bytes);
}

std::byte* Scratch::TakeSurplus(size_t bytes) {
  return Take({WindowsEnd(), memory_.size()}, bytes);
}

void Scratch::GiveBack(std::byte* memory) {
  const size_t erased = taken_.erase(static_cast<size_t>(memory - memory_.data()));
  REIGEN_CHECK(erased == 1, "scratch that was not taken");
}

}  // namespace reigen::collective
