#include "runtime/gpudirect/distance.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace reigen::gpudirect {

const char* ToString(Distance distance) {
  switch (distance) {
    case Distance::kSameSwitch:
      return "same PCIe switch";
    case Distance::kSameRootComplex:
      return "same root complex";
    case Distance::kSameNode:
      return "same NUMA node";
    case Distance::kAcrossNodes:
      return "across NUMA nodes";
    case Distance::kUnknown:
      break;
  }
  return "distance unknown";
}

Distance DistanceOf(const PciPlace& a, const PciPlace& b) {
  if (a.bridges.empty() || b.bridges.empty()) return Distance::kUnknown;
  const size_t shorter = std::min(a.bridges.size(), b.bridges.size());
  const auto common = static_cast<size_t>(
      std::mismatch(a.bridges.begin(), a.bridges.begin() + static_cast<std::ptrdiff_t>(shorter),
                    b.bridges.begin())
          .first -
      a.bridges.begin());
  // The first bridge is the root complex itself.
  if (common > 1) return Distance::kSameSwitch;
  if (common == 1) return Distance::kSameRootComplex;
  if (a.numa_node < 0 || b.numa_node < 0) return Distance::kUnknown;
  return a.numa_node == b.numa_node ? Distance::kSameNode : Distance::kAcrossNodes;
}

std::string NormalBusId(const std::string& bus_id) {
  std::string id = bus_id;
  std::transform(id.begin(), id.end(), id.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (std::count(id.begin(), id.end(), ':') < 2) return "0000:" + id;
  const size_t colon = id.find(':');
  // A domain has at least four digits, and no more than it needs.
  while (id.find(':') > 4 && id[0] == '0') id.erase(0, 1);
  return colon < 4 ? std::string(4 - colon, '0') + id : id;
}

}  // namespace reigen::gpudirect
