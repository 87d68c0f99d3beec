// The protocol of a link without any I/O: matches posts with the peer's frames,
// says what to write next and where to put what comes.
#ifndef REIGEN_RUNTIME_TRANSPORT_LINK_CORE_H_
#define REIGEN_RUNTIME_TRANSPORT_LINK_CORE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/transport/eager_slots.h"
#include "runtime/transport/frame.h"
#include "runtime/transport/link.h"
#include "runtime/transport/link_limits.h"

namespace reigen::transport {

// Whose memory a buffer is: what a GPU's is, this process does not touch.
enum class Owner : uint8_t { kHost, kDevice };

// A short message that came for a receive on a device: `from` has to get into `to`.
struct Placement {
  Tag tag;
  std::span<const std::byte> from;  // until OnPlaced(tag) or the link's end
  std::span<std::byte> to;
};

// A frame to write now: the header, then `payload` (the sender's own buffer).
struct OutFrame {
  Frame frame;
  std::span<const std::byte> payload;
  Owner owner = Owner::kHost;  // of the payload
  bool pinned = false;         // must not overtake frames taken before

  // For transports that write into the peer's memory:
  Place place;                  // of kData: what came with the credit
  std::span<std::byte> target;  // of kCredit: the posted receive; empty if it has ended
};

// How a message of n bytes travels, sender left, receiver right:
//
//   n > kEagerBytes          <-- kCredit   once the receive is posted
//                            kData -->
//   n <= kEagerBytes         kEager -->    into a slot, or into the posted buffer
//     a slot is free         <-- acks      on any frame but kData, once it is consumed
//   n <= kEagerBytes         kRts -->
//     no slot is free, or    <-- kCredit   once the receive is posted
//     it is on a device      kData -->
//   lengths differ           whoever sees it first ends its post with
//                            kPlanMismatch and tells the other with kXMismatch
//
// A sender that waits long for a credit sends kRts too: a receiver that expects
// an eager message, and so gave no credit, sees the mismatch by it. An eager send
// is complete once written; a mismatch found later is a notice at the sender. One
// that meets a receive on a device stays in its slot until the shell has placed it.
//
// Lanes:   a link has several channels, each ordered. Frames may go on any, but
//          for those that must not overtake an RTS for the same tag: they and the
//          RTS go on channel 0 (`pinned`).
// Threads: one owner.
// Buffers: of a post, until its completion is in the queue (Poll).
// Errors:  OnFrame refuses what the protocol forbids; the shell then calls Fail().
class LinkCore {
 public:
  // `peer` names the other end in notices. `max_recvs`: posts of receives not polled.
  explicit LinkCore(std::string peer, size_t max_recvs = kMaxPosts)
      : peer_(std::move(peer)), max_recvs_(max_recvs) {}

  // The caller's side; contracts as in Link.
  Status PostSend(std::span<const std::byte> data, const Tag& tag, uint64_t cookie,
                  Owner owner = Owner::kHost);
  Status PostRecv(std::span<std::byte> data, const Tag& tag, uint64_t cookie,
                  Owner owner = Owner::kHost);
  size_t Poll(std::span<Completion> out);

  // Ends every post with kCancelled or kLinkLost. The shell uses none of the
  // buffers afterwards. The first of these calls counts.
  void Close();
  void Fail(const Status& why);
  const Status& status() const { return status_; }
  bool open() const { return status_.ok(); }
  // Nothing is posted that has not ended.
  bool idle() const { return sends_.empty() && recvs_.empty(); }
  bool has_completions() const { return !completions_.empty(); }

  // Output. `channel_zero`: pinned frames may be taken as well.
  bool HasOutput(bool channel_zero) const;
  std::optional<OutFrame> NextFrame(bool channel_zero);
  // The frame and its payload have left. Call for every frame taken.
  void OnSent(const Frame& frame);

  // Input. Where the frame's payload goes (frame.PayloadBytes() long); once it is
  // there, OnPayload(frame). `place` comes with a credit, if the transport has such.
  StatusOr<std::span<std::byte>> OnFrame(const Frame& frame, const Place& place = {});
  void OnPayload(const Frame& frame);

