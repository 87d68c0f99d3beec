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

DataWriter::DataWriter(std::vector<Queue> queues, uint64_t max_message_bytes)
    : queues_(std::move(queues)), max_message_bytes_(max_message_bytes), shares_(queues_.size()) {}

Status DataWriter::Pump() {
  while (!waiting_.empty()) {
    Waiting& first = waiting_.front();
    if (first.id == 0) {
      first.id = last_id_ = (last_id_ + 1) & kIdMask;
      out_[first.id].message = first.message;
    }
    while (first.posted_bytes < first.message.payload.size()) {
      REIGEN_ASSIGN_OR_RETURN(const bool posted, PostPiece(first));
      if (!posted) return OkStatus();
    }
    REIGEN_ASSIGN_OR_RETURN(const bool ended, EndShares(first));
    if (!ended) return OkStatus();
    out_.at(first.id).whole = true;
    waiting_.pop_front();
  }
  return OkStatus();
}

std::optional<size_t> DataWriter::FreeQueue(uint64_t bytes) const {
  std::optional<size_t> best;
  for (size_t i = 0; i < shares_.size(); ++i) {
    const Share& share = shares_[i];
    const bool full = share.out.size() >= kPiecesOut ||
                      (share.bytes_out > 0 && share.bytes_out + bytes > kPieceBytesOut);
    if (!full && (!best || share.bytes_out < shares_[*best].bytes_out)) best = i;
  }
  return best;
}

StatusOr<bool> DataWriter::PostPiece(Waiting& waiting) {
  const uint64_t size = waiting.message.payload.size();
  const uint64_t piece = std::min(size - waiting.posted_bytes,
                                  PieceBytes(size, queues_.size(), max_message_bytes_));
  const std::optional<size_t> queue = FreeQueue(piece);
  if (!queue) return false;
  const bool last = waiting.posted_bytes + piece == size;
  waiting.used |= 1u << *queue;
  const bool ends = last && !waiting.message.announce;
  REIGEN_RETURN_IF_ERROR(Post(*queue, waiting, piece, ends ? Opcode::kWriteWithImm : Opcode::kWrite));
  waiting.posted_bytes += piece;
  if (ends) waiting.to_end = waiting.used & ~(1u << *queue);
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
  const Queue& queue = queues_[index];
  const Message& message = waiting.message;
  SendWork work;
  work.id = WorkId{WorkKind::kDataSend, static_cast<uint8_t>(index + 1), waiting.id}.Encode();
  work.opcode = opcode;
  work.local = {message.payload.data() + waiting.posted_bytes, static_cast<uint32_t>(bytes),
                message.use->local_keys[static_cast<size_t>(queue.local_rail)]};
  work.remote_address = message.place.address + waiting.posted_bytes;
  work.remote_key = message.place.keys[static_cast<size_t>(queue.remote_rail)];
  if (opcode == Opcode::kWriteWithImm) {
    work.immediate = MakeImmediate(message.place.slot,
                                   static_cast<uint32_t>(std::popcount(waiting.used)));
  }
  REIGEN_RETURN_IF_ERROR(queue.queue->Send(work));
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
