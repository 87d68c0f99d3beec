// How far two PCI devices are from each other. Pure: runtime/probe says where they are.
#ifndef REIGEN_RUNTIME_GPUDIRECT_DISTANCE_H_
#define REIGEN_RUNTIME_GPUDIRECT_DISTANCE_H_

#include <string>
#include <vector>

namespace reigen::gpudirect {

// Where a PCI device is.
struct PciPlace {
  std::string bus_id;                // "0000:3b:00.0", lower case
  std::vector<std::string> bridges;  // from the root complex down to the device's own slot
  int numa_node = -1;                // -1: the machine does not say
};

// In order: near before far.
enum class Distance {
  kSameSwitch,       // they meet below the root complex
  kSameRootComplex,  // they meet in it
  kSameNode,         // root complexes of one NUMA node
  kAcrossNodes,      // traffic crosses the link between sockets
  kUnknown,          // the place of one of them is not known
};

const char* ToString(Distance distance);  // "same PCIe switch"

Distance DistanceOf(const PciPlace& a, const PciPlace& b);

// "0000:3B:00.0", "00000000:3b:00.0" and "3b:00.0" are one device: "0000:3b:00.0".
std::string NormalBusId(const std::string& bus_id);

}  // namespace reigen::gpudirect

#endif  // REIGEN_RUNTIME_GPUDIRECT_DISTANCE_H_
