// Whether what an RDMA device wrote into a GPU's memory has to be flushed before it is
// used, which its completion at the CPU alone does not say. Pure.
#ifndef REIGEN_RUNTIME_GPUDIRECT_FLUSH_H_
#define REIGEN_RUNTIME_GPUDIRECT_FLUSH_H_

#include <cstddef>
#include <string>

namespace reigen::gpudirect {

// CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING
enum class WritesOrdering {
  kNone = 0,
  kOwner = 100,       // the GPU itself sees written memory in order
  kAllDevices = 200,  // and so does every other GPU
};

// Of the attribute's value; what is not known is in no order.
WritesOrdering OrderingOf(int value);

// Who reads the memory next.
enum class Reader {
  kOwner,      // kernels and copies of the GPU that has it
  kOtherGpu,   // by peer access
  kSameNic,    // the RDMA device that wrote it, to send it on
  kOtherNic,   // another one, to send it on
};

struct FlushFacts {
  int capability_major = 0;  // compute capability; 0: not known
  WritesOrdering ordering = WritesOrdering::kNone;
  // The device writes by PCIe and the CPU speaks to the GPU by another way (C2C, as on
  // Grace): a completion may overtake the data.
  bool control_by_other_path = false;
  Reader reader = Reader::kOwner;
};

struct FlushVerdict {
  // Each device that wrote reads its last written byte over a loopback queue pair, and the
  // data counts as there with that read's completion.
  bool read_back = true;
  std::string reason;
};

// The first row that fits counts:
//
//   another NIC sends it on                     read back: its reads take another way
//   control by another path                     read back
//   the driver says ordered for the reader      none
//   the same NIC sends it on                    read back: its reads may pass relaxed writes
//   another GPU reads it                        read back
//   compute capability 9.0 or higher            none
//   otherwise                                   read back
FlushVerdict ChooseFlush(const FlushFacts& facts);

// Of the scratch for segments between hosts: kernels of its GPU read what was received, and
// the job's `devices` RDMA devices send some of it on. So it is always read back; the reason
// is the first of its readers' that needs that.
FlushVerdict FlushOfScratch(int capability_major, WritesOrdering ordering, size_t devices);

}  // namespace reigen::gpudirect

#endif  // REIGEN_RUNTIME_GPUDIRECT_FLUSH_H_
