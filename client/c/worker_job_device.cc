// CUDA tensors of a job with daemons: their way to the worker, and their mirrors.
#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string>
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
// Where only another rank, or the end of the session, brings room.
constexpr Duration kLongPause = milliseconds(100);

std::pair<int, uintptr_t> StreamOf(const Operation& operation) {
  return {operation.device_work().device()->ordinal(), operation.request().stream};
}

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
  fetch_changed_.notify_one();
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
    StageMarked();
    if (Advance()) {
      busy_since = Now();
      continue;
    }
    if (leaves_.load() && !leaves_since) leaves_since = Now();
    if (leaves_since && Now() - *leaves_since >= session_->Limit(kStreamsLimit)) FailMarked();
    const Duration idle = Now() - busy_since;
    if (idle < kBusyTime) continue;
    const Duration pause = std::clamp(idle / 16, kLeastPause, kMostPause);
    std::unique_lock lock(fetch_mutex_);
    fetch_changed_.wait_for(lock, pause, [this] { return !to_fetch_.empty(); });
  }
}

// False: nothing was to be done.
bool WorkerJob::Advance() {
  const bool started = StartReady();
  if (!started && fetching_.empty()) return false;
  SendOldestFetched();
  return true;
}

// False: nothing is to be done, and whoever has something posts Fetch anew.
bool WorkerJob::TakeMarked() {
  const std::lock_guard lock(fetch_mutex_);
  to_stage_.insert(to_stage_.end(), to_fetch_.begin(), to_fetch_.end());
  to_fetch_.clear();
  fetches_ = !to_stage_.empty() || !marked_.empty() || !fetching_.empty();
  return fetches_;
}

// In the order of the calls, whichever stream is ready first: so that all ranks put the same
// ones into their arenas, and none waits for room that another one's has taken.
void WorkerJob::StageMarked() {
  while (!to_stage_.empty()) {
    const std::shared_ptr<Operation> operation = to_stage_.front();
    Result staged = session_->ended() ? session_->end_reason() : Stage(*operation);
    to_stage_.pop_front();
    if (staged.ok()) {
      marked_.push_back(operation);
    } else {
      FailFetch(*operation, std::move(staged));
    }
  }
}

// While one that is to be staged waits for room. It has none to wait for in vain until one of
// these could go on.
RoomLook WorkerJob::LookWhileFull() {
  TakeMarked();
  if (Advance()) return {.wants = AnyReady(), .pause = Duration::zero()};
  const bool wants = AnyReady();
  return {.wants = wants, .pause = wants && marked_.empty() ? kLongPause : kMostPause};
}

// Of those to be staged.
bool WorkerJob::AnyReady() {
  std::set<std::pair<int, uintptr_t>> late;
  return std::any_of(to_stage_.begin(), to_stage_.end(), [&](const auto& operation) {
    bool ready = false;
    if (late.contains(StreamOf(*operation))) return false;
    const bool asked = operation->AskReady(&ready).ok();
    if (!ready && operation->request().stream != kPerThreadStream) late.insert(StreamOf(*operation));
    return ready || !asked;
  });
}

// Of one stream in the order of the calls. False: none was ready.
bool WorkerJob::StartReady() {
  std::set<std::pair<int, uintptr_t>> late;  // device and stream
  bool any = false;
  std::erase_if(marked_, [&](const std::shared_ptr<Operation>& operation) {
    const std::pair<int, uintptr_t> stream = StreamOf(*operation);
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
  Result started = operation->StartFetch();
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
