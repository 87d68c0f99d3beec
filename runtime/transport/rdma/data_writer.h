// Writes large messages into the peer's memory, over all data queues of a link.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_DATA_WRITER_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_DATA_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/transport/frame.h"
#include "runtime/transport/rdma/memory.h"
#include "runtime/transport/rdma/path.h"
#include "runtime/transport/rdma/work_queue.h"

namespace reigen::transport::rdma {

// Pieces small enough for every queue to get some, large enough to be worth a work
// request, never above what the device takes at once.
uint64_t PieceBytes(uint64_t message_bytes, size_t queues, uint64_t max_message_bytes);

// A message is cut into pieces, each a WRITE on the queue that has least to do. When
// the last piece is posted, each queue that had one ends its share with an immediate
// value: the last piece itself, or an empty write behind earlier ones. So a message
// takes at most one receive on each queue of the peer, and pieces go to whichever
// queue is free.
//
// Where the memory at an end is a GPU's, a message goes only by ports that have it, and
// if possible by those near to it (ChooseWays); messages of other ways go on meanwhile.
//
// A message that must not overtake control frames is announced, too: its immediate values
// say so, and the caller puts its frame on the control queue when OnSent() returned it.
// The frame alone would not do: what a queue pair has written is there, for whoever reads
// it, behind a completion of the same queue pair, not of another one.
//
// Threads: one owner.
// Buffers: of a message, and its use of the memory, until OnSent() returned it.
class DataWriter {
 public:
  struct Queue {
    WorkQueue* queue = nullptr;
    RailPair rails;
  };
  struct Message {
    Frame frame;
    std::span<const std::byte> payload;
    Place place;
    bool announce = false;
    MemoryUse use;
  };

  DataWriter(const std::vector<Queue>& queues, uint64_t max_message_bytes);

  void Add(Message message) { waiting_.push_back({std::move(message)}); }
  // Posts what there is room for.
  Status Pump();

  // One of the writes on `queue` is complete. The message that has ended with it.
  std::optional<Message> OnSent(uint8_t queue, uint64_t message);

  bool JoinsNear(const Rails& source, const Rails& target) const {
    return NearAtBothEnds(rails_, source, target);
  }
  bool idle() const { return waiting_.empty() && out_.empty(); }

 private:
  struct Share {
    std::deque<uint32_t> out;  // bytes of the writes on their way
    uint64_t bytes_out = 0;
  };
  struct Waiting {
    Message message;
    uint64_t id = 0;
    uint64_t posted_bytes = 0;
    uint32_t used = 0;   // queues, by bit, that have a piece
    uint32_t to_end = 0;  // of them, those whose share is to be ended
    uint32_t ways = 0;    // queues that it may take
  };
  struct Out {
    Message message;
    size_t writes = 0;   // on their way
    bool whole = false;  // no more will be posted
  };

  Status Begin(Waiting& waiting);
  StatusOr<bool> PostAll(Waiting& waiting);
  StatusOr<bool> PostPiece(Waiting& waiting);
  StatusOr<bool> EndShares(Waiting& waiting);
  std::optional<size_t> FreeQueue(uint64_t bytes, uint32_t ways) const;
  Status Post(size_t queue, const Waiting& waiting, uint64_t bytes, Opcode opcode);

  std::vector<WorkQueue*> queues_;
  std::vector<RailPair> rails_;  // by queue
  const uint64_t max_message_bytes_;
  std::vector<Share> shares_;  // by queue
  std::deque<Waiting> waiting_;
  std::unordered_map<uint64_t, Out> out_;  // by id
  uint64_t last_id_ = 0;
};

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_DATA_WRITER_H_
