#include "runtime/gpudirect/flush.h"

namespace reigen::gpudirect {
namespace {

constexpr int kOrderedCapability = 9;  // Hopper

bool DriverSaysOrdered(const FlushFacts& facts) {
  switch (facts.reader) {
    case Reader::kOwner: return facts.ordering != WritesOrdering::kNone;
    case Reader::kOtherGpu: return facts.ordering == WritesOrdering::kAllDevices;
    case Reader::kSameNic:
    case Reader::kOtherNic: return false;  // the attribute speaks of GPUs
  }
  return false;
}

}  // namespace

WritesOrdering OrderingOf(int value) {
  if (value >= static_cast<int>(WritesOrdering::kAllDevices)) return WritesOrdering::kAllDevices;
  if (value >= static_cast<int>(WritesOrdering::kOwner)) return WritesOrdering::kOwner;
  return WritesOrdering::kNone;
}

FlushVerdict ChooseFlush(const FlushFacts& facts) {
  if (facts.reader == Reader::kOtherNic) {
    return {true, "another RDMA device's reads are not ordered behind these writes"};
  }
  if (facts.control_by_other_path) {
    return {true, "the CPU speaks to the GPU by another way than the RDMA device writes"};
  }
  if (DriverSaysOrdered(facts)) return {false, "the GPU's driver says that writes are in order"};
  if (facts.reader == Reader::kSameNic) {
    return {true, "with relaxed ordering a device may read before its own earlier writes have arrived"};
  }
  if (facts.reader == Reader::kOtherGpu) {
    return {true, "writes are in order for the GPU that has the memory at most"};
  }
  if (facts.capability_major >= kOrderedCapability) {
    return {false, "a GPU of compute capability 9.0 or higher sees writes in order"};
  }
  return {true, "a GPU below compute capability 9.0 may see the completion before the data"};
}

FlushVerdict FlushOfScratch(int capability_major, WritesOrdering ordering, size_t devices) {
  FlushFacts facts{.capability_major = capability_major, .ordering = ordering};
  const FlushVerdict kernels = ChooseFlush(facts);
  if (kernels.read_back) return kernels;
  facts.reader = devices > 1 ? Reader::kOtherNic : Reader::kSameNic;
  return ChooseFlush(facts);
}

}  // namespace reigen::gpudirect
