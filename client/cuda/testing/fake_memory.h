// The memory of the fake's GPUs, and host memory that they reach. GPU memory is host
// memory that nobody may touch but the fake's own work, and of that only what was
// said before (Touch). Multiples of 2 MiB lie in memfds: other processes open them by
// handle, as over CUDA's IPC, and dma-bufs are duplicates of them; nothing is left when
// the process ends.
//
// Threads: the machine's lock is held.
// Errors:  CUDA's numbers; 0 is success.
#ifndef REIGEN_CLIENT_CUDA_TESTING_FAKE_MEMORY_H_
#define REIGEN_CLIENT_CUDA_TESTING_FAKE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>

namespace reigen::fake_cuda {

struct Range {
  uint64_t address = 0;
  uint64_t bytes = 0;
};

inline constexpr int kAnyDevice = -1;
inline constexpr size_t kHandleBytes = 64;

class Memory {
 public:
  int Allocate(size_t bytes, int device, uint64_t* address);
  int Free(uint64_t address);

  int ExportHandle(uint64_t address, unsigned char* handle) const;
  // For kernels of `device`.
  int Open(const unsigned char* handle, int device, uint64_t* address);
  int Close(uint64_t address);
  int ExportDmabuf(uint64_t address, size_t bytes, int* fd) const;

  int Register(void* memory, size_t bytes, bool maps);
  int Unregister(void* memory);
  bool Registered(const void* memory) const;
  size_t registered() const { return registered_.size(); }
  // Of memory that can be mapped twice it is another address, so that who mixes them up
  // is found.
  int HostAddress(void* memory, uint64_t* address);

  // Memory of a GPU, also of another process's.
  bool OnDevice(Range range) const;
  int DeviceOf(uint64_t address) const;  // requires OnDevice
  bool elsewhere(uint64_t address) const { return Find({.address = address, .bytes = 1})->elsewhere; }
  void PutElsewhere(uint64_t address) { entries_.at(address).elsewhere = true; }
  // Whether kernels of the device (or copies: kAnyDevice) get there.
  bool Reaches(int device, Range range) const;
  // Runs `work`, which touches these ranges. False: something that Reaches() denies.
  bool Touch(int device, std::span<const Range> ranges, const std::function<void()>& work);

 private:
  enum class Kind { kOwn, kOpened, kHost };
  struct Entry {
    Kind kind = Kind::kOwn;
    uint64_t bytes = 0;
    int device = 0;       // whose kernels get there; kHost: all do
    int fd = -1;          // kOwn: the memfd, if it has one
    uint64_t serial = 0;  // kOwn, kOpened: of the memfd
    int owner = 0;        // kOpened: the process
    int uses = 1;         // kOpened
    bool loses_writes = false;
    bool elsewhere = false;  // of a context that is not the primary one
  };
  struct Registration {
    size_t bytes = 0;
    bool maps = false;
    uint64_t address = 0;  // what HostAddress gave
  };

  const Entry* Find(Range range) const;
  void Run(std::span<const Range> ranges, const std::function<void()>& work) const;
  uint64_t AddMapped(int fd, Entry entry);

  std::map<uint64_t, Entry> entries_;
  std::map<uint64_t, Registration> registered_;
  uint64_t last_serial_ = 0;
};

}  // namespace reigen::fake_cuda

#endif  // REIGEN_CLIENT_CUDA_TESTING_FAKE_MEMORY_H_
