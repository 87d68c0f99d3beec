// Counts the eager slots of a link, per stream and direction.
#ifndef REIGEN_RUNTIME_TRANSPORT_EAGER_SLOTS_H_
#define REIGEN_RUNTIME_TRANSPORT_EAGER_SLOTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "runtime/base/status.h"

namespace reigen::transport {

// The sender's view: slots taken by messages the peer has not acknowledged.
// A stream without any takes no memory.
class SlotsOut {
 public:
  bool Take(uint32_t stream);
  Status Acknowledge(uint32_t stream, uint32_t count);  // refuses more than taken

 private:
  std::unordered_map<uint32_t, uint32_t> taken_;
};

// The receiver's view.
//
//   (free) --Occupy--> held --Consume--> to acknowledge --TakeAcks--> (free)
class SlotsIn {
 public:
  Status Occupy(uint32_t stream);  // refuses a message more than there are slots
  void Consume(uint32_t stream);

  struct Acks {
    uint32_t stream = 0;
    uint16_t count = 0;
  };
  Acks TakeAcks();  // of one stream; count 0: nothing to say

  // Some stream's sender may run out of slots: tell it without a message to ride on.
  bool due() const { return due_ > 0; }

 private:
  struct Stream {
    uint32_t held = 0;
    uint32_t to_ack = 0;
  };
  std::unordered_map<uint32_t, Stream> streams_;
  std::deque<uint32_t> to_tell_;  // streams with to_ack > 0, each once
  size_t due_ = 0;                // streams with to_ack >= kAckAtLeast
};

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_EAGER_SLOTS_H_
