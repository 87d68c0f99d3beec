// The first GPU for programs that check it: memory, copies and one stream, by the driver
// alone. Whatever fails ends the program with its name. One thread.
#ifndef REIGEN_TESTS_HARDWARE_GPU_H_
#define REIGEN_TESTS_HARDWARE_GPU_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "client/cuda/driver_api.h"

namespace reigen::hardware {

using sdk::cuda::CuAddress;
using sdk::cuda::CuResult;
using sdk::cuda::CuStream;
using Bytes = std::vector<std::byte>;

[[noreturn]] void Die(const std::string& text);

class Gpu {
 public:
  Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const sdk::cuda::DriverApi& api() const { return api_; }
  CuStream stream() const { return stream_; }
  void Check(const char* call, CuResult code) const;
  // Null: this driver has no such function.
  void* Find(const char* symbol) const;
  int Attribute(int attribute) const;  // -1: unknown to the driver

  CuAddress Allocate(size_t bytes) const;
  void Free(CuAddress memory) const;
  CuAddress Upload(std::span<const std::byte> host) const;
  void Write(CuAddress memory, std::span<const std::byte> host) const;
  Bytes Download(CuAddress memory, size_t bytes) const;
  // What the stream was given is done.
  void Wait(CuStream stream) const;
  void Wait() const { Wait(stream_); }

 private:
  void* library_ = nullptr;
  sdk::cuda::DriverApi api_;
  CuStream stream_ = nullptr;
};

// A device's memory for as long as the variable lives.
class Memory {
 public:
  Memory(const Gpu& gpu, size_t bytes) : gpu_(gpu), address_(gpu.Allocate(bytes)) {}
  Memory(const Gpu& gpu, std::span<const std::byte> host)
      : gpu_(gpu), address_(gpu.Upload(host)) {}
  ~Memory() { gpu_.Free(address_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  CuAddress address() const { return address_; }

 private:
  const Gpu& gpu_;
  const CuAddress address_;
};

// A line that gpu_check makes a row of: "ROW <pass|FAIL|note>|<what>|<value>".
void Row(const std::string& result, const std::string& what, const std::string& value);

}  // namespace reigen::hardware

#endif  // REIGEN_TESTS_HARDWARE_GPU_H_
