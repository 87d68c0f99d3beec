#include "client/c/worker_job.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "client/c/slots.h"

namespace reigen::sdk {
namespace {

// An arena grows by as much as there is, so that few files do, but not by more
// than this beyond what is needed.
constexpr uint64_t kMaxSurplusBytes = 256ull << 20;
constexpr uint64_t kGrowthUnitBytes = 1ull << 20;

Place PlaceOf(const local::EpochBegun& begun) {
  return {.rank = begun.rank,
          .size = begun.size,
          .local_rank = begun.local_rank,
          .local_size = begun.local_size,
          .cross_rank = begun.cross_rank,
          .cross_size = begun.cross_size};
}

}  // namespace

WorkerJob::WorkerJob(std::shared_ptr<Session> session, const UserMemory* user_memory,
                     cuda::Devices* devices, DeviceArenaOptions device_arenas)
    : session_(std::move(session)),
      user_memory_(user_memory),
      place_(PlaceOf(session_->place())),
      names_(local::kMaxNames),
      devices_(devices),
      command_thread_(session_.get(), MirrorCallsOf()),
      device_arenas_(session_.get(), &command_thread_, std::move(device_arenas)) {}

WorkerJob::~WorkerJob() {
  device_arenas_.Hurry();
  leaves_.store(true);
  device_thread_.Stop();
  session_->Break("the job was given up");  // unless it has ended: then nobody waits
  result_thread_.Stop();
  release_thread_->Stop();
  command_thread_.Stop();
}

Result WorkerJob::Allocate(uint64_t bytes, Block* out) {
  while (true) {
    const uint32_t files = session_->arena().file_count();
    if (auto block = session_->arena().Allocate(bytes)) {
      *out = std::move(*block);
      return Ok();
    }
    const uint64_t surplus = std::min(session_->arena().total_bytes(), kMaxSurplusBytes);
    const uint64_t wanted = std::max(bytes, std::max(surplus, local::kFirstArenaBytes));
    if (wanted > UINT64_MAX - kGrowthUnitBytes) {
      return Fail(REIGEN_RESOURCE_EXHAUSTED, "too many bytes");
    }
    const uint64_t rounded = (wanted + kGrowthUnitBytes - 1) / kGrowthUnitBytes * kGrowthUnitBytes;
    REIGEN_SDK_RETURN_IF_ERROR(session_->Grow(rounded, files));
  }
}

Result WorkerJob::Submit(const std::shared_ptr<Operation>& operation) {
  if (session_->ended()) return session_->end_reason();
  if (operation->request().device_kind == REIGEN_CUDA) return SubmitDevice(operation);
  REIGEN_SDK_RETURN_IF_ERROR(Stage(*operation));
  const std::lock_guard order(submit_mutex_);
  REIGEN_SDK_RETURN_IF_ERROR(TakeNamesLocked(*operation));
  return PublishLocked(operation);
}

// Small: in the record. In reigen_alloc memory: where it is. False: needs a block.
bool WorkerJob::StageWithoutBlock(const Operation& operation, const RequestTensor& tensor,
                                  Payload* payload) const {
  if (operation.request().device_kind == REIGEN_CUDA) return tensor.count == 0;
  const bool single = operation.request().tensors.size() == 1;
  if (tensor.count == 0 || (single && tensor.bytes <= local::kInlineBytes)) return true;
  // The result is left where the output is; of a broadcast's root, the input.
  const bool to_output = tensor.output != nullptr;
  const Layout& layout = to_output ? tensor.out : tensor.in;
  const std::byte* target = to_output ? tensor.output : tensor.input;
  if (!layout.contiguous()) return false;
  auto found = user_memory_->Find(target, tensor.bytes);
  if (!found || found->offset % local::kArenaAlignment != 0) return false;
  if (!session_->arena().Has(*found->file)) return false;
  if (to_output && tensor.input != nullptr) {
    const std::byte* const first = tensor.input + tensor.in.begin();
    const std::byte* const last = tensor.input + tensor.in.end();
    const bool same = tensor.input == tensor.output && tensor.in.contiguous();
    if (!same && first < target + tensor.bytes && target < last) return false;
  }
  payload->arena = found->file->id();
  payload->offset = found->offset;
  payload->packed = const_cast<std::byte*>(target);
  payload->file = std::move(found->file);
  return true;
}

Result WorkerJob::Stage(Operation& operation) {
  const Request& request = operation.request();
  std::vector<Payload>& payloads = operation.payloads();
  payloads.resize(request.tensors.size());
  std::vector<size_t> in_block;
  uint64_t block_bytes = 0;
  for (size_t i = 0; i < request.tensors.size(); ++i) {
    if (StageWithoutBlock(operation, request.tensors[i], &payloads[i])) continue;
    in_block.push_back(i);
    const uint64_t bytes = request.tensors[i].bytes;
    payloads[i].offset = block_bytes;
    if (__builtin_add_overflow(block_bytes, bytes + local::kArenaAlignment - 1, &block_bytes)) {
      return Invalid(request.name() + ": more bytes than 64 bits count");
    }
    block_bytes -= block_bytes % local::kArenaAlignment;
  }
  if (!in_block.empty()) REIGEN_SDK_RETURN_IF_ERROR(PutIntoBlock(operation, in_block, block_bytes));
  if (request.device_kind == REIGEN_CUDA) return Ok();
  for (size_t i = 0; i < request.tensors.size(); ++i) {
    const RequestTensor& tensor = request.tensors[i];
    if (payloads[i].packed == nullptr || tensor.input == nullptr) continue;
    tensor.in.Gather(tensor.input, payloads[i].packed);
  }
  return Ok();
}

Result WorkerJob::PutIntoBlock(Operation& operation, std::span<const size_t> payloads,
                               uint64_t bytes) {
  const Request& request = operation.request();
  const bool is_cuda = request.device_kind == REIGEN_CUDA;
  if (is_cuda) {
    auto block = device_arenas_.Allocate(operation.device_work().device(), bytes,
                                         [this] { return LookWhileFull(); });
    if (block) {
      operation.PutOnDevice(payloads, std::move(*block));
      return Ok();
    }
  }
  Block block;
  Result allocated = Allocate(bytes, &block);
  if (!allocated.ok()) {
    return Fail(allocated.code, request.name() + ": no memory for " + std::to_string(bytes) +
                                    " bytes: " + allocated.text);
  }
  if (is_cuda) operation.device_work().Pin(block.file());
  operation.PutOnHost(payloads, std::move(block));
  return Ok();
}

// Taken at enqueue, also by a request that is sent later: a duplicate is found here.
Result WorkerJob::TakeNamesLocked(Operation& operation) {
  Progress();  // names of requests that have just ended are free again
  const std::vector<std::string>& names = operation.request().names;
  std::vector<NameTable::Pinned> pinned;
  REIGEN_SDK_RETURN_IF_ERROR(names_.Pin(names, &pinned));
  std::vector<uint32_t>& ids = operation.name_ids();
  for (const NameTable::Pinned& name : pinned) ids.push_back(name.id);
  for (size_t i = 0; i < names.size(); ++i) {
    if (!pinned[i].is_new) continue;
    Result sent = session_->submissions().DefineName(ids[i], names[i]);
    if (sent.ok()) continue;
    // The worker is gone, or takes no requests, which counts as the same: names
    // that it may not know must not be used again.
    session_->Break(sent.text);
    return session_->end_reason();
  }
  return Ok();
}

Result WorkerJob::PublishLocked(const std::shared_ptr<Operation>& operation) {
  const std::vector<local::Slot> slots = MakeSlots(*operation);
  {
    // Before it is published: its completion, or its mirror, may come at once.
    const std::lock_guard lock(pending_mutex_);
    pending_.emplace(operation->id(), operation);
  }
  Result sent = session_->submissions().Publish(slots);
  session_->submissions().WakeWorker();
  if (sent.ok()) {
    // Leave may have looked at what is pending for the last time: end it here.
    if (session_->ended()) Progress();
    return sent;
  }
  session_->Break(sent.text);
  return session_->end_reason();
}

void WorkerJob::Progress() {
  const std::lock_guard lock(pending_mutex_);
  TakeCompletionsLocked();
}

void WorkerJob::TakeCompletionsLocked() {
  const bool ended = session_->ended();  // before the look at the queue
  taken_.clear();
  const bool sane = session_->completions().Take(&taken_);
  for (Completion& completion : taken_) {
    const uint64_t id = completion.request;
    EndLocked(id, std::move(completion));
  }
  if (!sane) session_->Break("the worker of this host wrote a bad completion");
  if (!ended && sane) return;
  while (!pending_.empty()) {
    const uint64_t id = pending_.begin()->first;
    Completion failed;
    failed.request = id;
    failed.result = session_->end_reason();
    failed.result.text = pending_.begin()->second->request().name() + ": " + failed.result.text;
    EndLocked(id, std::move(failed));
  }
}

// Completions of unknown requests are ignored: it failed here while it was sent.
void WorkerJob::EndLocked(uint64_t id, Completion completion) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return;
  const std::shared_ptr<Operation> operation = std::move(found->second);
  pending_.erase(found);
  names_.Unpin(operation->name_ids());
  operation->End(std::move(completion));
  if (delivers_ && operation->request().device_kind == REIGEN_CUDA) {
    results_.push_back(operation);
  }
}

Sleep WorkerJob::Wait(Operation& operation, Time deadline) {
  const Sleep staged = operation.WaitStaged(deadline);
  if (staged != Sleep::kWoken) return staged;
  while (true) {
    const uint32_t seen = session_->completions().head();
    Progress();
    if (operation.ended()) return Sleep::kWoken;
    const Sleep sleep = session_->completions().Wait(seen, deadline);
    if (sleep != Sleep::kWoken) return sleep;
  }
}

void WorkerJob::Leave() {
  // What was enqueued before is sent, and no tensor is read after this.
  device_arenas_.Hurry();
  leaves_.store(true);
  device_thread_.Stop();
  session_->Leave();  // until then the worker may have commands
  result_thread_.Stop();
  release_thread_->Stop();  // no tensor is written after this
  command_thread_.Stop();
  Progress();
}

}  // namespace reigen::sdk
