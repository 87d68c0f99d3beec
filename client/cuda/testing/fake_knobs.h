// What the environment makes of the fake's GPUs, for jobs of several processes:
//   CUDA_VISIBLE_DEVICES                    as with CUDA, numbers alone
//   REIGEN_FAKE_CUDA_DEVICES=4              how many there are; 2
//   REIGEN_FAKE_CUDA_FAIL=SYMBOL=CODE,...   these calls fail, each time; with CODE@N all but
//                                           the first N
//   REIGEN_FAKE_CUDA_NO_PEER=1              no GPU reaches another one's memory
//   REIGEN_FAKE_CUDA_BROKEN_PEER=reads      it seems to, but reads zeros there; with
//                                =writes    it reads, but what it writes is lost
//   REIGEN_FAKE_CUDA_STRICT_END=1           a call after its end, which is registered with
//                                           atexit by cuInit, ends the process with code 86
#ifndef REIGEN_CLIENT_CUDA_TESTING_FAKE_KNOBS_H_
#define REIGEN_CLIENT_CUDA_TESTING_FAKE_KNOBS_H_

#include <string_view>

namespace reigen::fake_cuda {

inline constexpr int kMaxDevices = 8;

int DeviceCount();  // visible ones
// Of a visible one its number in the machine.
int PhysicalDevice(int ordinal);
bool HasPeerAccess();
bool HasStrictEnd();
bool LosesPeer(std::string_view what);  // reads, writes
// The code that the call, the calls-th, fails with; 0: it does not.
int FailureOf(std::string_view symbol, int calls);

}  // namespace reigen::fake_cuda

#endif  // REIGEN_CLIENT_CUDA_TESTING_FAKE_KNOBS_H_
