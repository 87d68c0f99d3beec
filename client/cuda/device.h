// One GPU as the SDK uses it: copies between a trainer's tensors and host memory, on
// two streams of high priority of its own, ordered after and before the caller's streams
// by events.
//
// Threads: any; every call makes the device's primary context, which is the
//          frameworks' too, current for its own duration.
// Memory:  the caller's, until ToHost returned, or the event of ToDevice was waited for.
// Errors:  a sticky one (errors.h) is kept: from then on every call fails with its
//          text. Nothing but this process's GPU tensors is touched by it.
// Waits:   ToHost and Event::Wait have no limit but that of the caller's own kernels,
//          which they are ordered after.
#ifndef REIGEN_CLIENT_CUDA_DEVICE_H_
#define REIGEN_CLIENT_CUDA_DEVICE_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>

#include "client/c/layout.h"
#include "client/c/result.h"
#include "client/cuda/driver_api.h"

namespace reigen::sdk::cuda {

// A tensor's elements on the device, and its packed ones in host memory.
struct Copy {
  CuAddress device = 0;
  std::byte* host = nullptr;
  size_t bytes = 0;  // packed
  const Layout* layout = nullptr;
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

  // `api` outlives the device.
  static Result Open(const DriverApi* api, int ordinal, std::shared_ptr<Device>* out);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int ordinal() const { return ordinal_; }
  // What the stream has been given so far.
  Result Mark(CuStream stream, std::unique_ptr<Event>* out);
  // After `begin`: device -> host. Returns when the host memory has the elements.
  Result ToHost(const Event& begin, std::span<const Copy> copies);
  // host -> device; `stream` goes on after it. The host memory is read until `end`.
  Result ToDevice(std::span<const Copy> copies, CuStream stream, std::unique_ptr<Event>* end);
  // Host memory that copies run from and to at full speed, also of other devices.
  Result Pin(void* memory, size_t bytes);
  // A failure leaves it pinned until the process ends: nothing is to be done then.
  void Unpin(void* memory);

 private:
  class Current;  // makes the context current

  Device(const DriverApi* api, int ordinal) : api_(*api), ordinal_(ordinal) {}
  Result Start();
  Result Check(const char* call, CuResult code);
  Result NewEvent(std::unique_ptr<Event>* out);
  Result FetchOne(const Copy& copy);
  Result FetchStrided(const Copy& copy);
  Result SendStrided(const Copy& copy);
  Result lost() const;

  const DriverApi& api_;
  const int ordinal_;
  CuDevice device_ = 0;
  CuContext context_ = nullptr;  // retained
  CuStream fetching_ = nullptr;  // a copy to the device never waits behind one to come
  CuStream sending_ = nullptr;

  mutable std::mutex mutex_;  // of what follows
  Result lost_;               // the first sticky error
};

}  // namespace reigen::sdk::cuda

#endif  // REIGEN_CLIENT_CUDA_DEVICE_H_
