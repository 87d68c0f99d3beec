// What reigen-perf is asked to do.
#ifndef REIGEN_CLIENT_CLI_REIGEN_PERF_OPTIONS_H_
#define REIGEN_CLIENT_CLI_REIGEN_PERF_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/c/reigen.h"

namespace reigen::perf {

// An operation as the table names it.
struct Operation {
  std::string name;  // "sum", "average", "min", "max", "product" or "broadcast"
  bool is_broadcast = false;
  reigen_op op = REIGEN_SUM;  // of an all-reduce
};

enum class Memory { kArena, kHeap };

struct Options {
  std::vector<Operation> operations;
  std::vector<reigen_dtype> dtypes;
  uint64_t min_bytes = 4;
  uint64_t max_bytes = 64ull << 20;
  uint64_t factor = 4;    // each size is the last one times this
  std::vector<uint64_t> counts;  // in place of sizes: elements
  int iterations = 20;
  int warmup = 5;
  bool check = false;     // every element, on every rank
  std::string json_path;  // "" = none, "-" = standard output in place of the table
  uint64_t tensors = 1;   // so many at once, each of the size
  Memory memory = Memory::kArena;
};

// Parses "4", "64KiB", "1M", "2GiB" (units are powers of 1024).
std::optional<uint64_t> ParseBytes(const std::string& text);

// The elements of one tensor in the rows of a type, ascending by size.
std::vector<uint64_t> Counts(const Options& options, reigen_dtype dtype);

// Parses the command line. When it does not ask for a run (a mistake, --help),
// returns nothing, has printed what there is to say, and sets *exit_code.
std::optional<Options> ParseOptions(int argc, char** argv, int* exit_code);

const char* DtypeName(reigen_dtype dtype);
size_t DtypeBytes(reigen_dtype dtype);

// Whether the product supports it (average of bool is refused).
bool IsSupported(const Operation& operation, reigen_dtype dtype);

}  // namespace reigen::perf

#endif  // REIGEN_CLIENT_CLI_REIGEN_PERF_OPTIONS_H_
