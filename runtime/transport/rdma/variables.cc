#include "runtime/transport/rdma/variables.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <vector>

namespace reigen::transport::rdma {
namespace {

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

}  // namespace

StatusOr<int> ReadNumber(const Lookup& lookup, const std::string& name, int most, int fallback) {
  const std::optional<std::string> text = lookup(name);
  if (!text) return fallback;
  const bool hex = text->starts_with("0x");
  const char* const begin = text->data() + (hex ? 2 : 0);
  const char* const end = text->data() + text->size();
  int value = -1;
  const auto parsed = std::from_chars(begin, end, value, hex ? 16 : 10);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < 0 || value > most) {
    return InvalidArgument(name + ": \"" + *text + "\" is not a number from 0 to " +
                           std::to_string(most));
  }
  return value;
}

Status ReadWish(const Lookup& lookup, Wish* wish) {
  if (wish->devices.empty()) wish->devices = Split(lookup("REIGEN_RDMA_DEVICES").value_or(""));
  if (wish->gid_index < 0) {
    REIGEN_ASSIGN_OR_RETURN(wish->gid_index, ReadNumber(lookup, "REIGEN_RDMA_GID_INDEX", 255, -1));
  }
  if (!wish->pkey) {
    REIGEN_ASSIGN_OR_RETURN(const int pkey, ReadNumber(lookup, "REIGEN_RDMA_PKEY", 0xffff, -1));
    if (pkey >= 0) wish->pkey = static_cast<uint16_t>(pkey);
  }
  if (wish->mtu_bytes == 0) {
    REIGEN_ASSIGN_OR_RETURN(const int mtu, ReadNumber(lookup, "REIGEN_RDMA_MTU", 4096, 0));
    wish->mtu_bytes = static_cast<uint32_t>(mtu);
  }
  return OkStatus();
}

}  // namespace reigen::transport::rdma
