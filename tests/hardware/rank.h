// One rank of a job whose tensors are on the first GPU, for programs that check that.
// Whatever fails ends the program with its text. One thread.
#ifndef REIGEN_TESTS_HARDWARE_RANK_H_
#define REIGEN_TESTS_HARDWARE_RANK_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "client/c/reigen.h"
#include "runtime/base/dtype.h"
#include "tests/hardware/gpu.h"

namespace reigen::hardware {

// Its job lasts as long as the variable lives; Leave() ends it well.
class JobRank {
 public:
  JobRank();
  JobRank(const JobRank&) = delete;
  JobRank& operator=(const JobRank&) = delete;
  void Leave() const;

  int rank() const { return rank_; }
  int size() const { return size_; }
  const Gpu& gpu() const { return gpu_; }

  // In place, on the GPU's stream. `shape` outlives it.
  reigen_tensor Tensor(CuAddress memory, DataType dtype, const int64_t* shape, int32_t dims,
                       const char* name) const;
  reigen_handle Start(const char* name, std::span<const reigen_tensor> tensors, ReduceOp op) const;
  void Finish(reigen_handle handle) const;
  void Barrier() const;
  // Of work that all ranks begin together.
  double SecondsOf(const std::function<void()>& work) const;

 private:
  const int rank_;
  const int size_;
  const Gpu gpu_;
};

}  // namespace reigen::hardware

#endif  // REIGEN_TESTS_HARDWARE_RANK_H_
