#include "runtime/transport/rdma/room.h"

#include <algorithm>
#include <string>

#include "runtime/transport/rdma/rdma_limits.h"

namespace reigen::transport::rdma {

StatusOr<Room> MeasureRoom(const std::vector<DeviceInfo>& rails) {
  Room room;
  room.max_receives = kDataReceives;
  uint32_t max_cqes = UINT32_MAX;
  for (const DeviceInfo& info : rails) {
    room.max_receives = std::min(room.max_receives, info.max_qp_wrs);
    max_cqes = std::min(max_cqes, info.max_cqes);
    if (info.max_qp_wrs < kMinQueueWrs || info.max_cqes < 2 * kMinQueueWrs) {
      return FailedPrecondition(info.name + " takes " + std::to_string(info.max_qp_wrs) +
                                " requests in a queue and " + std::to_string(info.max_cqes) +
                                " completions; links need " + std::to_string(kMinQueueWrs) +
                                " and " + std::to_string(2 * kMinQueueWrs) +
                                " (--rdma-devices names another device, --transport tcp needs "
                                "none)");
    }
  }
  const uint32_t cqes = max_cqes - 2 * kControlQueue;
  room.max_receives = std::min(room.max_receives, cqes - kDataSends);
  const uint32_t per_rail = cqes / (kDataSends + room.max_receives);
  room.max_channels =
      static_cast<int>(std::min<size_t>(per_rail * rails.size(), kMaxChannels));
  return room;
}

size_t QueuesOfALink(int wanted, const Room& room, size_t rails) {
  return std::max(static_cast<size_t>(std::min(wanted, room.max_channels)), rails);
}

}  // namespace reigen::transport::rdma
