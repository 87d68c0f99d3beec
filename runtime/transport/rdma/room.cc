#include "runtime/transport/rdma/room.h"

#include <algorithm>
#include <string>

#include "runtime/transport/rdma/rdma_limits.h"

namespace reigen::transport::rdma {

StatusOr<Room> MeasureRoom(const std::vector<DeviceInfo>& rails) {
  Room room;
  room.max_receives = kDataReceives;
  uint32_t least_cqes = UINT32_MAX;
  for (const DeviceInfo& info : rails) {
    room.max_receives = std::min(room.max_receives, info.max_qp_wrs);
    least_cqes = std::min(least_cqes, info.max_cqes);
    if (info.max_qp_wrs < kMinQueueWrs || info.max_cqes < 2 * kMinQueueWrs) {
      return FailedPrecondition(info.name + " takes " + std::to_string(info.max_qp_wrs) +
                                " requests in a queue and " + std::to_string(info.max_cqes) +
                                " completions; links need " + std::to_string(kMinQueueWrs) +
                                " and " + std::to_string(2 * kMinQueueWrs) +
                                " (--rdma-devices names another device, --transport tcp needs "
                                "none)");
    }
  }
  room.max_receives = std::min(room.max_receives, least_cqes - 2 * kControlQueue - kDataSends);
  for (const DeviceInfo& info : rails) {
    const uint32_t queues = (info.max_cqes - 2 * kControlQueue) / (kDataSends + room.max_receives);
    room.max_queues.push_back(static_cast<uint8_t>(std::min<uint32_t>(queues, kMaxChannels)));
    room.max_channels = std::min(room.max_channels + room.max_queues.back(), kMaxChannels);
  }
  return room;
}

size_t QueuesOfALink(int wanted, const Room& room, size_t rails) {
  return std::max(static_cast<size_t>(std::min(wanted, room.max_channels)), rails);
}

}  // namespace reigen::transport::rdma
