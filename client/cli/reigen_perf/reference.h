// Inputs whose results are known exactly, and the check of a result against them.
//
// Every rank's value at every index can be computed by every rank. The values are
// small whole numbers (powers of two for products), so that each partial sum is
// exact in every dtype and the result does not depend on the order: a difference of
// one bit is a wrong element. Up to 64 ranks; beyond, bfloat16 sums may round.
#ifndef REIGEN_CLIENT_CLI_REIGEN_PERF_REFERENCE_H_
#define REIGEN_CLIENT_CLI_REIGEN_PERF_REFERENCE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "client/c/reigen.h"
#include "client/cli/reigen_perf/options.h"

namespace reigen::perf {

struct Pattern {
  Operation operation;
  reigen_dtype dtype = REIGEN_FLOAT32;
  int ranks = 1;
  int root = 0;       // of a broadcast
  uint32_t seed = 0;  // of this tensor and iteration
};

// Writes rank's input: data.size() / DtypeBytes elements.
void Fill(const Pattern& pattern, int rank, std::span<std::byte> data);

// How many elements of `data` are not the result.
uint64_t CountWrong(const Pattern& pattern, std::span<const std::byte> data);

}  // namespace reigen::perf

#endif  // REIGEN_CLIENT_CLI_REIGEN_PERF_REFERENCE_H_
