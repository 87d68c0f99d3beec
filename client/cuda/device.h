// One GPU as the SDK uses it: tensors to and from packed memory, of the host or of GPUs,
// on two streams of high priority of its own, which never wait for a caller's stream: that a
// tensor is ready is seen by an event before, and the caller's stream waits for the result
// by another; small and strided ones by the kernels of libreigen, where it has them and the
// device takes them. Commands of the worker's run on a third.
//
// Threads: any; every call makes the device's primary context, which is the
//          frameworks' too, current for its own duration.
// Memory:  the caller's, until the event that a call gives was waited for. On the
//          device a scratch range for each direction, and what Allocate gave.
// Errors:  a sticky one (errors.h) is kept: from then on every call fails with its
//          text, and host memory that the device may still touch is not used again.
//          Nothing but this process's GPU tensors is touched by it.
// Waits:   by asking again and again, for its own work up to the limit of the options:
//          then the device counts as lost, as after a sticky error. What a caller's stream
//          takes has no limit.
#ifndef REIGEN_CLIENT_CUDA_DEVICE_H_
#define REIGEN_CLIENT_CUDA_DEVICE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "client/c/result.h"
#include "client/cuda/command.h"
#include "client/cuda/driver_api.h"
#include "client/cuda/kernels.h"
#include "client/cuda/pack_plan.h"
#include "runtime/base/clock.h"
#include "runtime/base/unique_fd.h"

namespace reigen::sdk::cuda {

struct DeviceOptions {
  const DriverApi* api = nullptr;  // outlives the device
  // What Kernels::Load takes; empty: without kernels, for this reason.
  std::span<const std::byte> image;
  std::string no_image = "libreigen was built without nvcc";
  // Of work whose inputs are ready.
  Duration wait_limit = seconds(300);
  // Takes a line about the mode and each fallback, once.
  std::function<void(const std::string& line)> report = [](const std::string&) {};
};

struct DeviceFacts {
  int capability_major = 0;
  int writes_ordering = 0;   // CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING
  bool allows_rdma = false;  // GPUDirect RDMA
  bool exports_dmabuf = false;
  std::string bus_id;  // "0000:3b:00.0"
  uint64_t total_bytes = 0;
};

class DeviceRange;

class Device : public std::enable_shared_from_this<Device> {
 public:
  // A point in the work of a stream.
  class Event {
   public:
    // `limited`: nothing of the caller's comes before, so that it counts as lost when it
    // does not end.
    Event(std::shared_ptr<Device> device, CuEvent event, bool limited)
        : device_(std::move(device)), event_(event), limited_(limited) {}
    ~Event();
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    CuEvent get() const { return event_; }
    // Blocks the calling thread until the work before it is done.
    Result Wait() const;
    Result WaitUntil(Time deadline, bool* done) const;
    // Whether it is, without a wait. `begin`: since when that is asked, for the limit.
    Result Ask(Time begin, bool* done) const;

   private:
    Result AskInContext(Time begin, bool* done) const;

    const std::shared_ptr<Device> device_;
    const CuEvent event_;
    const bool limited_;
  };

  static Result Open(const DeviceOptions& options, int ordinal, std::shared_ptr<Device>* out);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int ordinal() const { return ordinal_; }
  const DeviceOptions& options() const { return options_; }
  const DeviceFacts& facts() const { return facts_; }
  // InvalidArgument: this memory is of another context than the device's primary one. Of
  // some memory, such as a pool's, that is not known.
  Result CheckContext(CuAddress memory);
  // What the stream has been given so far. FailedPrecondition: it captures a graph.
  Result Mark(CuStream stream, std::unique_ptr<Event>* out);
  // device -> host, of tensors that are ready. The host memory has the elements at `end`.
  Result StartToHost(std::span<const Copy> copies, bool pinned, std::unique_ptr<Event>* end);
  // host -> device. The host memory is read until `end`.
  Result ToDevice(std::span<const Copy> copies, std::unique_ptr<Event>* end);
  // `stream` goes on after it. FailedPrecondition: it captures a graph.
  Result Follow(CuStream stream, const Event& event);
  // Host memory that copies run from and to at full speed, also of other devices. False:
  // it goes on without, and that was reported.
  bool Pin(void* memory, size_t bytes);
  // A failure leaves it pinned until the process ends: nothing is to be done then.
  void Unpin(void* memory);
  // Keeps memory of a failed operation if the device is lost: it may still touch it.
  void KeepIfTouched(std::shared_ptr<void> memory);

