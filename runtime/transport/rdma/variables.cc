#include "runtime/transport/rdma/variables.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <vector>

namespace reigen::transport::rdma {
namespace {

constexpr char kDevices[] = "REIGEN_RDMA_DEVICES";
constexpr char kGidIndex[] = "REIGEN_RDMA_GID_INDEX";
constexpr char kPkey[] = "REIGEN_RDMA_PKEY";
constexpr char kMtu[] = "REIGEN_RDMA_MTU";
constexpr char kServiceLevel[] = "REIGEN_RDMA_SERVICE_LEVEL";
constexpr char kTrafficClass[] = "REIGEN_RDMA_TRAFFIC_CLASS";
constexpr char kQueues[] = "REIGEN_RDMA_QUEUES";
constexpr char kRelaxedOrdering[] = "REIGEN_RDMA_RELAXED_ORDERING";

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// A number from `least` to `most`, also as 0x...; `fallback` if the variable is not set or empty.
StatusOr<int> ReadNumber(const Lookup& lookup, const std::string& name, int most, int fallback,
                         int least = 0) {
  const std::optional<std::string> text = lookup(name);
  if (!text || text->empty()) return fallback;
  const bool hex = text->starts_with("0x");
  const char* const begin = text->data() + (hex ? 2 : 0);
  const char* const end = text->data() + text->size();
  int value = -1;
  const auto parsed = std::from_chars(begin, end, value, hex ? 16 : 10);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < least || value > most) {
    return InvalidArgument(name + ": \"" + *text + "\" is not a number from " +
                           std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

Status ReadWish(const Lookup& lookup, Wish* wish) {
  if (wish->devices.empty()) wish->devices = Split(lookup(kDevices).value_or(""));
  if (wish->gid_index < 0) {
    REIGEN_ASSIGN_OR_RETURN(wish->gid_index, ReadNumber(lookup, kGidIndex, 255, -1));
  }
  if (!wish->pkey) {
    REIGEN_ASSIGN_OR_RETURN(const int pkey, ReadNumber(lookup, kPkey, 0xffff, -1));
    if (pkey >= 0) wish->pkey = static_cast<uint16_t>(pkey);
  }
  if (wish->mtu_bytes == 0) {
    REIGEN_ASSIGN_OR_RETURN(const int mtu, ReadNumber(lookup, kMtu, 4096, 0));
    wish->mtu_bytes = static_cast<uint32_t>(mtu);
  }
  return OkStatus();
}

Status ReadSettings(const Lookup& lookup, Settings* settings) {
  REIGEN_ASSIGN_OR_RETURN(const int level, ReadNumber(lookup, kServiceLevel, 15, 0));
  settings->service_level = static_cast<uint8_t>(level);
  REIGEN_ASSIGN_OR_RETURN(const int traffic,
                          ReadNumber(lookup, kTrafficClass, 255, 0));
  settings->traffic_class = static_cast<uint8_t>(traffic);
  REIGEN_ASSIGN_OR_RETURN(const int queues, ReadNumber(lookup, kQueues, 15, 0, 1));
  if (queues > 0) settings->queues = queues;
  REIGEN_ASSIGN_OR_RETURN(const int relaxed,
                          ReadNumber(lookup, kRelaxedOrdering, 1, 1));
  settings->relaxed_ordering = relaxed == 1;
  return OkStatus();
}

}  // namespace

std::vector<std::string> VariableNames() {
  return {kDevices, kGidIndex, kPkey, kMtu,
          kServiceLevel, kTrafficClass, kQueues, kRelaxedOrdering};
}

Status ReadVariables(const Lookup& lookup, Wish* wish, Settings* settings) {
  REIGEN_RETURN_IF_ERROR(ReadWish(lookup, wish));
  return ReadSettings(lookup, settings);
}

}  // namespace reigen::transport::rdma
