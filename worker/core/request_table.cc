#include "worker/core/request_table.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "worker/core/spec_proto.h"
#include "worker/limits.h"

namespace reigen::worker {

const RequestSpec& Instance::spec() const {
  for (const auto& request : requests) {
    if (request.has_value()) return *request->spec;
  }
  REIGEN_CHECK(false, "an instance without requests");
  __builtin_unreachable();
}

bool RequestTable::Pending(const NameState& state, int local) const {
  if (state.waiting != nullptr && state.waiting->requests[local].has_value()) return true;
  return std::any_of(state.running.begin(), state.running.end(), [local](const InstancePtr& i) {
    return i->requests[local].has_value();
  });
}

std::optional<Failure> RequestTable::Add(int local, Request request,
                                         const std::vector<bool>& members, Time now) {
  NameState& state = names_[Key{request.process_set, request.name}];
  if (Pending(state, local)) {
    return Failure{local::ResultCode::kInvalidArgument,
                   request.name + ": a request of this name is pending already (duplicate)"};
  }
  if (!state.fail_next.empty() && !state.fail_next[local].empty()) {
    Failure failure = std::move(state.fail_next[local].front());
    state.fail_next[local].pop_front();
    EraseIfUnused({request.process_set, request.name});
    return failure;
  }
  if (state.waiting == nullptr) {
    state.waiting = std::make_shared<Instance>();
    state.waiting->name = request.name;
    state.waiting->process_set = request.process_set;
    state.waiting->requests.resize(local_ranks_);
    state.waiting->since = now;
  }
  const InstancePtr instance = state.waiting;
  instance->requests[local] = std::move(request);
  AnnounceIfReady(instance, members);
  return std::nullopt;
}

void RequestTable::AnnounceIfReady(const InstancePtr& instance,
                                   const std::vector<bool>& members) {
  if (instance->announced) return;
  const RequestSpec* first = nullptr;
  bool complete = true;
  for (size_t i = 0; i < local_ranks_; ++i) {
    const auto& request = instance->requests[i];
    if (!request.has_value()) {
      if (members[i]) complete = false;
      continue;
    }
    if (first == nullptr) {
      first = request->spec.get();
    } else if (*first != *request->spec) {
      Announce(instance);  // they disagree: said at once
      return;
    }
  }
  if (complete && first != nullptr) Announce(instance);
}

void RequestTable::Announce(const InstancePtr& instance) {
  instance->announced = true;
  outbox_.push_back({instance, -1});
}

void RequestTable::Leave(int local, const std::vector<bool>& members) {
  for (auto it = names_.begin(); it != names_.end();) {
    const auto next = std::next(it);
    NameState& state = it->second;
    if (!state.fail_next.empty()) state.fail_next[local].clear();
    if (const InstancePtr instance = state.waiting; instance != nullptr && !instance->announced) {
      if (auto& request = instance->requests[local]; request.has_value()) {
        abandoned_[local].push_back({local, request->id});
        request.reset();
      }
      const bool empty = std::none_of(instance->requests.begin(), instance->requests.end(),
                                      [](const auto& r) { return r.has_value(); });
      if (empty) {
        state.waiting = nullptr;
      } else {
        AnnounceIfReady(instance, members);
      }
    }
    EraseIfUnused(Key(it->first));
    it = next;
  }
}

std::vector<FailedRequest> RequestTable::TakeAbandoned(int local) {
  std::vector<FailedRequest> out = std::move(abandoned_[local]);
  abandoned_.erase(local);
  for (auto it = names_.begin(); it != names_.end();) {
    const auto next = std::next(it);
    if (const InstancePtr instance = it->second.waiting; instance != nullptr) {
      if (auto& request = instance->requests[local]; request.has_value()) {
        out.push_back({local, request->id});
        request.reset();
      }
      if (std::none_of(instance->requests.begin(), instance->requests.end(),
                       [](const auto& r) { return r.has_value(); })) {
        std::erase_if(outbox_, [&](const OutItem& item) { return item.ready == instance; });
        it->second.waiting = nullptr;
        EraseIfUnused(Key(it->first));
      }
    }
    it = next;
  }
  return out;
}

std::vector<FailedRequest> RequestTable::Fail(uint32_t process_set, const std::string& name,
                                              const Failure& failure,
                                              const std::vector<bool>& members) {
  const Key key{process_set, name};
  NameState& state = names_[key];
  std::vector<FailedRequest> out;
  const InstancePtr instance = std::exchange(state.waiting, nullptr);
  for (size_t i = 0; i < local_ranks_; ++i) {
    if (instance != nullptr && instance->requests[i].has_value()) {
      out.push_back({static_cast<int>(i), instance->requests[i]->id});
    } else if (members[i]) {
      if (state.fail_next.empty()) state.fail_next.resize(local_ranks_);
      state.fail_next[i].push_back(failure);
    }
  }
  if (instance != nullptr) {
    std::erase_if(outbox_, [&](const OutItem& item) { return item.ready == instance; });
  }
  EraseIfUnused(key);
  return out;
}

InstancePtr RequestTable::Find(uint32_t process_set, const std::string& name) const {
  const auto it = names_.find({process_set, name});
  if (it == names_.end() || it->second.waiting == nullptr) return nullptr;
  return it->second.waiting->announced ? it->second.waiting : nullptr;
}

void RequestTable::TakePlanned(const InstancePtr& instance) {
  const auto it = names_.find({instance->process_set, instance->name});
  REIGEN_CHECK(it != names_.end() && it->second.waiting == instance);
  NameState& state = it->second;
  state.waiting = nullptr;
  state.running.push_back(instance);
  for (const auto& request : instance->requests) {
    if (request.has_value()) state.last_planned = request->spec;
  }
}

void RequestTable::Done(const Instance& instance) {
  const Key key{instance.process_set, instance.name};
  const auto it = names_.find(key);
  if (it == names_.end()) return;
  std::erase_if(it->second.running,
                [&](const InstancePtr& other) { return other.get() == &instance; });
  EraseIfUnused(key);
}

void RequestTable::EraseIfUnused(const Key& key) {
  const auto it = names_.find(key);
  if (it == names_.end()) return;
  const NameState& state = it->second;
  if (state.waiting != nullptr || !state.running.empty()) return;
  if (std::any_of(state.fail_next.begin(), state.fail_next.end(),
                  [](const auto& queue) { return !queue.empty(); })) {
    return;
  }
  // The last spec of a name with an id saves sending it again.
  if (state.last_planned != nullptr && id_of_.contains(key.second)) return;
  names_.erase(it);
}

Status RequestTable::Define(uint32_t id, const std::string& name) {
  if (id == 0 || id > limits::kMaxNameIds || name.size() > local::kMaxNameBytes) {
    return InvalidArgument("name id " + std::to_string(id) + " is out of range");
  }
  if (!name_of_.emplace(id, name).second || !id_of_.emplace(name, id).second) {
    return InvalidArgument("name id " + std::to_string(id) + " (" + name + ") is defined twice");
  }
  return OkStatus();
}

const std::string* RequestTable::NameOf(uint32_t id) const {
  const auto it = name_of_.find(id);
  return it == name_of_.end() ? nullptr : &it->second;
}

void RequestTable::FillReady(const Instance& instance, const std::vector<int>& ranks,
                             control::Ready& out) const {
  out.set_process_set(instance.process_set);
  const auto id = id_of_.find(instance.name);
  if (id != id_of_.end()) {
    out.set_name_id(id->second);
  } else {
    out.set_name(instance.name);
  }
  // Groups of equal specs, in rank order of their first.
  std::vector<std::pair<const RequestSpec*, std::vector<int>>> variants;
  for (size_t i = 0; i < local_ranks_; ++i) {
    const auto& request = instance.requests[i];
    if (!request.has_value()) continue;
    const auto same = std::find_if(variants.begin(), variants.end(), [&](const auto& v) {
      return *v.first == *request->spec;
    });
    if (same != variants.end()) {
      same->second.push_back(ranks[i]);
    } else {
      variants.push_back({request->spec.get(), {ranks[i]}});
    }
  }
  if (id != id_of_.end() && variants.size() == 1 && variants[0].second.size() == local_ranks_) {
    const auto state = names_.find({instance.process_set, instance.name});
    if (state != names_.end() && state->second.last_planned != nullptr &&
        *state->second.last_planned == *variants[0].first) {
      out.set_same_spec(true);
      return;
    }
  }
  for (const auto& [spec, of_ranks] : variants) {
    control::Variant* variant = out.add_variants();
    FillSpec(*spec, *variant->mutable_spec());
    for (int rank : of_ranks) variant->add_ranks(rank);
  }
}

bool RequestTable::waits() const {
  return std::any_of(names_.begin(), names_.end(),
                     [](const auto& entry) { return entry.second.waiting != nullptr; });
}

std::vector<InstancePtr> RequestTable::Late(Time now, Duration limit) const {
  std::vector<InstancePtr> out;
  for (const auto& [key, state] : names_) {
    if (state.waiting == nullptr || state.waiting->announced) continue;
    if (now - state.waiting->since < limit) continue;
    out.push_back(state.waiting);
    if (out.size() == limits::kMaxWaitingReported) break;
  }
  return out;
}

std::vector<FailedRequest> RequestTable::Clear() {
  std::vector<FailedRequest> out;
  const auto take = [&](const InstancePtr& instance) {
    if (instance == nullptr) return;
    for (size_t i = 0; i < local_ranks_; ++i) {
      if (instance->requests[i].has_value()) {
        out.push_back({static_cast<int>(i), instance->requests[i]->id});
      }
    }
  };
  for (const auto& [key, state] : names_) {
    take(state.waiting);
    for (const InstancePtr& instance : state.running) take(instance);
  }
  for (const auto& [local, requests] : abandoned_) {
    out.insert(out.end(), requests.begin(), requests.end());
  }
  names_.clear();
  name_of_.clear();
  id_of_.clear();
  outbox_.clear();
  abandoned_.clear();
  return out;
}

}  // namespace reigen::worker
