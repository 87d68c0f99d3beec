// Are all-reduces ordered with the caller's streams, of every kind that CUDA has?
#ifndef REIGEN_TESTS_HARDWARE_STREAM_ORDER_H_
#define REIGEN_TESTS_HARDWARE_STREAM_ORDER_H_

#include <string>

#include "client/cuda/kernels.h"
#include "tests/hardware/rank.h"

namespace reigen::hardware {

// On the default streams (0, 1, 2) and on streams that block and do not block them, all in
// flight together: behind slow kernels, a copy fills the tensor, whose all-reduce begins at once;
// after its end, at once, a copy takes the result, and nobody waits in between. Every rank gives
// the same `kernels`, or none. "": right.
std::string CheckStreamOrder(const JobRank& job, const sdk::cuda::Kernels* kernels, bool quick);

}  // namespace reigen::hardware

#endif  // REIGEN_TESTS_HARDWARE_STREAM_ORDER_H_
