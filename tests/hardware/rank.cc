#include "tests/hardware/rank.h"

#include <chrono>

namespace reigen::hardware {
namespace {

constexpr double kWaitSeconds = 120;

void Ok(reigen_status status) {
  if (status != REIGEN_OK) Die(reigen_last_error());
}

int RankOfNewJob() {
  Ok(reigen_init());
  return reigen_rank();
}

}  // namespace

JobRank::JobRank() : rank_(RankOfNewJob()), size_(reigen_size()) {}

void JobRank::Leave() const { Ok(reigen_shutdown()); }

reigen_tensor JobRank::Tensor(CuAddress memory, DataType dtype, const int64_t* shape, int32_t dims,
                              const char* name) const {
  reigen_tensor tensor = {};
  tensor.struct_size = sizeof tensor;
  tensor.name = name;
  tensor.input = reinterpret_cast<const void*>(memory);
  tensor.output = reinterpret_cast<void*>(memory);
  tensor.dtype = static_cast<int32_t>(dtype);
  tensor.ndim = dims;
  tensor.shape = shape;
  tensor.device_kind = REIGEN_CUDA;
  tensor.device = 0;
  tensor.stream = reinterpret_cast<uintptr_t>(gpu_.stream());
  return tensor;
}

reigen_handle JobRank::Start(const char* name, std::span<const reigen_tensor> tensors,
                             ReduceOp op) const {
  const reigen_allreduce_options options = {.struct_size = sizeof options,
                                            .op = static_cast<int32_t>(op), .process_set = 0,
                                            .prescale = 1.0, .postscale = 1.0};
  reigen_handle handle = 0;
  Ok(reigen_allreduce_async(name, tensors.data(), tensors.size(), &options, &handle));
  return handle;
}

void JobRank::Finish(reigen_handle handle) const {
  Ok(reigen_wait(handle, kWaitSeconds));
  Ok(reigen_release(handle));
}

void JobRank::Barrier() const {
  reigen_handle handle = 0;
  Ok(reigen_barrier_async(0, &handle));
  Finish(handle);
}

double JobRank::SecondsOf(const std::function<void()>& work) const {
  Barrier();
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace reigen::hardware
