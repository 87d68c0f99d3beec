// CUDA tensors of a job with daemons: their way to the worker, and their mirrors.
#include <string>
#include <utility>

#include "client/c/worker_job.h"

namespace reigen::sdk {
namespace {

// Operations whose CUDA tensors are on their way at once.
constexpr size_t kMaxFetching = 16;

}  // namespace

Result WorkerJob::SubmitDevice(const std::shared_ptr<Operation>& operation) {
  std::unique_ptr<DeviceWork> work;
  REIGEN_SDK_RETURN_IF_ERROR(
      DeviceWork::Start(*devices_, operation->request(), release_thread_, &work));
  {
    const std::lock_guard order(submit_mutex_);
    REIGEN_SDK_RETURN_IF_ERROR(TakeNamesLocked(*operation));
  }
  operation->StartStaging(std::move(work));
  StartResultThread();
  if (device_thread_.Post([this, operation] { StartFetch(operation); })) return Ok();
  names_.Unpin(operation->name_ids());
  return Fail(REIGEN_ABORTED, operation->request().name() + ": shut down, or no thread to be had");
}

// In the device thread, which may wait for the worker. The copies of what is enqueued by now
// are all started before the first one is waited for, so that the device always has some
// to do.
void WorkerJob::StartFetch(const std::shared_ptr<Operation>& operation) {
  Result started = session_->ended() ? session_->end_reason() : Stage(*operation);
  if (started.ok()) started = operation->StartFetch();
  if (!started.ok()) return FailFetch(*operation, std::move(started));
  fetching_.push_back(operation);
  if (!device_thread_.Post([this] { SendOldestFetched(); })) {
    SendFetched();
  }
  if (fetching_.size() >= kMaxFetching) SendOldestFetched();
}

// In the device thread, in the order of the calls that enqueued them.
void WorkerJob::SendOldestFetched() {
  if (fetching_.empty()) return;
  const std::shared_ptr<Operation> operation = std::move(fetching_.front());
  fetching_.pop_front();
  Result result = operation->EndFetch();
  if (result.ok() && session_->ended()) result = session_->end_reason();
  if (!result.ok()) return FailFetch(*operation, std::move(result));
  {
    const std::lock_guard order(submit_mutex_);
    result = PublishLocked(operation);
  }
  if (!result.ok()) Progress();  // the session has ended, and with it the operation
  operation->EndStaging();
}

void WorkerJob::SendFetched() {
  while (!fetching_.empty()) SendOldestFetched();
}

void WorkerJob::FailFetch(Operation& operation, Result result) {
  names_.Unpin(operation.name_ids());
  operation.GiveUpFetch();
  Completion failed;
  failed.request = operation.id();
  failed.result = std::move(result);
  operation.End(std::move(failed));
  operation.EndStaging();
}

// Without it, whoever waits delivers.
void WorkerJob::StartResultThread() {
  const std::lock_guard lock(pending_mutex_);
  if (!delivers_) delivers_ = result_thread_.Post([this] { DeliverResults(); });
}

// In the result thread, until the session has ended.
void WorkerJob::DeliverResults() {
  while (true) {
    const bool ended = session_->ended();
    const uint32_t seen = session_->completions().head();
    Progress();
    std::vector<std::shared_ptr<Operation>> results;
    {
      const std::lock_guard lock(pending_mutex_);
      results.swap(results_);
      if (ended) delivers_ = false;
    }
    for (const auto& operation : results) operation->Deliver();
    if (ended) return;
    if (results.empty()) session_->completions().Wait(seen, Time::max());
  }
}

MirrorCalls WorkerJob::MirrorCallsOf() {
  return {.start = [this](uint64_t request, Mirror* out) { return StartMirror(request, out); },
          .end = [this](uint64_t request, Block block) { EndMirror(request, std::move(block)); }};
}

// In the command thread.
Result WorkerJob::StartMirror(uint64_t request, Mirror* out) {
  std::shared_ptr<Operation> operation;
  {
    const std::lock_guard lock(pending_mutex_);
    const auto found = pending_.find(request);
    if (found == pending_.end()) return Invalid("no request " + std::to_string(request));
    operation = found->second;
    if (!operation->device_block()) {
      return Fail(REIGEN_FAILED_PRECONDITION,
                  "request " + std::to_string(request) + " is in host memory");
    }
    out->from = *operation->device_block();
  }
  REIGEN_SDK_RETURN_IF_ERROR(Allocate(out->from.bytes, &out->to));
  return operation->device_work().StartMirror(out->from, out->to, &out->end);
}

// In the command thread. It may have ended: with the session.
void WorkerJob::EndMirror(uint64_t request, Block block) {
  const std::lock_guard lock(pending_mutex_);
  const auto found = pending_.find(request);
  if (found == pending_.end() || !found->second->device_block()) return;
  found->second->Mirrored(std::move(block));
}

}  // namespace reigen::sdk
