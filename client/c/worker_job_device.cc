// CUDA tensors of a job with daemons: their way to the worker, and their mirrors.
#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "client/c/worker_job.h"

namespace reigen::sdk {
namespace {

// Operations whose CUDA tensors are on their way at once.
constexpr size_t kMaxFetching = 16;
// While streams come to their tensors.
constexpr Duration kBusyTime = std::chrono::microseconds(30);
constexpr Duration kLeastPause = std::chrono::microseconds(50);
constexpr Duration kMostPause = std::chrono::microseconds(200);
// After the trainer's shutdown: what they have not come to then fails.
constexpr Duration kStreamsLimit = seconds(300);
constexpr uintptr_t kPerThreadStream = 2;

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
  if (PostFetch(operation)) return Ok();
  names_.Unpin(operation->name_ids());
  return Fail(REIGEN_ABORTED, operation->request().name() + ": shut down, or no thread to be had");
}

bool WorkerJob::PostFetch(const std::shared_ptr<Operation>& operation) {
  const std::lock_guard lock(fetch_mutex_);
  if (!fetches_) fetches_ = device_thread_.Post([this] { Fetch(); });
  if (fetches_) to_fetch_.push_back(operation);
  return fetches_;
}

// In the device thread, which may wait for the worker. The copies of all that is ready by
// now are started before the first one is waited for, so that the device always has some to
// do. A stream that is not ready, since it waits for another rank say, holds up no other one:
// that rank may wait for the other's tensors.
void WorkerJob::Fetch() {
  Time busy_since = Now();
  std::optional<Time> leaves_since;
  while (TakeMarked()) {
    const bool started = StartReady();
    if (started || !fetching_.empty()) {
      if (!fetching_.empty()) SendOldestFetched();
      busy_since = Now();
      continue;
    }
    if (leaves_.load() && !leaves_since) leaves_since = Now();
    if (leaves_since && Now() - *leaves_since >= session_->Limit(kStreamsLimit)) FailMarked();
    const Duration idle = Now() - busy_since;
    if (idle < kBusyTime) continue;
    const Duration pause = std::clamp(idle / 16, kLeastPause, kMostPause);
    std::this_thread::sleep_for(pause);  // NOLINT: CUDA's own waits have no deadline
  }
}

// False: nothing is to be done, and whoever has something posts Fetch anew.
bool WorkerJob::TakeMarked() {
  const std::lock_guard lock(fetch_mutex_);
  marked_.insert(marked_.end(), to_fetch_.begin(), to_fetch_.end());
  to_fetch_.clear();
  fetches_ = !marked_.empty() || !fetching_.empty();
  return fetches_;
}

// Of one stream in the order of the calls. False: none was ready.
bool WorkerJob::StartReady() {
  std::set<std::pair<int, uintptr_t>> late;  // device and stream
  bool any = false;
  std::erase_if(marked_, [&](const std::shared_ptr<Operation>& operation) {
    const std::pair<int, uintptr_t> stream(operation->device_work().device()->ordinal(),
                                           operation->request().stream);
    bool ready = false;
    Result asked = session_->ended() ? session_->end_reason() : Ok();
    if (asked.ok() && fetching_.size() < kMaxFetching && !late.contains(stream)) {
      asked = operation->AskReady(&ready);
      // Of a thread's own default stream there are many with this handle.
      if (!ready && stream.second != kPerThreadStream) late.insert(stream);
    }
    const bool ends = !asked.ok();
    if (ends) {
      FailFetch(*operation, std::move(asked));
    } else if (ready) {
      StartFetch(operation);
    }
    any = any || ready || ends;
    return ready || ends;
  });
  return any;
}

// Nothing of them was started.
void WorkerJob::FailMarked() {
  for (const std::shared_ptr<Operation>& operation : marked_) {
    FailFetch(*operation, Fail(REIGEN_ABORTED, operation->request().name() +
                                                   ": shut down, and its stream has not come to it"));
  }
  marked_.clear();
}

// In the device thread.
void WorkerJob::StartFetch(const std::shared_ptr<Operation>& operation) {
  Result started = session_->ended() ? session_->end_reason() : Stage(*operation);
  if (started.ok()) started = operation->StartFetch();
  if (!started.ok()) return FailFetch(*operation, std::move(started));
  fetching_.push_back(operation);
}

// In the device thread, in the order in which they were started.
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
