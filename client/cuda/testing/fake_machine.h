// The state of the fake CUDA: memory that only its own work may touch (fake_memory.h), and
// streams whose work is done as late as possible: when somebody waits for it. So a wait that
// was left out is a wrong result, every time. A kernel or copy that touches what it cannot
// reach is an illegal address: sticky, as on a GPU.
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
#include <span>
#include <string>
#include <vector>

#include "client/cuda/testing/fake_knobs.h"
#include "client/cuda/testing/fake_memory.h"
#include "runtime/base/check.h"

namespace reigen::fake_cuda {

struct Stream {
  // A kernel or copy, or a wait for another stream.
  struct Work {
    std::function<void()> run;
    Stream* after = nullptr;
    size_t position = 0;
  };

  int device = 0;
  int priority = 0;
  std::vector<Work> work;
  size_t done = 0;
  bool hangs = false;
  bool captures = false;
};

struct Event {
  int device = 0;
  Stream* stream = nullptr;  // null: not recorded
  size_t position = 0;
};

// The devices whose contexts a thread has pushed. Never destroyed: handlers of exit come later
// than a thread's destructors.
class Contexts {
 public:
  bool empty() const { return count_ == 0; }
  int back() const { return devices_[count_ - 1]; }
  void push_back(int device) {
    REIGEN_CHECK(count_ < kMost, "contexts are pushed and not popped");
    devices_[count_++] = device;
  }
  void pop_back() { --count_; }

 private:
  static constexpr size_t kMost = 64;
  int devices_[kMost] = {};
  size_t count_ = 0;
};

extern thread_local Contexts contexts;
extern thread_local int capture_mode;

class Machine {
 public:
  static Machine& Get();

  std::recursive_mutex& mutex() { return mutex_; }
  // The result of a call that would succeed.
  int Enter(const char* symbol, bool needs_context);
  // From the call after `skip` more on. From 700 on errors are sticky.
  void FailOnce(const char* symbol, int code, int skip);
  void Hang() { hangs_ = true; }
  // The process exits.
  void End() { ended_ = true; }
  // Somebody captures a graph, in the global mode: of other threads only calls in the
  // relaxed mode are let through.
  void Capture(bool captures) { captures_ = captures; }
  void Mend();
  int calls(const std::string& symbol) const;

  // Those that nobody destroys are the machine's, as a real driver's are.
  std::map<void*, std::unique_ptr<Stream>>& streams() { return streams_; }
  std::map<void*, std::unique_ptr<Event>>& events() { return events_; }
  // The default one is the current device's. Of one that was destroyed: the process's end.
  Stream* StreamOf(void* handle);
  // Its work is still done.
  void Destroy(void* stream);
  void Push(Stream* stream, std::function<void()> work);
  void PushWait(Stream* stream, Stream* after, size_t position);
  // False: a stream hangs.
  bool RunTo(Stream* stream, size_t position);
  // Some stream captures a graph.
  bool StreamCaptures() const;
  // What asking about an event or stream gives: at first that it is not ready.
  int Query(void* handle, Stream* stream, size_t position);

  Memory& memory() { return memory_; }
  // Work of a device's kernel (a copy: kAnyDevice) on these ranges.
  void Touch(int device, std::span<const Range> ranges, const std::function<void()>& work);
  // A kernel's access was not aligned: sticky too.
  void FailMisaligned();

 private:
  std::recursive_mutex mutex_;
  std::string fail_symbol_;
  int fail_code_ = 0;
  int fail_skip_ = 0;
  int sticky_ = 0;
  bool hangs_ = false;
  bool ended_ = false;
  bool captures_ = false;
  std::map<std::string, int> calls_;
  std::set<void*> asked_;
  Stream legacy_[kMaxDevices];
  std::map<void*, std::unique_ptr<Stream>> streams_;
  std::vector<std::unique_ptr<Stream>> destroyed_;
  std::map<void*, std::unique_ptr<Event>> events_;
  Memory memory_;
};

}  // namespace reigen::fake_cuda

#endif  // REIGEN_CLIENT_CUDA_TESTING_FAKE_MACHINE_H_
