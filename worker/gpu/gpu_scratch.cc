#include "worker/gpu/gpu_scratch.h"

#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "runtime/gpudirect/mode.h"

namespace reigen::worker {
namespace {

// Negotiated plans; the only stream there is.
constexpr uint32_t kStream = 0;

}  // namespace

GpuScratch::GpuScratch(Options options, DeviceTrainers* trainers,
                       collective::WorkExecutor* executor)
    : options_(std::move(options)), trainers_(trainers), executor_(executor) {}

void GpuScratch::BeginEpoch(DeviceNetwork* network, uint64_t window_bytes) {
  Release("");
  network_ = network;
  ++epochs_;
  window_bytes_ = window_bytes;
  bytes_ = window_bytes > 0 ? gpudirect::ScratchBytes(window_bytes) : 0;
  state_ = window_bytes > 0 ? State::kUndecided : State::kNone;
}

void GpuScratch::Release(const std::string& why) {
  if (network_ != nullptr) network_->ReleaseDeviceMemory();
  on_gpus_.clear();
  staged_.clear();
  unmapped_.clear();
  host_.reset();
  host_file_ = MemoryFile();
  if (state_ != State::kNone) Fail(why);
}

void GpuScratch::Fail(const std::string& why) {
  state_ = State::kFailed;
  why_ = why;
}

void GpuScratch::Add(int local, DeviceArena arena) {
  const auto found = on_gpus_.find(local);
  // Lanes may work in it, and links move what is there.
  const bool in_use = found != on_gpus_.end() && found->second.scratch != nullptr;
  if (!in_use) on_gpus_.insert_or_assign(local, OnGpu{std::move(arena), nullptr});
}

gpudirect::ScratchChoice GpuScratch::Choose(int local) {
  gpudirect::ScratchFacts facts;
  facts.links = network_->LinksTakeDeviceMemory();
  const auto own = on_gpus_.find(local);
  // A smaller one has no room for the window.
  facts.has_scratch = own != on_gpus_.end() && own->second.arena.bytes >= bytes_;
  if (facts.has_scratch) {
    const DeviceArena& arena = own->second.arena;
    facts.why_no_dmabuf = arena.why_no_dmabuf;
    facts.allows_rdma = arena.allows_rdma;
    facts.capability_major = arena.capability_major;
    facts.writes_ordering = arena.writes_ordering;
    if (facts.links.ok()) facts.nics = network_->NicsFor(arena.bus_id);
  }
  gpudirect::ScratchChoice choice = gpudirect::ChooseScratch(facts);
  if (choice.direct) {
    if (const Status status = MakeDirect(local, choice); !status.ok()) {
      choice.direct = false;
      choice.reason = Message(status);
      if (status.code() == StatusCode::kUnimplemented) {
        choice.remedy = gpudirect::kHowToRegisterDmabuf;
      }
    }
  }
  if (own != on_gpus_.end()) own->second.arena.dmabuf.Reset();  // the registration holds it
  return choice;
}

Status GpuScratch::MakeDirect(int local, const gpudirect::ScratchChoice& choice) {
  OnGpu& own = on_gpus_.at(local);
  const std::span<std::byte> memory(own.arena.base, own.arena.bytes);
  REIGEN_ASSIGN_OR_RETURN(own.scratch, MakeScratch(memory));
  Status status = network_->RegisterDevice({.dmabuf = own.arena.dmabuf.get(),
                                            .offset = 0,
                                            .memory = memory,
                                            .read_back = choice.read_back,
                                            .near = choice.near});
  if (!status.ok()) own.scratch.reset();
  return status;
}

StatusOr<std::unique_ptr<collective::Scratch>> GpuScratch::MakeScratch(
    std::span<std::byte> memory) const {
  auto scratch = std::make_unique<collective::Scratch>(memory);
  REIGEN_RETURN_IF_ERROR(scratch->Open(kStream, window_bytes_));
  return scratch;
}

void GpuScratch::Decide(const std::vector<int>& leaders) {
  if (state_ != State::kUndecided) return;
  std::string refused;
  for (int local : leaders) {
    const gpudirect::ScratchChoice choice = Choose(local);
    const auto own = on_gpus_.find(local);
    const std::string gpu = own == on_gpus_.end() ? "" : own->second.arena.bus_id;
    REIGEN_INFO("rank={} gpu={} {}", options_.ranks[local], gpu.empty() ? "?" : gpu,
                ToString(choice));
    if (choice.direct) continue;
    staged_.insert(local);
    WarnOfStaging(local, choice);
    if (refused.empty()) {
      refused = "rank " + std::to_string(options_.ranks[local]) + ": " + ToString(choice);
    }
  }
  if (staged_.empty()) {
    state_ = State::kReady;
  } else if (options_.require) {
    Fail(refused);
  } else {
    state_ = State::kPreparing;
    Stage();
  }
}

// Of links over TCP the coordinator's table has warned.
void GpuScratch::WarnOfStaging(int local, const gpudirect::ScratchChoice& choice) {
  if (warned_ || options_.require || !network_->LinksTakeDeviceMemory().ok()) return;
  warned_ = true;
  REIGEN_WARN("CUDA tensors go to and from RDMA links through page-locked memory of the host, not "
              "by GPUDirect (others may too; --log-level info has each): rank {}: {}{}; `reigenctl "
              "doctor` shows what each GPU can",
              options_.ranks[local], choice.reason,
              choice.remedy.empty() ? "" : "; remedy: " + choice.remedy);
}

void GpuScratch::Stage() {
  unmapped_ = staged_;
  auto result = std::make_shared<StatusOr<MemoryFile>>(Internal("not made"));
  executor_->Submit(
      [result, bytes = bytes_] { *result = MemoryFile::Make("reigen-scratch", bytes); },
      [this, result, alive = alive_, epoch = epochs_] {
        if (*alive && epoch == epochs_ && state_ == State::kPreparing) {
          OnFile(std::move(*result));
        }
      });
}

void GpuScratch::OnFile(StatusOr<MemoryFile> file) {
  if (!file.ok()) return Fail("scratch for GPUs: " + Message(file.status()));
  host_file_ = std::move(*file);
  auto scratch = MakeScratch(host_file_.memory());
  Status status = scratch.status();
  if (status.ok()) status = network_->RegisterHost(host_file_.memory());
  if (!status.ok()) return Fail("scratch for GPUs: " + Message(status));
  host_ = std::move(*scratch);
  for (int local : staged_) {
    trainers_->SendHostScratch(local, host_file_.memory().size(), host_file_.fd());
  }
  host_file_.CloseFd();
}

void GpuScratch::OnMapped(int local, const Status& status) {
  if (state_ != State::kPreparing || unmapped_.erase(local) == 0) return;
  if (!status.ok()) {
    Fail("rank " + std::to_string(options_.ranks[local]) +
         " cannot map the scratch for its GPU: " + Message(status));
  } else if (unmapped_.empty()) {
    state_ = State::kReady;
  }
}

void GpuScratch::StopWaiting() {
  if (state_ != State::kPreparing) return;
  Fail(unmapped_.empty() ? "scratch for GPUs was not made in time"
                         : "rank " + std::to_string(options_.ranks[*unmapped_.begin()]) +
                               " has not mapped the scratch for its GPU");
}

collective::Scratch& GpuScratch::of(int local) {
  const auto own = on_gpus_.find(local);
  if (own != on_gpus_.end() && own->second.scratch != nullptr) return *own->second.scratch;
  REIGEN_CHECK(host_ != nullptr, "there is scratch where a bucket needs it");
  return *host_;
}

}  // namespace reigen::worker
