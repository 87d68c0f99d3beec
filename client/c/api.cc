// The C interface: catches what the standard library throws and keeps the text of
// failures; everything else is Context's.
#include <cstdlib>
#include <new>
#include <string>

#include "client/c/context.h"
#include "client/c/fork_guard.h"
#include "client/c/last_error.h"
#include "client/c/reigen.h"
#include "client/c/request.h"
#include "client/c/result.h"

namespace {

using namespace reigen::sdk;  // NOLINT: this file is the border to C

void ShutdownAtExit() { reigen_shutdown(); }

// What is registered last runs first: before CUDA's own end, too.
void LeaveAtExit() { static_cast<void>(std::atexit(ShutdownAtExit)); }

// Never destroyed: threads and atexit handlers may still call at the very end.
Context& TheContext() {
  static auto* const context = new Context(LeaveAtExit);
  return *context;
}

reigen_status Report(reigen_status code, const char* text) {
  SetLastError(text);
  return code;
}

template <typename Call>
reigen_status Guarded(Call call) {
  if (fork_guard::InForkedChild()) {
    return Report(REIGEN_FAILED_PRECONDITION,
                  "forked process: this is a child of a process that called init; "
                  "it cannot use the library");
  }
  try {
    const Result result = call(TheContext());
    return result.ok() ? REIGEN_OK : Report(result.code, result.text.c_str());
  } catch (const std::bad_alloc&) {
    return Report(REIGEN_RESOURCE_EXHAUSTED, "out of memory");
  } catch (...) {
    return Report(REIGEN_INTERNAL, "unexpected exception");
  }
}

template <typename Member>
int32_t FromPlace(Member member) {
  int32_t value = 0;
  const reigen_status status = Guarded([&](Context& context) {
    const auto job = context.job();
    if (job == nullptr) {
      return Fail(REIGEN_FAILED_PRECONDITION, "not initialised: init comes first");
    }
    value = job->place().*member;
    return Ok();
  });
  return status == REIGEN_OK ? value : -static_cast<int32_t>(status);
}

// Longer than a process lives is no limit; the comparison refuses NaN too.
reigen::Time DeadlineOf(double timeout_seconds) {
  constexpr double kNoLimitSeconds = 1e8;
  if (!(timeout_seconds >= 0 && timeout_seconds < kNoLimitSeconds)) return reigen::Time::max();
  return reigen::Now() + std::chrono::duration_cast<reigen::Duration>(
                             std::chrono::duration<double>(timeout_seconds));
}

}  // namespace

extern "C" {

reigen_status reigen_init(void) {
  return Guarded([](Context& context) {
    [[maybe_unused]] static const bool registered = (LeaveAtExit(), true);
    return context.Init();
  });
}

reigen_status reigen_shutdown(void) {
  return Guarded([](Context& context) { return context.Shutdown(); });
}

int32_t reigen_is_initialized(void) {
  bool initialized = false;
  const reigen_status status = Guarded([&](Context& context) {
    initialized = context.job() != nullptr;
    return Ok();
  });
  return status == REIGEN_OK && initialized ? 1 : 0;
}

int32_t reigen_rank(void) { return FromPlace(&Place::rank); }
int32_t reigen_size(void) { return FromPlace(&Place::size); }
int32_t reigen_local_rank(void) { return FromPlace(&Place::local_rank); }
int32_t reigen_local_size(void) { return FromPlace(&Place::local_size); }
int32_t reigen_cross_rank(void) { return FromPlace(&Place::cross_rank); }
int32_t reigen_cross_size(void) { return FromPlace(&Place::cross_size); }

const char* reigen_last_error(void) { return LastError(); }
const char* reigen_version(void) { return "0.1.0"; }

reigen_status reigen_allreduce_async(const char* name, const reigen_tensor* tensors, size_t count,
                                     const reigen_allreduce_options* options,
                                     reigen_handle* handle) {
  return Guarded([&](Context& context) {
    const TensorsArgument argument = {.name = name, .tensors = tensors, .count = count};
    return context.Start(
        reigen::CollectiveKind::kAllreduce, GivenName(argument),
        [&](const std::string& request_name, const Place&, Request* request) {
          return MakeAllreduce(argument, options, request_name, request);
        },
        handle);
  });
}

reigen_status reigen_broadcast_async(const char* name, const reigen_tensor* tensors, size_t count,
                                     const reigen_broadcast_options* options,
                                     reigen_handle* handle) {
  return Guarded([&](Context& context) {
    const TensorsArgument argument = {.name = name, .tensors = tensors, .count = count};
    return context.Start(
        reigen::CollectiveKind::kBroadcast, GivenName(argument),
        [&](const std::string& request_name, const Place& place, Request* request) {
          return MakeBroadcast(argument, options, request_name, place, request);
        },
        handle);
  });
}

reigen_status reigen_barrier_async(int32_t process_set, reigen_handle* handle) {
  return Guarded([&](Context& context) {
    return context.Start(
        reigen::CollectiveKind::kBarrier, nullptr,
        [&](const std::string& request_name, const Place&, Request* request) {
          return MakeBarrier(process_set, request_name, request);
        },
        handle);
  });
}

reigen_status reigen_poll(reigen_handle handle, int32_t* done) {
  return Guarded([&](Context& context) { return context.Poll(handle, done); });
}

reigen_status reigen_wait(reigen_handle handle, double timeout_seconds) {
  return Guarded([&](Context& context) {
    return context.Wait(handle, DeadlineOf(timeout_seconds));
  });
}

reigen_status reigen_wait_delivered(reigen_handle handle, double timeout_seconds) {
  return Guarded([&](Context& context) {
    return context.WaitDelivered(handle, DeadlineOf(timeout_seconds));
  });
}

reigen_status reigen_release(reigen_handle handle) {
  return Guarded([&](Context& context) { return context.Release(handle); });
}

void* reigen_alloc(size_t bytes) {
  void* memory = nullptr;
  const reigen_status status =
      Guarded([&](Context& context) { return context.Allocate(bytes, &memory); });
  return status == REIGEN_OK ? memory : nullptr;
}

// In a forked child this does nothing: the memory is the parent's.
void reigen_free(void* memory) {
  if (memory == nullptr) return;
  static_cast<void>(Guarded([&](Context& context) {
    context.Free(memory);
    return Ok();
  }));
}

}  // extern "C"
