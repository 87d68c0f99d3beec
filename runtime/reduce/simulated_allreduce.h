// A whole all-reduce by the kernels, for tests: the steps that the hosts would do.
#ifndef REIGEN_RUNTIME_REDUCE_SIMULATED_ALLREDUCE_H_
#define REIGEN_RUNTIME_REDUCE_SIMULATED_ALLREDUCE_H_

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/reduce/kernels.h"
#include "runtime/reduce/reference.h"

namespace reigen::reduce {

enum class Shape {
  kChain,  // each host adds what the one before sent; the last one finishes
  kTree,   // every host's partial, combined pairwise, finished from the wire
};

inline ReduceSpec SpecOf(const AllreduceCase& c) {
  return {c.dtype, c.wire, c.op, c.prescale, c.postscale, c.divisor};
}

// Elements [begin, end) of the all-reduce. Ranks fill c.hosts hosts evenly.
inline std::vector<std::byte> SimulatedAllreduce(const AllreduceCase& c, Shape shape, size_t begin,
                                                 size_t end) {
  const ReduceSpec spec = SpecOf(c);
  const size_t count = end - begin;
  const size_t hosts = static_cast<size_t>(c.hosts);
  const size_t ranks = c.inputs.size();
  std::vector<std::byte> result(count * ElementBytes(c.dtype));
  std::byte* const out = result.data();
  std::vector<std::vector<std::byte>> partials(
      hosts, std::vector<std::byte>(count * ElementBytes(c.wire)));
  for (size_t h = 0; h < hosts; ++h) {
    std::vector<const std::byte*> inputs;
    for (size_t r = h * ranks / hosts; r < (h + 1) * ranks / hosts; ++r) {
      inputs.push_back(c.inputs[r].data() + begin * ElementBytes(c.dtype));
    }
    const bool chained = shape == Shape::kChain && h > 0;
    const std::byte* received = chained ? partials[h - 1].data() : nullptr;
    if (h + 1 == hosts && (chained || hosts == 1)) {
      ReduceFinal(spec, inputs, received, {&out, 1}, count);
      return result;
    }
    ReducePartial(spec, inputs, received, partials[h].data(), count);
  }
  for (size_t distance = 1; distance < hosts; distance *= 2) {
    for (size_t h = 0; h + distance < hosts; h += 2 * distance) {
      std::byte* left = partials[h].data();
      CombineWire(spec, left, partials[h + distance].data(), left, count);
    }
  }
  FinishWire(spec, partials[0].data(), {&out, 1}, count);
  return result;
}

}  // namespace reigen::reduce

#endif  // REIGEN_RUNTIME_REDUCE_SIMULATED_ALLREDUCE_H_