  // Memory of the GPU, `bytes` rounded up to a multiple of 2 MiB: an allocation of its own,
  // so that a handle is of it alone. ResourceExhausted: the GPU has no more.
  Result Allocate(size_t bytes, std::unique_ptr<DeviceRange>* out);
  // For OpenIpc in another process.
  Result ExportIpc(const DeviceRange& range, std::array<uint8_t, kCuIpcHandleBytes>* handle);
  // Memory of another process, on this GPU or one that this one reaches. To be closed
  // before its owner frees it.
  Result OpenIpc(const std::array<uint8_t, kCuIpcHandleBytes>& handle, CuAddress* out);
  void CloseIpc(CuAddress address);
  // By a kernel, as commands do, some bytes: at most kMaxPeekBytes at a multiple of 16.
  // Waits for it. Requires has_kernels().
  static constexpr size_t kMaxPeekBytes = 256;
  Result Peek(CuAddress from, std::span<std::byte> to);
  Result Poke(CuAddress to, std::span<const std::byte> from);
  // For RDMA devices, which from then on may touch it. Unavailable, with CUDA's words: it
  // cannot be had.
  Result ExportDmabuf(const DeviceRange& range, UniqueFd* out);
  // Host memory, page-locked, for kernels and copies. Until UnmapHost.
  Result MapHost(void* memory, size_t bytes, CuAddress* out);
  void UnmapHost(void* memory) { Unpin(memory); }

  // Tensors that are ready -> packed, on GPUs alone.
  Result StartPack(std::span<const DevicePack> packs, std::unique_ptr<Event>* end);
  // Packed -> tensors.
  Result StartUnpack(std::span<const DevicePack> packs, std::unique_ptr<Event>* end);
  // Commands and mirrors run one after the other. A failure: none of its work goes on.
  Result StartCommand(const Command& command, std::unique_ptr<Event>* end);
  // Memory of the GPU -> the host's. Unless that was pinned this waits until it is done.
  Result StartMirror(CuAddress from, void* to, size_t bytes, bool pinned,
                     std::unique_ptr<Event>* end);

  bool has_kernels() const { return kernels_ != nullptr; }
  // On the caller's stream, in one launch for 16 items. Requires has_kernels(). `batch` is
  // the form of all, its items aside.
  Result Reduce(DataType dtype, const ReduceBatch& batch, std::span<const ReduceItem> items,
                CuStream stream);

 private:
  friend class DeviceRange;
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
  void FindFacts();
  int Attribute(int attribute);
  Result AllocateAligned(size_t bytes, CuAddress* address);
  Result Check(const char* call, CuResult code);
  Result Check(const Failed& failed) { return Check(failed.call, failed.code); }
  // Of what a device does not refuse: queries, launches, copies, the push of the context.
  // Unknown is what one gives that is off the bus; others give it for what they cannot do.
  Result CheckWork(const char* call, CuResult code);
  Result CheckWork(const Failed& failed) { return CheckWork(failed.call, failed.code); }
  Result Lose(Result why);
  Result Record(CuStream stream, bool limited, std::unique_ptr<Event>* out);
  Result Await(const char* call, const std::function<CuResult()>& query);
  Result CheckLimit(Time begin);
  Result CheckCapture(CuStream stream);
  Result Drain(const Lane& lane);
  size_t scratch_bytes() const;
  Result Fetch(const Lane& lane, const PackPlan& plan);
  Result Send(const Lane& lane, const PackPlan& plan);
  Result Launch(const Lane& lane, const PackRound& round);
  Result CopyAll(const Lane& lane, const DevicePackPlan& plan, bool to_tensors);
  Result PackOnHost(const Lane& lane, const DevicePack& pack);
  Result UnpackOnHost(const Lane& lane, const DevicePack& pack);
  PackBatch PeekBatch(CuAddress memory, size_t bytes, bool to_memory) const;
  Result RunCommand(const Lane& lane, const CommandPlan& plan);
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
  Lane commands_;  // scratch for Peek and Poke alone
  DeviceFacts facts_;
  std::unique_ptr<Kernels> kernels_;  // null: tensors are copied one by one

  mutable std::mutex mutex_;  // of what follows
  Result lost_;               // the first sticky error
  bool pin_failed_ = false;
  std::vector<std::shared_ptr<void>> kept_;
};

// The SDK's own memory on a GPU. Freed at the end, unless the device is lost: what it may
// still touch is kept.
class DeviceRange {
 public:
  DeviceRange(std::shared_ptr<Device> device, CuAddress address, size_t bytes)
      : device_(std::move(device)), address_(address), bytes_(bytes) {}
  ~DeviceRange();
  DeviceRange(const DeviceRange&) = delete;
  DeviceRange& operator=(const DeviceRange&) = delete;
  CuAddress address() const { return address_; }
  size_t bytes() const { return bytes_; }

 private:
  const std::shared_ptr<Device> device_;
  const CuAddress address_;
  const size_t bytes_;
};

}  // namespace reigen::sdk::cuda

#endif  // REIGEN_CLIENT_CUDA_DEVICE_H_
