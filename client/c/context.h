// The process's place in a job, and its handles: the state behind the C
// interface, of which a process has one.
//
//   none --Init--> joining (a session that waits for the others) --> member --Shutdown--> none
//
// Threads: any. No lock is held while Init waits for the other ranks.
// Memory:  handles live until they are released, also over a shutdown.
#ifndef REIGEN_CLIENT_C_CONTEXT_H_
#define REIGEN_CLIENT_C_CONTEXT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "client/c/job.h"
#include "client/c/range_store.h"
#include "client/c/request.h"
#include "client/c/result.h"
#include "client/c/session.h"
#include "client/c/user_memory.h"
#include "client/cuda/devices.h"

namespace reigen::sdk {

class Context {
 public:
  // `driver_started` is called once CUDA's driver was started, if it is.
  explicit Context(std::function<void()> driver_started);
  Result Init();
  Result Shutdown();
  // Null: not initialised.
  std::shared_ptr<Job> job() const;

  // Names the request, has it made by `make(name, place, request)` and starts it.
  using Maker = std::function<Result(const std::string& name, const Place& place, Request* out)>;
  Result Start(CollectiveKind kind, const char* given_name, const Maker& make,
               reigen_handle* handle);
  Result Poll(reigen_handle handle, int32_t* done);
  // `deadline` Time::max(): none. Timeout, Interrupted: not ended.
  Result Wait(reigen_handle handle, Time deadline);
  // Until the result is in the outputs, also of CUDA tensors.
  Result WaitDelivered(reigen_handle handle, Time deadline);
  Result Release(reigen_handle handle);

  Result Allocate(size_t bytes, void** memory);
  void Free(void* memory);

 private:
  struct Handle {
    std::shared_ptr<Operation> operation;
    std::shared_ptr<Job> job;  // null once it was left and the operation had ended
  };

  Result Find(reigen_handle handle, Handle* out) const;
  Result WaitEnded(reigen_handle handle, Time deadline, Handle* out) const;
  // The session to wait for; null: a member already, or now of a local job.
  Result JoiningSession(std::shared_ptr<Session>* out);

  mutable std::mutex mutex_;  // of what follows; a leaf but for Session::Open
  std::shared_ptr<Session> joining_;
  std::shared_ptr<Job> job_;
  std::optional<uint64_t> cuda_arena_limit_;  // of the next job
  NamelessCounter nameless_;
  uint64_t last_handle_ = 0;
  std::unordered_map<reigen_handle, Handle> handles_;

  UserMemory user_memory_;
  const std::shared_ptr<RangeStore> ranges_ = std::make_shared<RangeStore>();
  cuda::Devices devices_;
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_CONTEXT_H_
