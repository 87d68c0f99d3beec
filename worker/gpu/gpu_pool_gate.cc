// The half of GpuPool that the gate asks.
#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "runtime/base/dtype.h"
#include "runtime/base/log.h"
#include "worker/gpu/command_format.h"
#include "worker/gpu/gpu_pool.h"

namespace reigen::worker {
namespace {

using Verdict = GateGpus::Fitness::Verdict;

bool BetweenHosts(const collective::Bucket& bucket) {
  return bucket.algorithm != Algorithm::kNone && bucket.hosts.size() > 1;
}

}  // namespace

bool GpuPool::IsDevice(const std::byte* address) const {
  return !arenas_.empty() && arenas_.Find(address) != nullptr;
}

GateGpus::Fitness GpuPool::Fits(const collective::Bucket& bucket) {
  for (int local : leaders_) {
    if (const Status status = WhyNoCommands(local); !status.ok()) {
      return {Verdict::kNot, Message(status)};
    }
  }
  for (const collective::BucketTensor& tensor : bucket.tensors) {
    if (tensor.inputs.size() > kMaxInputs) {
      return NotForGood("more than " + std::to_string(kMaxInputs) + " ranks are on this host");
    }
    if (tensor.inputs.empty() && bucket.kind == CollectiveKind::kAllreduce) {
      return {Verdict::kNot, "no rank of this host contributes"};
    }
  }
  const Fitness arenas = FitsArenas(bucket);
  if (arenas.verdict != Verdict::kFits || !BetweenHosts(bucket)) return arenas;
  return FitsScratch();
}

GateGpus::Fitness GpuPool::FitsArenas(const collective::Bucket& bucket) {
  std::set<const ArenaEntry*> entries;
  for (const collective::BucketTensor& tensor : bucket.tensors) {
    for (const std::byte* at : tensor.inputs) entries.insert(arenas_.Find(at));
    for (const std::byte* at : tensor.outputs) entries.insert(arenas_.Find(at));
  }
  entries.erase(nullptr);  // of tensors without elements
  Fitness fitness{Verdict::kFits, ""};
  for (const ArenaEntry* entry : entries) {
    for (int local : leaders_) {
      std::string why;
      switch (ReachOf(*entry, local, &why)) {
        case ArenaEntry::Reach::kOpen: break;
        case ArenaEntry::Reach::kAsked: fitness.verdict = Verdict::kLater; break;
        case ArenaEntry::Reach::kRefused:
          return NotForGood(Name(local) + "'s GPU cannot reach the memory of " +
                            Name(entry->owner) + "'s: " + why);
      }
    }
  }
  return fitness;
}

GateGpus::Fitness GpuPool::FitsScratch() {
  scratch_->Decide(leaders_);
  switch (scratch_->state()) {
    case GpuScratch::State::kReady: return {Verdict::kFits, ""};
    case GpuScratch::State::kPreparing: return {Verdict::kLater, ""};
    default: return NotForGood(scratch_->why());
  }
}

// Payloads had better be in host memory from the start.
GateGpus::Fitness GpuPool::NotForGood(const std::string& why) {
  if (told_.empty()) {
    told_ = why;
    REIGEN_INFO("CUDA tensors of this host go through host memory from now on: {}", why);
    for (int local : leaders_) trainers_->SendDeviceUse(local, false, why);
  }
  return {Verdict::kNot, why};
}

void GpuPool::StopWaiting() {
  arenas_.GiveUpOpening();
  scratch_->StopWaiting();
}

void GpuPool::Mirror(int local, const Request& request, const std::string& why,
                     Mirrored mirrored) {
  if (mirror_why_ != why) {
    mirror_why_ = why;
    const bool explained = told_.empty() || told_ == why;
    REIGEN_WARN("{}: CUDA tensors go through host memory and are reduced by the CPU: {}{}",
                request.name, why, explained ? "" : " (" + told_ + ")");
  }
  if (const Status status = WhyNoCommands(local); !status.ok()) {
    calls_.push_back([mirrored = std::move(mirrored), status] { mirrored(status); });
    return;
  }
  FormattedCommand command = FormatMirror(request.id);
  Order(local, command.slot, std::move(command.words),
        [this, local, spec = request.spec,
         mirrored = std::move(mirrored)](const StatusOr<local::DoneSlot>& answer) {
          if (!answer.ok()) return mirrored(answer.status());
          mirrored(FindMirror(local, *spec, *answer));
        });
}

// Checks the place as a TensorSlot's is checked.
StatusOr<std::vector<std::byte*>> GpuPool::FindMirror(int local, const RequestSpec& spec,
                                                      const local::DoneSlot& done) {
  std::vector<uint64_t> offsets;
  uint64_t end = 0;
  for (const TensorSpec& tensor : spec.tensors) {  // their bytes are below the arenas'
    const uint64_t bytes = tensor.count * ElementBytes(tensor.dtype);
    end = (end + local::kArenaAlignment - 1) / local::kArenaAlignment * local::kArenaAlignment;
    offsets.push_back(end);
    end += bytes;
  }
  std::byte* const base = trainers_->HostMemory(local, done.arena, done.offset, end);
  if (base == nullptr) {
    const std::string place = "arena " + std::to_string(done.arena) + " at " +
                              std::to_string(done.offset);
    trainers_->EndSession(local, "says that it mirrored a request in " + place +
                                     ", where no payload can be");
    return Unavailable(Name(local) + " mirrored nothing");
  }
  std::vector<std::byte*> memory;
  for (size_t i = 0; i < offsets.size(); ++i) {
    memory.push_back(spec.tensors[i].count == 0 ? nullptr : base + offsets[i]);
  }
  return memory;
}

}  // namespace reigen::worker
