// What the devices of a host hold for one link. Pure.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_ROOM_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_ROOM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/transport/rdma/verbs_types.h"

namespace reigen::transport::rdma {

struct Room {
  uint32_t max_receives = 0;  // that every device takes in one queue
  int max_channels = 0;       // of a link; of what all completion queues hold together
  std::vector<uint8_t> max_queues = {};  // by rail: for data, of a link, that its one holds
};

// What every one of the devices can hold, up to what is wanted; `rails`: the device of each
// rail. FailedPrecondition: one holds too little for any link.
StatusOr<Room> MeasureRoom(const std::vector<DeviceInfo>& rails);

// How many queue pairs for data a link has at most; there may be one for each rail. `wanted`:
// by the job, or REIGEN_RDMA_QUEUES.
size_t QueuesOfALink(int wanted, const Room& room, size_t rails);

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_ROOM_H_
