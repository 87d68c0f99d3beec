#include "client/cli/reigen_perf/measure.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

#include "client/cli/reigen_perf/reference.h"

namespace reigen::perf {
namespace {

constexpr size_t kAlignment = 64;
// Iterations that are checked: the second finds what the first left behind.
constexpr uint32_t kCheckedIterations = 2;
constexpr int kBroadcastRoot = 0;

size_t Aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

std::byte* Allocate(size_t bytes, Memory memory) {
  if (memory == Memory::kArena) return static_cast<std::byte*>(reigen_alloc(bytes));
  return static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes));
}

void Free(std::byte* memory_start, Memory memory) {
  if (memory == Memory::kArena) {
    reigen_free(memory_start);
  } else {
    std::free(memory_start);
  }
}

// `values` of all ranks reduced: every rank gets the same.
template <typename T>
void ReduceValues(const char* name, reigen_dtype dtype, reigen_op op, std::span<T> values) {
  const int64_t shape = static_cast<int64_t>(values.size());
  const reigen_tensor tensor{.struct_size = sizeof(reigen_tensor),
                             .name = name,
                             .input = values.data(),
                             .output = values.data(),
                             .dtype = dtype,
                             .ndim = 1,
                             .shape = &shape,
                             .input_strides = nullptr,
                             .output_strides = nullptr,
                             .device_kind = REIGEN_HOST, .device = 0, .stream = 0};
  const reigen_allreduce_options options{.struct_size = sizeof(reigen_allreduce_options),
                                         .op = op,
                                         .process_set = 0,
                                         .prescale = 1,
                                         .postscale = 1};
  reigen_handle handle = 0;
  Require(reigen_allreduce_async(name, &tensor, 1, &options, &handle), name);
  Require(reigen_wait(handle, -1), name);
  Require(reigen_release(handle), name);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

void Require(reigen_status status, const std::string& what) {
  if (status == REIGEN_OK) return;
  std::fprintf(stderr, "reigen-perf: %s: %s\n", what.c_str(), reigen_last_error());
  std::exit(1);
}

// The tensors of a row.
struct Measure::Shape {
  reigen_dtype dtype;
  uint64_t tensor_bytes;
  uint64_t count_elems;
};

Measure::Measure(const Options& options)
    : options_(options), rank_(reigen_rank()), ranks_(reigen_size()) {
  for (uint64_t i = 0; i < options_.tensors; ++i) names_.push_back("perf." + std::to_string(i));
  handles_.resize(options_.tensors);
}

Measure::~Measure() { Free(memory_, options_.memory); }

void Measure::Start(const Shape& shape, const Operation& operation) {
  const auto count = static_cast<int64_t>(shape.count_elems);
  for (uint64_t i = 0; i < options_.tensors; ++i) {
    std::byte* data = memory_ + i * Aligned(shape.tensor_bytes);
    const reigen_tensor tensor{.struct_size = sizeof(reigen_tensor),
                               .name = names_[i].c_str(),
                               .input = data,
                               .output = data,
                               .dtype = shape.dtype,
                               .ndim = 1,
                               .shape = &count,
                               .input_strides = nullptr,
                               .output_strides = nullptr,
                               .device_kind = REIGEN_HOST, .device = 0, .stream = 0};
    if (operation.is_broadcast) {
      const reigen_broadcast_options options{.struct_size = sizeof(reigen_broadcast_options),
                                             .root_rank = kBroadcastRoot,
                                             .process_set = 0};
      Require(reigen_broadcast_async(nullptr, &tensor, 1, &options, &handles_[i]), names_[i]);
    } else {
      const reigen_allreduce_options options{.struct_size = sizeof(reigen_allreduce_options),
                                             .op = operation.op,
                                             .process_set = 0,
                                             .prescale = 1,
                                             .postscale = 1};
      Require(reigen_allreduce_async(nullptr, &tensor, 1, &options, &handles_[i]), names_[i]);
    }
  }
}

void Measure::Wait() {
  for (uint64_t i = 0; i < options_.tensors; ++i) {
    reigen_status status = reigen_wait(handles_[i], -1);
    while (status == REIGEN_INTERRUPTED) status = reigen_wait(handles_[i], -1);
    Require(status, names_[i]);
    Require(reigen_release(handles_[i]), names_[i]);
  }
}

double Measure::TimeOnce(const Shape& shape, const Operation& operation) {
  const auto begin = std::chrono::steady_clock::now();
  Start(shape, operation);
  Wait();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

uint64_t Measure::CheckOnce(const Shape& shape, const Operation& operation, uint32_t seed) {
  const auto pattern = [&](uint64_t tensor) {
    return Pattern{.operation = operation,
                   .dtype = shape.dtype,
                   .ranks = ranks_,
                   .root = kBroadcastRoot,
                   .seed = seed + static_cast<uint32_t>(tensor)};
  };
  const auto bytes = [&](uint64_t tensor) {
    return std::span<std::byte>(memory_ + tensor * Aligned(shape.tensor_bytes),
                                shape.tensor_bytes);
  };
  for (uint64_t i = 0; i < options_.tensors; ++i) Fill(pattern(i), rank_, bytes(i));
  Start(shape, operation);
  Wait();
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < options_.tensors; ++i) wrong += CountWrong(pattern(i), bytes(i));
  if (wrong > 0) {
    std::fprintf(stderr, "reigen-perf: rank %d: %llu wrong elements of %s %s, %llu bytes\n", rank_,
                 static_cast<unsigned long long>(wrong), operation.name.c_str(),
                 DtypeName(shape.dtype), static_cast<unsigned long long>(shape.tensor_bytes));
  }
  return wrong;
}

Row Measure::Run(const Operation& operation, reigen_dtype dtype, uint64_t count_elems) {
  const Shape shape{dtype, count_elems * DtypeBytes(dtype), count_elems};
  const size_t needed_bytes =
      std::max<size_t>(Aligned(shape.tensor_bytes) * options_.tensors, kAlignment);
  if (needed_bytes > capacity_bytes_) {
    Free(memory_, options_.memory);
    memory_ = Allocate(needed_bytes, options_.memory);
    capacity_bytes_ = needed_bytes;
    if (memory_ == nullptr) Require(REIGEN_RESOURCE_EXHAUSTED, "allocation");
  }

  Row row{.operation = operation,
          .dtype = dtype,
          .bytes = shape.tensor_bytes * options_.tensors,
          .count_elems = count_elems * options_.tensors,
          .wrong = std::nullopt};
  // Zeros stay zeros, however often they are summed in place.
  std::memset(memory_, 0, needed_bytes);
  std::vector<double> seconds(options_.iterations);
  for (int i = 0; i < options_.warmup; ++i) TimeOnce(shape, operation);
  for (double& one : seconds) one = TimeOnce(shape, operation);
  ReduceValues<double>("perf.seconds", REIGEN_FLOAT64, REIGEN_MAX, seconds);
  row.seconds = Median(seconds);
  row.min_seconds = *std::min_element(seconds.begin(), seconds.end());
  row.algorithm_gbps = static_cast<double>(row.bytes) / row.seconds / 1e9;
  const double factor = operation.is_broadcast ? 1.0 : 2.0 * (ranks_ - 1) / ranks_;
  row.bus_gbps = row.algorithm_gbps * factor;

  if (options_.check) {
    int64_t wrong = 0;
    for (uint32_t i = 0; i < kCheckedIterations; ++i) {
      wrong += static_cast<int64_t>(CheckOnce(shape, operation, i * 1000003u));
    }
    ReduceValues<int64_t>("perf.wrong", REIGEN_INT64, REIGEN_SUM, std::span(&wrong, 1));
    row.wrong = static_cast<uint64_t>(wrong);
  }
  return row;
}

}  // namespace reigen::perf
