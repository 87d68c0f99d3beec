// One GPU as the SDK uses it: tensors to and from host memory, on two streams of high
// priority of its own, ordered after and before the caller's streams by events; small and
// strided ones by the kernels of libreigen, where it has them and the device takes them.
//
// Threads: any; every call makes the device's primary context, which is the
//          frameworks' too, current for its own duration.
// Memory:  the caller's, until the event of StartToHost or ToDevice was waited for. On the
//          device a scratch range for each direction.
// Errors:  a sticky one (errors.h) is kept: from then on every call fails with its
//          text. Nothing but this process's GPU tensors is touched by it.
// Waits:   by asking again and again, up to the limit of the options: then the device
//          counts as lost, and host memory that it may still touch is not used again.
#ifndef REIGEN_CLIENT_CUDA_DEVICE_H_
#define REIGEN_CLIENT_CUDA_DEVICE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "client/c/result.h"
#include "client/cuda/driver_api.h"
#include "client/cuda/kernels.h"
#include "client/cuda/pack_plan.h"
#include "runtime/base/clock.h"

namespace reigen::sdk::cuda {

struct DeviceOptions {
  const DriverApi* api = nullptr;  // outlives the device
  // What Kernels::Load takes; empty: without kernels, for this reason.
  std::span<const std::byte> image;
  std::string no_image = "libreigen was built without nvcc";
  // Kernels of the caller's may come before what is waited for.
  Duration wait_limit = seconds(300);
  // Takes a line about the mode and each fallback, once.
  std::function<void(const std::string& line)> report = [](const std::string&) {};
};

class Device : public std::enable_shared_from_this<Device> {
 public:
  // A point in the work of a stream.
  class Event {
   public:
    Event(std::shared_ptr<Device> device, CuEvent event)
        : device_(std::move(device)), event_(event) {}
    ~Event();
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    CuEvent get() const { return event_; }
    // Blocks the calling thread until the work before it is done.
    Result Wait() const;

   private:
    const std::shared_ptr<Device> device_;
    const CuEvent event_;
  };

  static Result Open(const DeviceOptions& options, int ordinal, std::shared_ptr<Device>* out);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int ordinal() const { return ordinal_; }
  // What the stream has been given so far.
  Result Mark(CuStream stream, std::unique_ptr<Event>* out);
  // After `begin`: device -> host. The host memory has the elements at `end`. Unless it
  // was pinned this waits for `begin`.
  Result StartToHost(const Event& begin, std::span<const Copy> copies, bool pinned,
                     std::unique_ptr<Event>* end);
  // host -> device; `stream` goes on after it. The host memory is read until `end`.
  Result ToDevice(std::span<const Copy> copies, CuStream stream, std::unique_ptr<Event>* end);
  // Host memory that copies run from and to at full speed, also of other devices. False:
  // it goes on without, and that was reported.
  bool Pin(void* memory, size_t bytes);
  // A failure leaves it pinned until the process ends: nothing is to be done then.
  void Unpin(void* memory);
  // Keeps memory of a failed operation if the device may still touch it.
  void KeepIfTouched(std::shared_ptr<void> memory);

  bool has_kernels() const { return kernels_ != nullptr; }
  // After `begin`, in one launch for 16 items; `stream` goes on after it. Requires
  // has_kernels(). `batch` is the form of all, its items aside.
  Result Reduce(const Event& begin, DataType dtype, const ReduceBatch& batch,
                std::span<const ReduceItem> items, CuStream stream);

 private:
  class Current;  // makes the context current

  // A stream, and what its work packs into: launches and copies of it go together.
  struct Lane {
    std::mutex mutex;
    CuStream stream = nullptr;
    CuAddress scratch = 0;
  };

  Device(const DeviceOptions& options, int ordinal)
      : options_(options), api_(*options.api), ordinal_(ordinal) {}
  Result Start();
  std::string StartKernels();
  Result Check(const char* call, CuResult code);
  Result Check(const Failed& failed) { return Check(failed.call, failed.code); }
  Result NewEvent(std::unique_ptr<Event>* out);
  Result Record(CuStream stream, std::unique_ptr<Event>* out);
  Result RecordEnd(const Lane& lane, CuStream stream, std::unique_ptr<Event>* end);
  Result Await(const char* call, const std::function<CuResult()>& query);
  Result Drain(const Lane& lane);
  size_t scratch_bytes() const;
  Result Fetch(const Lane& lane, const PackPlan& plan);
  Result Send(const Lane& lane, const PackPlan& plan);
  Result Launch(const Lane& lane, const PackRound& round);
  Result FetchOnHost(const Lane& lane, const Copy& copy);
  Result SendOnHost(const Lane& lane, const Copy& copy);
  Result lost() const;

  const DeviceOptions options_;
  const DriverApi& api_;
  const int ordinal_;
  CuDevice device_ = 0;
  CuContext context_ = nullptr;  // retained
  Lane fetching_;  // a copy to the device never waits behind one to come
  Lane sending_;
  std::unique_ptr<Kernels> kernels_;  // null: tensors are copied one by one

  mutable std::mutex mutex_;  // of what follows
  Result lost_;               // the first sticky error
  bool touches_ = false;      // lost while it was at work
  bool pin_failed_ = false;
  std::vector<std::shared_ptr<void>> kept_;
};

}  // namespace reigen::sdk::cuda

#endif  // REIGEN_CLIENT_CUDA_DEVICE_H_
