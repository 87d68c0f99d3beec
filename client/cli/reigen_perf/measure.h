// Runs one row of the table: an operation on one type and size, timed and checked.
#ifndef REIGEN_CLIENT_CLI_REIGEN_PERF_MEASURE_H_
#define REIGEN_CLIENT_CLI_REIGEN_PERF_MEASURE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/reigen_perf/options.h"

namespace reigen::perf {

struct Row {
  Operation operation;
  reigen_dtype dtype = REIGEN_FLOAT32;
  uint64_t bytes = 0;           // of all tensors together, on one rank
  uint64_t count_elems = 0;     // likewise
  double seconds = 0;           // median over iterations of the slowest rank's time
  double min_seconds = 0;
  double algorithm_gbps = 0;    // bytes / seconds, in 1e9 bytes
  double bus_gbps = 0;          // what each rank's share of the network would carry
  std::optional<uint64_t> wrong;  // over all ranks; nothing without --check
};

// The job's memory and names; every rank makes the same calls in the same order.
//
// Threads: one.
// Errors:  a call of the library that fails ends the program, with its text.
class Measure {
 public:
  explicit Measure(const Options& options);
  ~Measure();
  Measure(const Measure&) = delete;
  Measure& operator=(const Measure&) = delete;

  Row Run(const Operation& operation, reigen_dtype dtype, uint64_t count_elems);

 private:
  struct Shape;

  void Start(const Shape& shape, const Operation& operation);
  void Wait();
  double TimeOnce(const Shape& shape, const Operation& operation);
  uint64_t CheckOnce(const Shape& shape, const Operation& operation, uint32_t seed);

  const Options options_;
  const int rank_;
  const int ranks_;
  std::byte* memory_ = nullptr;
  size_t capacity_bytes_ = 0;
  std::vector<std::string> names_;
  std::vector<reigen_handle> handles_;
};

// Prints the library's last error and what was tried, and exits with 1 when
// `status` is a failure.
void Require(reigen_status status, const std::string& what);

}  // namespace reigen::perf

#endif  // REIGEN_CLIENT_CLI_REIGEN_PERF_MEASURE_H_
