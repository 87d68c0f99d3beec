// A trainer's own CUDA in tests over the fake libcuda.so.1, which the dynamic linker
// must find (LD_LIBRARY_PATH).
#ifndef REIGEN_CLIENT_CUDA_TESTING_FAKE_DRIVER_H_
#define REIGEN_CLIENT_CUDA_TESTING_FAKE_DRIVER_H_

#include <cstddef>
#include <span>
#include <vector>

#include "client/cuda/driver_api.h"

namespace reigen::sdk::cuda {

class FakeDriver {
 public:
  explicit FakeDriver(int device = 0);  // its context is current in this thread
  ~FakeDriver();  // no fault is left
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  const DriverApi& api() const { return api_; }
  CuStream NewStream();
  // What it was given is still done. A call that uses it from then on ends the process.
  void Destroy(CuStream stream);
  CuAddress Allocate(size_t bytes);
  CuAddress AllocateInOwnContext(size_t bytes);  // not the primary one
  // What a kernel on `stream` would do; nothing waits for it.
  void Write(CuAddress to, const std::vector<float>& values, CuStream stream);
  void WriteBytes(CuAddress to, std::span<const std::byte> bytes, CuStream stream);
  // The memory once `stream` has done its work.
  std::vector<float> Read(CuAddress from, size_t count, CuStream stream);
  std::vector<std::byte> ReadBytes(CuAddress from, size_t bytes, CuStream stream);
  void FailOnce(const char* symbol, CuResult code, int skip = 0);
  // Streams do nothing until Mend().
  void Hang();
  // This one does no more until it is told that it hangs no longer.
  void Hang(CuStream stream, bool hangs = true);
  void Mend();
  // As if another thread captured a graph.
  void Capture(bool captures);
  // The stream itself captures.
  void Capture(CuStream stream, bool captures);
  int calls(const char* symbol);
  int streams(int priority);  // that are there; priorities are 0 to -5
  int registered();

 private:
  void* library_ = nullptr;
  DriverApi api_;
};

}  // namespace reigen::sdk::cuda

#endif  // REIGEN_CLIENT_CUDA_TESTING_FAKE_DRIVER_H_
