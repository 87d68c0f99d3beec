// A job with daemons, through the session with this host's worker.
//
// Locks:   submit_mutex_ before pending_mutex_ before the leaves (names, arena).
//          Neither is held while a caller's tensor is copied; submit_mutex_ is
//          held while the submission queue is full.
// Waits:   see Session, SubmissionQueue, CompletionQueue.
#ifndef REIGEN_CLIENT_C_WORKER_JOB_H_
#define REIGEN_CLIENT_C_WORKER_JOB_H_

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "client/c/command_thread.h"
#include "client/c/device_arenas.h"
#include "client/c/job.h"
#include "client/c/name_table.h"
#include "client/c/session.h"
#include "client/c/task_thread.h"
#include "client/c/user_memory.h"
#include "client/cuda/devices.h"

namespace reigen::sdk {

class WorkerJob : public Job {
 public:
  // `session` has begun. `user_memory` and `devices` outlive the job.
  WorkerJob(std::shared_ptr<Session> session, const UserMemory* user_memory,
            cuda::Devices* devices, DeviceArenaOptions device_arenas);
  ~WorkerJob() override;

  Place place() const override { return place_; }
  Result Submit(const std::shared_ptr<Operation>& operation) override;
  void Progress() override;
  Sleep Wait(Operation& operation, Time deadline) override;
  Result Allocate(uint64_t bytes, Block* out) override;
  void Leave() override;

 private:
  Result Stage(Operation& operation);
  bool StageWithoutBlock(const Operation& operation, const RequestTensor& tensor,
                         Payload* payload) const;
  Result PutIntoBlock(Operation& operation, std::span<const size_t> payloads,
                      uint64_t bytes);
  Result SubmitDevice(const std::shared_ptr<Operation>& operation);
  bool PostFetch(const std::shared_ptr<Operation>& operation);
  void Fetch();
  bool Advance();
  bool TakeMarked();
  void StageMarked();
  RoomLook LookWhileFull();
  bool AnyReady();
  bool StartReady();
  void FailMarked();
  void StartFetch(const std::shared_ptr<Operation>& operation);
  void SendOldestFetched();
  void FailFetch(Operation& operation, Result result);
  void StartResultThread();
  void DeliverResults();
  MirrorCalls MirrorCallsOf();
  Result StartMirror(uint64_t request, Mirror* out);
  void EndMirror(uint64_t request, Block block);
  Result TakeNamesLocked(Operation& operation);
  Result PublishLocked(const std::shared_ptr<Operation>& operation);
  void TakeCompletionsLocked();
  void EndLocked(uint64_t id, Completion completion);

  const std::shared_ptr<Session> session_;
  const UserMemory* const user_memory_;
  const Place place_;
  NameTable names_;
  cuda::Devices* const devices_;
  CommandThread command_thread_;
  DeviceArenas device_arenas_;  // of the device thread
  // Fetches CUDA tensors and then sends their requests.
  TaskThread device_thread_;
  std::mutex fetch_mutex_;  // of what follows; a leaf but for the thread's own
  std::vector<std::shared_ptr<Operation>> to_fetch_;  // for it
  bool fetches_ = false;                              // it looks there
  std::condition_variable fetch_changed_;
  // Of the device thread: those without a place, those whose streams are to come to them,
  // both in the order of the calls, and those on their way.
  std::deque<std::shared_ptr<Operation>> to_stage_;
  std::vector<std::shared_ptr<Operation>> marked_;
  std::deque<std::shared_ptr<Operation>> fetching_;
  std::atomic<bool> leaves_{false};
  // Starts to bring results of CUDA tensors back as soon as they are there, whether anybody
  // waits for them or not: their memory is free again then.
  TaskThread result_thread_{"reigen-result"};
  // Waits until the device has read results.
  const std::shared_ptr<TaskThread> release_thread_ = std::make_shared<TaskThread>();

  std::mutex submit_mutex_;  // order of names and requests in the queue
  std::mutex pending_mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<Operation>> pending_;  // by id
  std::vector<Completion> taken_;                                     // kept for its memory
  bool delivers_ = false;                            // the result thread does
  std::vector<std::shared_ptr<Operation>> results_;  // for it: of CUDA tensors that ended
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_WORKER_JOB_H_
