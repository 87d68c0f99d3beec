// A pipe to one peer host over one transport, and the transport itself.
#ifndef REIGEN_RUNTIME_TRANSPORT_LINK_H_
#define REIGEN_RUNTIME_TRANSPORT_LINK_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/collective_id.h"
#include "runtime/base/status.h"

namespace reigen::transport {

// What a message is matched by (R4): never by order of arrival.
struct Tag {
  CollectiveId collective;
  uint32_t step = 0;
  uint32_t chunk = 0;
  uint32_t segment = 0;

  auto operator<=>(const Tag&) const = default;
};

struct TagHash {
  size_t operator()(const Tag& tag) const;
};

// For messages to people: "epoch 1 stream 0 sequence 5 step 1 chunk 2 segment 3".
std::string ToString(const Tag& tag);

enum class OpResult : uint8_t {
  kOk = 0,
  kCancelled = 1,     // Close() here
  kLinkLost = 2,      // the peer or the path is gone: see Link::error()
  kPlanMismatch = 3,  // the peer's length for this tag is another one
};

struct Completion {
  uint64_t cookie = 0;  // the caller's, from the post
  OpResult result = OpResult::kOk;
};

// An ordered set of channels to one peer.
//
//   kConnecting --> kReady --peer lost / fault--> kFailed
//        \_____________\________ Close() _______> kClosed     (never back)
//
// Threads:  all calls from the thread that owns the Transport.
// Buffers:  borrowed from PostX until its Completion is polled; must lie in a
//           region registered with the same transport.
// Order:    none. A receive takes the message with its tag, whenever either was
//           posted; a tag is used at most once in each direction.
// Credit:   data moves only once the receive is posted (the receiver grants a
//           credit), except messages of up to EagerBytes() that may go into the
//           slots kept per stream and direction. Nothing unexpected ever fills a
//           shared buffer or blocks a channel.
// Errors:   PostX fails only with ResourceExhausted (queue full: Poll, retry).
//           Everything later arrives as a Completion, exactly one per post, also
//           after Close().
class Link {
 public:
  virtual ~Link() = default;

  virtual Status PostSend(std::span<const std::byte> data, const Tag& tag, uint64_t cookie) = 0;
  virtual Status PostRecv(std::span<std::byte> data, const Tag& tag, uint64_t cookie) = 0;

  // Takes up to out.size() completions; returns how many. Never blocks.
  virtual size_t Poll(std::span<Completion> out) = 0;

  virtual void Close() = 0;

  // Ok while connecting or ready; afterwards why not, with both ends named.
  virtual Status error() const = 0;
};

// The other end of a link to be made.
struct Peer {
  int host = 0;                        // its number in the job
  std::string name;                    // for messages
  std::vector<std::string> addresses;  // as its Transport::addresses() gave them
};

// Memory that links may read from and write to, until destroyed.
class Region {
 public:
  virtual ~Region() = default;
};

// Memory of a GPU, which this process does not touch.
struct DeviceMemory {
  int dmabuf = -1;              // of the caller's; may be closed once it is registered
  uint64_t offset = 0;          // in the dma-buf
  std::span<std::byte> memory;  // the addresses that stand for it in posts; never accessed
  // What was received is in the GPU's memory for all readers only once the device that
  // wrote it has read it back: a receive ends after that.
  bool read_back = true;
  std::vector<std::string> near;  // devices to be preferred for it; empty: all are alike
};

// All links of one worker over one kind of network.
//
// Threads: one owner for the transport and all its links.
// Waiting: event_fd() is readable when Progress() has work; NextDeadline() says
//          when Progress() wants to be called although nothing came. Posts may
//          only be queued: NextDeadline() is then in the past until Progress()
//          ran, so ask it after posting and before sleeping. Completions come
//          from Progress() or PostX: poll after both.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual const char* name() const = 0;

  // What peers need in order to reach this end; told to them by the coordinator.
  virtual std::vector<std::string> addresses() const = 0;

  virtual StatusOr<std::unique_ptr<Region>> Register(std::span<std::byte> memory) = 0;

  // The same for a GPU's memory. Unimplemented: this transport, device, kernel or driver
  // cannot; other codes: it was refused. The text says what and why. Here: Unimplemented.
  virtual StatusOr<std::unique_ptr<Region>> RegisterDevice(const DeviceMemory& memory);
  // Whether links to `peer` take such memory; if not, why.
  virtual Status TakesDeviceMemory(const Peer& peer) const;
  // The network devices that it works with, by the system's names; here none.
  virtual std::vector<std::string> devices() const { return {}; }

  // The link to `peer`. Both ends call this; the one with the lower host number
  // dials, and keeps trying until the connect deadline. Posts are accepted at
  // once. The transport must outlive the link.
  virtual std::unique_ptr<Link> Connect(const Peer& peer) = 0;

  // Messages of up to so many bytes may travel without waiting for a credit.
  virtual size_t EagerBytes() const = 0;

  virtual int event_fd() const = 0;
  virtual void Progress(Time now) = 0;  // never blocks
  virtual std::optional<Time> NextDeadline() const = 0;
};

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_LINK_H_
