// The state of the fake CUDA: memory of GPUs that is host memory nobody may touch
// from outside, nor one GPU's kernels that of another, and streams whose work is done as
// late as possible: when somebody waits for it. So a wait that was left out is a wrong
// result, every time.
//
// Threads: any; one lock around every call.
#ifndef REIGEN_CLIENT_CUDA_TESTING_FAKE_MACHINE_H_
#define REIGEN_CLIENT_CUDA_TESTING_FAKE_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace reigen::fake_cuda {

struct Stream {
  int device = 0;
  std::vector<std::function<void()>> work;
  size_t done = 0;
};

struct Event {
  int device = 0;
  Stream* stream = nullptr;  // null: not recorded
  size_t position = 0;
};

inline constexpr int kMaxDevices = 8;
// The devices whose contexts this thread has pushed.
extern thread_local std::vector<int> contexts;

class Machine {
 public:
  static Machine& Get();

  std::recursive_mutex& mutex() { return mutex_; }
  // The result of a call that would succeed.
  int Enter(const char* symbol, bool needs_context);
  // From the call after `skip` more on. From 700 on errors are sticky.
  void FailOnce(const char* symbol, int code, int skip);
  void Hang() { hangs_ = true; }
  void Mend();
  int calls(const std::string& symbol) const;

  // Those that nobody destroys are the machine's, as a real driver's are.
  std::map<void*, std::unique_ptr<Stream>>& streams() { return streams_; }
  std::map<void*, std::unique_ptr<Event>>& events() { return events_; }
  Stream* StreamOf(void* handle);  // the default one is the current device's
  void Push(Stream* stream, std::function<void()> work);
  void RunTo(Stream* stream, size_t position);
  // What asking about an event or stream gives: at first that it is not ready.
  int Query(void* handle, Stream* stream, size_t position);

  void* Allocate(size_t bytes);
  bool Free(void* memory);
  int Register(void* memory, size_t bytes);
  int Unregister(void* memory);
  bool Registered(const void* memory) const;
  size_t registered() const { return registered_.size(); }
  bool OnDevice(uint64_t address, size_t bytes) const;
  int DeviceOf(uint64_t address) const;  // requires OnDevice
  // Memory of the device may be touched while it runs; -1: of every one.
  void Touch(int device, const std::function<void()>& work);

 private:
  std::recursive_mutex mutex_;
  std::string fail_symbol_;
  int fail_code_ = 0;
  int fail_skip_ = 0;
  int sticky_ = 0;
  bool hangs_ = false;
  std::map<std::string, int> calls_;
  std::set<void*> asked_;
  Stream legacy_[kMaxDevices];
  std::map<void*, std::unique_ptr<Stream>> streams_;
  std::map<void*, std::unique_ptr<Event>> events_;
  std::map<uintptr_t, size_t> memory_;
  std::map<uintptr_t, int> device_of_;  // of each entry of memory_
  std::map<uintptr_t, size_t> registered_;
};

}  // namespace reigen::fake_cuda

#endif  // REIGEN_CLIENT_CUDA_TESTING_FAKE_MACHINE_H_
