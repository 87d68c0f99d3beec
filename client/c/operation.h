// One started operation: from enqueue until its result is in the caller's memory.
//
// CUDA tensors are fetched by the device thread first: until then it is in staging. If
// that put them into a device arena, the worker may have them mirrored in host memory.
//
//   kPending --End--> kEnded --Deliver, Finish--> kFinishing --> kDone
//                           \--GiveUp-----------------------------^
//
// Threads: End once, by the job under its lock; the rest from any. The first to deliver
//          copies the result out, others wait for it. Results of CUDA tensors are
//          delivered before anybody asks; the caller's stream waits for that in Finish.
// Memory:  the payload is in the request record (small), in the caller's own
//          shared memory, or in a block (of host memory, or of a device arena) that
//          is given back when done.
#ifndef REIGEN_CLIENT_C_OPERATION_H_
#define REIGEN_CLIENT_C_OPERATION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "client/c/arena.h"
#include "client/c/completion_queue.h"
#include "client/c/device_work.h"
#include "client/c/futex.h"
#include "client/c/request.h"
#include "client/c/result.h"

namespace reigen::sdk {

class Operation {
 public:
  Operation(uint64_t id, Request request) : id_(id), request_(std::move(request)) {}

  uint64_t id() const { return id_; }
  const Request& request() const { return request_; }

  // Before it is published: by the thread that enqueues.
  std::vector<Payload>& payloads() { return payloads_; }
  // These payloads are in a block: as far from its begin as their offsets say.
  void PutOnHost(std::span<const size_t> payloads, Block block);
  void PutOnDevice(std::span<const size_t> payloads, DeviceBlock block);
  std::vector<uint32_t>& name_ids() { return name_ids_; }
  // Its tensors are on a GPU: from now on in staging.
  void StartStaging(std::unique_ptr<DeviceWork> work);
  // Of an operation that was in staging.
  DeviceWork& device_work() const { return *device_work_; }
  // By the device thread. Once they are ready, inputs are fetched to where the payloads say.
  Result AskReady(bool* ready) { return device_work_->AskReady(request_, ready); }
  Result StartFetch() { return device_work_->StartFetch(request_, payloads_); }
  Result EndFetch() { return device_work_->EndFetch(request_); }
  // After a failure of these: nothing will use the payloads.
  void GiveUpFetch() { device_work_->KeepIfTouched(std::move(block_)); }
  void EndStaging();
  // Of one that has not ended, by the job under its lock. nullopt: in host memory.
  const std::optional<DeviceBlock>& device_block() const { return block_.device; }
  // The payloads have been copied to `block`.
  void Mirrored(Block block);
  // Until it is not in staging.
  Sleep WaitStaged(Time deadline);

  bool ended() const { return state_.load() != kPending; }
  void End(Completion completion);
  // Instead: `work` has put the result where it belongs, after the caller's work.
  void EndOnDevice(std::unique_ptr<DeviceWork> work);
  // Requires ended(), as do the next three. Copies the result out, once; on a GPU it starts
  // to.
  void Deliver();
  // Delivered, and the caller, or its stream, sees it. Timeout: not yet.
  Result Finish(Time deadline);
  // Delivered, and in the outputs, whoever looks. Uses no stream of the caller's.
  Result WaitDelivered(Time deadline);
  // It is not delivered any more; what was begun is done.
  void GiveUp();

 private:
  enum State : uint32_t { kPending, kEnded, kFinishing, kDone };

  void CopyOut();
  void EndDelivery();
  bool done() const { return state_.load() == kDone; }

  const uint64_t id_;
  const Request request_;
  std::vector<Payload> payloads_;  // one per tensor
  PayloadBlock block_;
  std::vector<uint32_t> name_ids_;  // in use until the end, as request().names
  std::unique_ptr<DeviceWork> device_work_;  // null: host memory
  std::atomic<uint32_t> staging_{0};
  Completion completion_;
  std::atomic<uint32_t> state_{kPending};
  std::atomic<bool> joined_{false};  // the caller, or its stream, waited for the delivery
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_OPERATION_H_
