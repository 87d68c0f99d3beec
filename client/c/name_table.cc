#include "client/c/name_table.h"

#include <utility>

namespace reigen::sdk {

Result NameTable::Pin(std::span<const std::string> names, std::vector<Pinned>* pinned) {
  const std::lock_guard lock(mutex_);
  pinned->clear();
  pinned->reserve(names.size());
  Result failure;
  for (const std::string& name : names) {
    const auto known = ids_.find(name);
    if (known != ids_.end()) {
      Entry& entry = entries_[known->second];
      if (entry.in_use) {
        failure = Invalid(name + ": duplicate name: a request of this name is still pending");
        break;
      }
      entry.in_use = true;
      idle_.erase(entry.idle);
      pinned->push_back({.id = known->second, .is_new = false});
      continue;
    }
    uint32_t id = 0;
    if (entries_.size() < max_names_) {
      id = static_cast<uint32_t>(entries_.size());
      entries_.emplace_back();
    } else if (!idle_.empty()) {
      id = idle_.front();
      idle_.pop_front();
      ids_.erase(entries_[id].name);
    } else {
      failure = Fail(REIGEN_RESOURCE_EXHAUSTED,
                     name + ": " + std::to_string(max_names_) + " names are pending");
      break;
    }
    ids_.emplace(name, id);
    entries_[id] = {.name = name, .in_use = true, .idle = {}};
    pinned->push_back({.id = id, .is_new = true});
  }
  if (failure.ok()) return Ok();
  for (const Pinned& taken : *pinned) {
    // The worker never heard of it: the next to use the name defines it.
    if (taken.is_new) ids_.erase(entries_[taken.id].name);
    if (taken.is_new) entries_[taken.id].name.clear();
    UnpinLocked(taken.id);
  }
  pinned->clear();
  return failure;
}

void NameTable::Unpin(std::span<const uint32_t> ids) {
  const std::lock_guard lock(mutex_);
  for (const uint32_t id : ids) UnpinLocked(id);
}

void NameTable::UnpinLocked(uint32_t id) {
  Entry& entry = entries_[id];
  entry.in_use = false;
  idle_.push_back(id);
  entry.idle = std::prev(idle_.end());
}

}  // namespace reigen::sdk
