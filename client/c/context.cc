#include "client/c/context.h"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "client/c/environment.h"
#include "client/c/fork_guard.h"
#include "client/c/local_job.h"
#include "client/c/worker_job.h"
#include "client/cuda/kernel_image.h"
#include "runtime/base/clock.h"

namespace reigen::sdk {
namespace {

// A kernel of the trainer's that takes this long has not made progress for as long.
constexpr auto kDeviceWait = seconds(300);

// Where frameworks put their warnings too: the library has no log.
void ReportToStderr(const std::string& line) { std::fprintf(stderr, "reigen: %s\n", line.c_str()); }

cuda::DeviceOptions GpuOptions() {
  cuda::DeviceOptions options;
  options.image = cuda::KernelImage();
  options.report = ReportToStderr;
  return options;
}

}  // namespace

Context::Context(std::function<void()> driver_started)
    : devices_(GpuOptions(), std::move(driver_started)) {}

Result Context::JoiningSession(std::shared_ptr<Session>* out) {
  const std::lock_guard lock(mutex_);
  if (job_ != nullptr) return Ok();
  if (joining_ == nullptr) {
    SessionOptions options;
    REIGEN_SDK_RETURN_IF_ERROR(ReadEnvironment(&options));
    REIGEN_SDK_RETURN_IF_ERROR(ReadCudaArenaLimit(&cuda_arena_limit_));
    bool kernels_off = false;
    REIGEN_SDK_RETURN_IF_ERROR(ReadCudaKernelsOff(&kernels_off));
    devices_.Configure(
        std::chrono::duration_cast<Duration>(kDeviceWait * options.timeout_scale),
        kernels_off ? "REIGEN_CUDA_KERNELS is off" : "");
    fork_guard::Arm();
    if (options.socket_path.empty()) {
      job_ = std::make_shared<LocalJob>(&devices_);
      nameless_ = NamelessCounter();
      return Ok();
    }
    REIGEN_SDK_RETURN_IF_ERROR(Session::Open(options, &joining_));
  }
  *out = joining_;
  return Ok();
}

Result Context::Init() {
  std::shared_ptr<Session> session;
  REIGEN_SDK_RETURN_IF_ERROR(JoiningSession(&session));
  if (session == nullptr) return Ok();
  Result begun = session->WaitBegun();
  if (begun.code == REIGEN_INTERRUPTED) return begun;
  std::vector<RangeStore::Kept> surplus;  // freed without the lock
  const std::lock_guard lock(mutex_);
  if (joining_ == session) {
    joining_.reset();
    if (begun.ok()) {
      surplus = ranges_->TakeSurplus(cuda_arena_limit_.value_or(UINT64_MAX));
      job_ = std::make_shared<WorkerJob>(
          std::move(session), &user_memory_, &devices_,
          DeviceArenaOptions{
              .store = ranges_, .limit_bytes = cuda_arena_limit_, .report = ReportToStderr});
      nameless_ = NamelessCounter();
    }
  } else if (begun.ok() && job_ == nullptr) {
    return Fail(REIGEN_ABORTED, "shut down: shutdown came during init");
  }
  return begun;
}

Result Context::Shutdown() {
  std::shared_ptr<Session> joining;
  std::shared_ptr<Job> job;
  {
    const std::lock_guard lock(mutex_);
    joining.swap(joining_);
    job.swap(job_);
  }
  if (joining != nullptr) joining->Leave();
  if (job == nullptr) return Ok();
  job->Leave();
  // Handles that nobody gives up shall not keep the session's memory.
  const std::lock_guard lock(mutex_);
  for (auto& [id, handle] : handles_) {
    if (handle.job == job && handle.operation->ended()) handle.job.reset();
  }
  return Ok();
}

std::shared_ptr<Job> Context::job() const {
  const std::lock_guard lock(mutex_);
  return job_;
}

Result Context::Start(CollectiveKind kind, const char* given_name, const Maker& make,
                      reigen_handle* handle) {
  if (handle == nullptr) return Invalid("no place for the handle");
  std::shared_ptr<Job> job;
  std::string name;
  uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    job = job_;
    if (job != nullptr) {
      name = RequestName(kind, given_name, nameless_);
      id = ++last_handle_;
    }
  }
  if (job == nullptr) return Fail(REIGEN_FAILED_PRECONDITION, "not initialised: init comes first");
  Request request;
  REIGEN_SDK_RETURN_IF_ERROR(make(name, job->place(), &request));
  auto operation = std::make_shared<Operation>(id, std::move(request));
  {
    const std::lock_guard lock(mutex_);
    handles_.emplace(id, Handle{.operation = operation, .job = job});
  }
  Result submitted = job->Submit(operation);
  if (submitted.ok()) {
    *handle = id;
    return Ok();
  }
  const std::lock_guard lock(mutex_);
  handles_.erase(id);
  return submitted;
}

Result Context::Find(reigen_handle handle, Handle* out) const {
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find(handle);
  if (found == handles_.end()) return Invalid("unknown handle " + std::to_string(handle));
  *out = found->second;
  return Ok();
}

Result Context::Poll(reigen_handle handle, int32_t* done) {
  if (done == nullptr) return Invalid("no place for the answer");
  Handle found;
  REIGEN_SDK_RETURN_IF_ERROR(Find(handle, &found));
  if (!found.operation->ended()) found.job->Progress();
  *done = 0;
  if (!found.operation->ended()) return Ok();
  // How it ended a wait tells.
  *done = found.operation->Finish(Now()).code != REIGEN_TIMEOUT ? 1 : 0;
  return Ok();
}

Result Context::WaitEnded(reigen_handle handle, Time deadline, Handle* out) const {
  REIGEN_SDK_RETURN_IF_ERROR(Find(handle, out));
  Operation& operation = *out->operation;
  if (operation.ended()) return Ok();
  switch (out->job->Wait(operation, deadline)) {
    case Sleep::kTimeout:
      return Fail(REIGEN_TIMEOUT, operation.request().name() + ": not done yet");
    case Sleep::kInterrupted:
      return Fail(REIGEN_INTERRUPTED, operation.request().name() + ": interrupted by a signal");
    default: return Ok();
  }
}

Result Context::Wait(reigen_handle handle, Time deadline) {
  Handle found;
  REIGEN_SDK_RETURN_IF_ERROR(WaitEnded(handle, deadline, &found));
  return found.operation->Finish(deadline);
}

Result Context::WaitDelivered(reigen_handle handle, Time deadline) {
  Handle found;
  REIGEN_SDK_RETURN_IF_ERROR(WaitEnded(handle, deadline, &found));
  return found.operation->WaitDelivered(deadline);
}

Result Context::Release(reigen_handle handle) {
  Handle found;
  {
    const std::lock_guard lock(mutex_);
    const auto entry = handles_.find(handle);
    if (entry == handles_.end()) return Invalid("unknown handle " + std::to_string(handle));
    found = std::move(entry->second);
    handles_.erase(entry);
  }
  while (!found.operation->ended()) found.job->Wait(*found.operation, Time::max());
  found.operation->GiveUp();
  return Ok();
}

Result Context::Allocate(size_t bytes, void** memory) {
  const std::shared_ptr<Job> current = job();
  if (current == nullptr) {
    return Fail(REIGEN_FAILED_PRECONDITION, "not initialised: init comes first");
  }
  Block block;
  REIGEN_SDK_RETURN_IF_ERROR(current->Allocate(bytes, &block));
  *memory = user_memory_.Add(std::move(block));
  return Ok();
}

void Context::Free(void* memory) { user_memory_.Remove(memory); }

}  // namespace reigen::sdk