  // Messages to be placed, each given once; OnPlaced when that is done.
  std::vector<Placement> TakePlacements();
  void OnPlaced(const Tag& tag);

  // Time: senders that wait long for a credit.
  void Tick(Time now);
  std::optional<Time> NextDeadline() const;

  // What people should read about mismatches; each is given once.
  std::vector<std::string> TakeNotices();

 private:
  enum class SendState { kWaiting, kAsked, kQueued, kWriting };
  struct Send {
    std::span<const std::byte> data;
    uint64_t cookie = 0;
    Owner owner = Owner::kHost;
    SendState state = SendState::kWaiting;
    bool pinned = false;    // an RTS went before
    bool old = false;       // has waited since the last look
    OpResult result = OpResult::kOk;
    Place place;            // from the credit
  };
  enum class RecvState { kPosted, kCredited, kLanding, kInSlot, kPlacing };
  struct Recv {
    std::span<std::byte> data;
    uint64_t cookie = 0;
    Owner owner = Owner::kHost;
    RecvState state = RecvState::kPosted;
  };
  // An eager message that came before its receive, or that nobody may take.
  struct Held {
    std::unique_ptr<std::byte[]> bytes;
    size_t length = 0;
    bool complete = false;
    bool unwanted = false;
  };
  struct Done {
    Completion completion;
    bool send = false;
  };
  struct Credit {
    uint64_t length = 0;
    Place place;
  };
  using Sends = std::unordered_map<Tag, Send, TagHash>;
  using Recvs = std::unordered_map<Tag, Recv, TagHash>;

  // Sender's half (link_core_send.cc).
  Status OnCredit(const Frame& frame, const Place& place);
  Status OnRecvMismatch(const Frame& frame);
  void Grant(Sends::iterator send, const Credit& credit);
  void Ask(const Tag& tag, Send& send);
  void FinishSend(Sends::iterator send, OpResult result);
  void SetWaiting(Send& send, SendState state);

  // Receiver's half (link_core_recv.cc).
  StatusOr<std::span<std::byte>> OnEager(const Frame& frame);
  StatusOr<std::span<std::byte>> OnData(const Frame& frame);
  Status OnRts(const Frame& frame);
  Status OnSendMismatch(const Frame& frame);
  void OnEagerPayload(const Frame& frame);
  bool TakeHeld(Recvs::iterator recv);
  bool MeetRts(Recvs::iterator recv);
  std::span<std::byte> Hold(const Frame& frame, bool unwanted);
  void FinishRecv(Recvs::iterator recv, OpResult result);
  void RefuseRecv(Recvs::iterator recv, uint64_t sent_bytes);

  void End(const Status& why, OpResult result);
  void Complete(uint64_t cookie, OpResult result, bool send);
  void Control(FrameKind kind, const Tag& tag, uint64_t length, bool pinned);
  void Notice(const Tag& tag, uint64_t sent_bytes, uint64_t expected_bytes, bool sender);

  const std::string peer_;
  const size_t max_recvs_;
  Status status_;
  OpResult ended_ = OpResult::kOk;  // of posts after the end

  Sends sends_;
  Recvs recvs_;
  std::unordered_map<Tag, Credit, TagHash> credits_;  // given before the send
  std::unordered_map<Tag, uint64_t, TagHash> asked_;  // RTS before the receive: length
  std::unordered_map<Tag, Held, TagHash> held_;
  std::vector<Placement> placements_;
  size_t posted_sends_ = 0;  // not polled yet
  size_t posted_recvs_ = 0;
  size_t waiting_ = 0;  // sends in kWaiting
  std::optional<Time> next_look_;

  SlotsOut slots_out_;
  SlotsIn slots_in_;

  // Control frames and eager messages go before data.
  std::deque<Frame> urgent_, pinned_urgent_;
  std::deque<Frame> bulk_, pinned_bulk_;
  std::deque<Done> completions_;
  std::vector<std::string> notices_;
};

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_LINK_CORE_H_
