#include "worker/gpu/gate.h"

#include <algorithm>
#include <set>
#include <utility>

#include "proto/local/local.h"

namespace reigen::worker {
namespace {

using Verdict = GateGpus::Fitness::Verdict;

bool BetweenHosts(const collective::Bucket& bucket) {
  return bucket.algorithm != Algorithm::kNone && bucket.hosts.size() > 1;
}

}  // namespace

Gate::Gate(Options options, GateGpus* gpus, std::function<void(collective::Bucket)> start)
    : options_(options), gpus_(gpus), start_(std::move(start)) {}

void Gate::Push(collective::Bucket bucket, std::vector<InstancePtr> instances,
                std::vector<uint32_t> tensors, Time now) {
  auto entry = std::make_shared<Entry>();
  const uint32_t stream = bucket.id.stream;
  entry->bucket = std::move(bucket);
  entry->instances = std::move(instances);
  entry->tensors = std::move(tensors);
  streams_[stream].push_back(std::move(entry));
  Step(now);
}

bool Gate::Step(Time now) {
  bool any = false;
  for (auto& [stream, queue] : streams_) {
    while (!queue.empty()) {
      const EntryPtr first = queue.front();
      if (!Leaves(first, now)) break;
      queue.pop_front();
      any = true;
    }
  }
  return any;
}

// Whether the first one has been started, or has failed.
bool Gate::Leaves(const EntryPtr& entry, Time now) {
  if (entry->mirrors_out > 0) return false;
  const collective::Bucket& bucket = entry->bucket;
  const auto fail = [&](const Status& why) {
    bucket.done(why);
    return true;
  };
  if (!entry->failed.ok()) return fail(entry->failed);
  const Memory memory = MemoryOf(*entry);
  const bool cuda = entry->instances[0]->spec().device_kind == local::kCudaDevice;
  const bool must = options_.require && cuda && BetweenHosts(bucket);
  if (memory == Memory::kHost && !must) {
    StartOnHost(*entry);
    return true;
  }
  std::string why = "not all ranks of this host have it on their GPUs";
  if (memory == Memory::kDevice) {
    GateGpus::Fitness fitness = gpus_->Fits(bucket);
    if (fitness.verdict == Verdict::kLater) {
      if (!entry->waits_since) entry->waits_since = now;
      if (now - *entry->waits_since < options_.wait_limit) return false;
      gpus_->StopWaiting();
      fitness = gpus_->Fits(bucket);
    }
    entry->waits_since.reset();
    if (fitness.verdict == Verdict::kFits) {
      StartOnGpus(*entry);
      return true;
    }
    why = fitness.why;
  }
  if (must) {
    if (memory != Memory::kDevice) {
      const std::string known = gpus_->WhyNotUsed();
      why += known.empty() ? " (they say why; more room there: REIGEN_CUDA_ARENA_MB)"
                           : " (" + known + ")";
    }
    return fail(FailedPrecondition(entry->instances[0]->name + ": " + why +
                                   ", but --gpu-direct is require"));
  }
  return MirrorOrWait(entry, why);
}

Gate::Memory Gate::MemoryOf(const Entry& entry) const {
  bool device = false, host = false;
  const auto look = [&](const std::byte* at) {
    if (at != nullptr) (gpus_->IsDevice(at) ? device : host) = true;
  };
  for (const collective::BucketTensor& tensor : entry.bucket.tensors) {
    for (const std::byte* at : tensor.inputs) look(at);
    for (const std::byte* at : tensor.outputs) look(at);
  }
  return !device ? Memory::kHost : host ? Memory::kMixed : Memory::kDevice;
}

// False always: it goes on when the mirrors, or buckets before it, are done.
bool Gate::MirrorOrWait(const EntryPtr& entry, const std::string& why) {
  const std::set<InstancePtr> instances(entry->instances.begin(), entry->instances.end());
  for (const InstancePtr& instance : instances) {
    if (on_gpus_.contains(instance.get())) return false;
  }
  for (const InstancePtr& instance : instances) {
    for (size_t local = 0; local < instance->requests.size(); ++local) {
      const auto& request = instance->requests[local];
      const bool on_gpu = request.has_value() &&
                          std::any_of(request->data.begin(), request->data.end(),
                                      [this](const std::byte* at) {
                                        return at != nullptr && gpus_->IsDevice(at);
                                      });
      if (on_gpu) MirrorRequest(entry, instance, static_cast<int>(local), why);
    }
  }
  return false;
}

void Gate::MirrorRequest(const EntryPtr& entry, const InstancePtr& instance, int local,
                         const std::string& why) {
  ++entry->mirrors_out;
  gpus_->Mirror(local, *instance->requests[local], why,
                [this, entry, instance, local](StatusOr<std::vector<std::byte*>> memory) {
                  --entry->mirrors_out;
                  if (memory.ok()) {
                    Replace(instance, local, *memory);
                  } else if (entry->failed.ok()) {
                    entry->failed = Annotate(memory.status(), instance->name);
                  }
                });
}

void Gate::Replace(const InstancePtr& instance, int local,
                   const std::vector<std::byte*>& memory) {
  if (!instance->requests[local].has_value()) return;
  Request& request = *instance->requests[local];
  const std::vector<std::byte*> old = std::exchange(request.data, memory);
  for (auto& [stream, queue] : streams_) {
    for (const EntryPtr& entry : queue) {
      for (size_t i = 0; i < entry->bucket.tensors.size(); ++i) {
        if (entry->instances[i] != instance) continue;
        std::byte* const from = old[entry->tensors[i]];
        std::byte* const to = memory[entry->tensors[i]];
        if (from == nullptr) continue;
        collective::BucketTensor& tensor = entry->bucket.tensors[i];
        std::replace(tensor.inputs.begin(), tensor.inputs.end(),
                     static_cast<const std::byte*>(from), static_cast<const std::byte*>(to));
        std::replace(tensor.outputs.begin(), tensor.outputs.end(), from, to);
      }
    }
  }
}

void Gate::StartOnHost(Entry& entry) { start_(std::move(entry.bucket)); }

void Gate::StartOnGpus(Entry& entry) {
  const std::set<InstancePtr> instances(entry.instances.begin(), entry.instances.end());
  for (const InstancePtr& instance : instances) ++on_gpus_[instance.get()];
  entry.bucket.on_gpus = true;
  entry.bucket.done = [this, instances, done = std::move(entry.bucket.done)](const Status& status) {
    for (const InstancePtr& instance : instances) {
      if (--on_gpus_[instance.get()] == 0) on_gpus_.erase(instance.get());
    }
    done(status);
  };
  start_(std::move(entry.bucket));
}

void Gate::CancelAll(const Status& status) {
  for (auto& [stream, queue] : std::exchange(streams_, {})) {
    for (const EntryPtr& entry : queue) entry->bucket.done(status);
  }
}

size_t Gate::waiting() const {
  size_t count = 0;
  for (const auto& [stream, queue] : streams_) count += queue.size();
  return count;
}

std::optional<Time> Gate::NextDeadline() const {
  std::optional<Time> next;
  for (const auto& [stream, queue] : streams_) {
    if (queue.empty() || !queue.front()->waits_since || queue.front()->mirrors_out > 0) continue;
    const Time time = *queue.front()->waits_since + options_.wait_limit;
    next = next ? std::min(*next, time) : time;
  }
  return next;
}

}  // namespace reigen::worker
