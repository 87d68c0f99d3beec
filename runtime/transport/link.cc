#include "runtime/transport/link.h"

#include <string>

#include "runtime/base/epoch_text.h"

namespace reigen::transport {

size_t TagHash::operator()(const Tag& tag) const {
  uint64_t hash = tag.collective.sequence;
  for (uint64_t part : {tag.collective.epoch, uint64_t{tag.collective.stream}, uint64_t{tag.step},
                        uint64_t{tag.chunk}, uint64_t{tag.segment}}) {
    hash = (hash ^ part) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 32;
  }
  return static_cast<size_t>(hash);
}

std::string ToString(const Tag& tag) {
  return "epoch " + EpochText(tag.collective.epoch) + " stream " +
         std::to_string(tag.collective.stream) + " sequence " +
         std::to_string(tag.collective.sequence) + " step " + std::to_string(tag.step) +
         " chunk " + std::to_string(tag.chunk) + " segment " + std::to_string(tag.segment);
}

namespace {

Status HostOnly(const char* transport) {
  return MakeStatus(StatusCode::kUnimplemented,
                    std::string("links over ") + transport + " take memory of the host only");
}

}  // namespace

StatusOr<std::unique_ptr<Region>> Transport::RegisterDevice(const DeviceMemory&) {
  return HostOnly(name());
}

Status Transport::TakesDeviceMemory(const Peer&) const { return HostOnly(name()); }

}  // namespace reigen::transport
