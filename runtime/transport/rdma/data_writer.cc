#include "runtime/transport/rdma/data_writer.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/transport/rdma/landings.h"
#include "runtime/transport/rdma/rdma_limits.h"

namespace reigen::transport::rdma {
namespace {

constexpr uint64_t kPageBytes = 4096;
// Pieces for each queue, so that one that is slow takes fewer.
constexpr uint64_t kPiecesPerQueue = 2;
constexpr uint64_t kIdMask = (uint64_t{1} << 48) - 1;

}  // namespace

uint64_t PieceBytes(uint64_t message_bytes, size_t queues, uint64_t max_message_bytes) {
  const uint64_t pieces = queues > 1 ? queues * kPiecesPerQueue : 1;
  const uint64_t even = (message_bytes / pieces + kPageBytes) / kPageBytes * kPageBytes;
  return std::min(std::clamp(even, kMinPieceBytes, kMaxPieceBytes), max_message_bytes);
}

DataWriter::DataWriter(const std::vector<Queue>& queues, uint64_t max_message_bytes)
    : max_message_bytes_(max_message_bytes), shares_(queues.size()) {
  for (const Queue& queue : queues) {
    queues_.push_back(queue.queue);
    rails_.push_back(queue.rails);
  }
}

Status DataWriter::Pump() {
  const uint32_t all = (1u << queues_.size()) - 1;
  uint32_t full = 0;  // of an earlier message that waits
  for (auto at = waiting_.begin(); at != waiting_.end() && full != all;) {
    if (at->id == 0) REIGEN_RETURN_IF_ERROR(Begin(*at));
    bool whole = false;
    if ((at->ways & full) == 0) {
      REIGEN_ASSIGN_OR_RETURN(whole, PostAll(*at));
    }
    if (whole) {
      out_.at(at->id).whole = true;
      at = waiting_.erase(at);
    } else {
      full |= at->ways;
      ++at;
    }
  }
  return OkStatus();
}

Status DataWriter::Begin(Waiting& waiting) {
  const Message& message = waiting.message;
  waiting.ways = ChooseWays(rails_, message.use->rails, message.place.rails);
  if (waiting.ways == 0) {
    return FailedPrecondition("no port that has the memory here leads to one that has it there: " +
                              ToString(message.frame.tag));
  }
  waiting.id = last_id_ = (last_id_ + 1) & kIdMask;
  out_[waiting.id].message = message;
  return OkStatus();
}

// Whether no more of it has to be posted.
StatusOr<bool> DataWriter::PostAll(Waiting& waiting) {
  while (waiting.posted_bytes < waiting.message.payload.size()) {
    REIGEN_ASSIGN_OR_RETURN(const bool posted, PostPiece(waiting));
    if (!posted) return false;
  }
  return EndShares(waiting);
}

std::optional<size_t> DataWriter::FreeQueue(uint64_t bytes, uint32_t ways) const {
  std::optional<size_t> best;
  for (size_t i = 0; i < shares_.size(); ++i) {
    if ((ways >> i & 1) == 0) continue;
    const Share& share = shares_[i];
    const bool full = share.out.size() >= kPiecesOut ||
                      (share.bytes_out > 0 && share.bytes_out + bytes > kPieceBytesOut);
    if (!full && (!best || share.bytes_out < shares_[*best].bytes_out)) best = i;
  }
  return best;
}

StatusOr<bool> DataWriter::PostPiece(Waiting& waiting) {
  const uint64_t size = waiting.message.payload.size();
  const auto queues = static_cast<size_t>(std::popcount(waiting.ways));
  const uint64_t piece =
      std::min(size - waiting.posted_bytes, PieceBytes(size, queues, max_message_bytes_));
  const std::optional<size_t> queue = FreeQueue(piece, waiting.ways);
  if (!queue) return false;
  const bool last = waiting.posted_bytes + piece == size;
  waiting.used |= 1u << *queue;
  REIGEN_RETURN_IF_ERROR(Post(*queue, waiting, piece, last ? Opcode::kWriteWithImm : Opcode::kWrite));
  waiting.posted_bytes += piece;
  if (last) waiting.to_end = waiting.used & ~(1u << *queue);
  return true;
}

StatusOr<bool> DataWriter::EndShares(Waiting& waiting) {
  for (size_t i = 0; i < queues_.size(); ++i) {
    if ((waiting.to_end >> i & 1) == 0) continue;
    if (shares_[i].out.size() >= kDataSends) return false;
    REIGEN_RETURN_IF_ERROR(Post(i, waiting, 0, Opcode::kWriteWithImm));
    waiting.to_end &= ~(1u << i);
  }
  return true;
}

Status DataWriter::Post(size_t index, const Waiting& waiting, uint64_t bytes, Opcode opcode) {
  const RailPair& rails = rails_[index];
  const Message& message = waiting.message;
  SendWork work;
  work.id = WorkId{WorkKind::kDataSend, static_cast<uint8_t>(index + 1), waiting.id}.Encode();
  work.opcode = opcode;
  work.local = {message.payload.data() + waiting.posted_bytes, static_cast<uint32_t>(bytes),
                message.use->local_keys[static_cast<size_t>(rails.local)]};
  work.remote_address = message.place.address + waiting.posted_bytes;
  work.remote_key = message.place.keys[static_cast<size_t>(rails.remote)];
  if (opcode == Opcode::kWriteWithImm) {
    work.immediate = MakeImmediate(message.place.slot,
                                   static_cast<uint32_t>(std::popcount(waiting.used)),
                                   message.announce);
  }
  REIGEN_RETURN_IF_ERROR(queues_[index]->Send(work));
  shares_[index].out.push_back(static_cast<uint32_t>(bytes));
  shares_[index].bytes_out += bytes;
  ++out_.at(waiting.id).writes;
  return OkStatus();
}

std::optional<DataWriter::Message> DataWriter::OnSent(uint8_t queue, uint64_t id) {
  Share& share = shares_[queue - 1u];
  share.bytes_out -= share.out.front();  // a queue pair completes in order
  share.out.pop_front();
  const auto at = out_.find(id);
  REIGEN_CHECK(at != out_.end(), "a write of a message");
  if (--at->second.writes > 0 || !at->second.whole) return std::nullopt;
  Message message = std::move(at->second.message);
  out_.erase(at);
  return message;
}

}  // namespace reigen::transport::rdma
