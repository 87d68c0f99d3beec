#include "client/cuda/testing/fake_driver.h"

#include <dlfcn.h>

#include <cstring>

#include "client/cuda/load_driver.h"
#include "runtime/base/check.h"

namespace reigen::sdk::cuda {
namespace {

template <typename Function>
Function Find(void* library, const char* symbol) {
  void* const address = dlsym(library, symbol);
  REIGEN_CHECK(address != nullptr, "this libcuda is not the fake");
  return reinterpret_cast<Function>(address);
}

}  // namespace

FakeDriver::FakeDriver(int device) {
  REIGEN_CHECK(LoadDriver(kDriverLibrary, &api_).ok(), "LD_LIBRARY_PATH has no fake");
  library_ = dlopen(kDriverLibrary, RTLD_NOW);
  CuContext context = nullptr;
  REIGEN_CHECK(api_.primary_retain(&context, device) == kCuSuccess);
  REIGEN_CHECK(api_.push_context(context) == kCuSuccess);
}

FakeDriver::~FakeDriver() {
  Mend();
  CuContext context = nullptr;
  api_.pop_context(&context);
}

CuStream FakeDriver::NewStream() {
  CuStream stream = nullptr;
  REIGEN_CHECK(api_.stream_create(&stream, 0, 0) == kCuSuccess);
  return stream;
}

void FakeDriver::Destroy(CuStream stream) {
  REIGEN_CHECK(api_.stream_destroy(stream) == kCuSuccess);
}

CuAddress FakeDriver::Allocate(size_t bytes) {
  CuAddress address = 0;
  REIGEN_CHECK(api_.allocate(&address, bytes) == kCuSuccess);
  return address;
}

CuAddress FakeDriver::AllocateInOwnContext(size_t bytes) {
  const CuAddress address = Allocate(bytes);
  Find<int (*)(CuAddress)>(library_, "reigen_fake_cuda_elsewhere")(address);
  return address;
}

void FakeDriver::WriteBytes(CuAddress to, std::span<const std::byte> bytes, CuStream stream) {
  Find<int (*)(CuAddress, const void*, size_t, CuStream)>(library_, "reigen_fake_cuda_write")(
      to, bytes.data(), bytes.size(), stream);
}

void FakeDriver::Write(CuAddress to, const std::vector<float>& values, CuStream stream) {
  WriteBytes(to, std::as_bytes(std::span(values)), stream);
}

std::vector<std::byte> FakeDriver::ReadBytes(CuAddress from, size_t bytes, CuStream stream) {
  std::vector<std::byte> values(bytes);
  if (bytes == 0) return values;
  REIGEN_CHECK(api_.copy_to_host(values.data(), from, bytes, stream) == kCuSuccess);
  REIGEN_CHECK(Find<CuResult (*)(CuStream)>(library_, "cuStreamSynchronize")(stream) == kCuSuccess);
  return values;
}

std::vector<float> FakeDriver::Read(CuAddress from, size_t count, CuStream stream) {
  const std::vector<std::byte> bytes = ReadBytes(from, count * sizeof(float), stream);
  std::vector<float> values(count);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

void FakeDriver::FailOnce(const char* symbol, CuResult code, int skip) {
  Find<int (*)(const char*, int, int)>(library_, "reigen_fake_cuda_fail")(symbol, code, skip);
}

void FakeDriver::Mend() { Find<int (*)()>(library_, "reigen_fake_cuda_mend")(); }

void FakeDriver::Capture(bool captures) {
  Find<int (*)(int)>(library_, "reigen_fake_cuda_capture")(captures ? 1 : 0);
}

void FakeDriver::Capture(CuStream stream, bool captures) {
  Find<int (*)(CuStream, int)>(library_, "reigen_fake_cuda_capture_stream")(stream,
                                                                           captures ? 1 : 0);
}

void FakeDriver::Hang(CuStream stream, bool hangs) {
  Find<int (*)(CuStream, int)>(library_, "reigen_fake_cuda_hang_stream")(stream, hangs ? 1 : 0);
}

void FakeDriver::Hang() { Find<int (*)()>(library_, "reigen_fake_cuda_hang")(); }

int FakeDriver::calls(const char* symbol) {
  return Find<int (*)(const char*)>(library_, "reigen_fake_cuda_calls")(symbol);
}

int FakeDriver::streams(int priority) {
  return Find<int (*)(int)>(library_, "reigen_fake_cuda_streams")(priority);
}

int FakeDriver::registered() {
  return Find<int (*)()>(library_, "reigen_fake_cuda_registered")();
}

}  // namespace reigen::sdk::cuda
