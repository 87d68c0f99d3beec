// A network of RDMA devices in memory, with every fault on demand.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_FAKE_FAKE_FABRIC_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_FAKE_FAKE_FABRIC_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/unique_fd.h"
#include "runtime/transport/rdma/verbs.h"

namespace reigen::transport::rdma {

class FakeFabric;
class FakeQueuePair;
class FakeCompletionQueue;

// A device as the test sees it: what it is, what it does wrong, what it counts.
struct FakeDeviceState {
  int host = 0;
  DeviceInfo info;
  Status open_status;

  // Faults. What is consumed by one use is an optional or a count.
  std::optional<size_t> sends_until_post_fails;     // then PostSend says ENOMEM, once
  std::optional<size_t> receives_until_post_fails;  // the same of PostReceive
  std::optional<WorkStatus> next_send_status;       // of the next send that is executed
  Status next_register_status;
  std::optional<size_t> registers_until_full;  // then every Register says ENOMEM
  Status next_queue_pair_status;
  Status next_connect_status;
  Status next_completion_queue_status;
  Status next_query_status;
  // Of every Poll, Arm, SetError, until it is Ok again: what a device that has gone says.
  Status poll_status;
  Status arm_status;
  Status set_error_status;
  std::optional<WorkStatus> next_receive_status;  // of the next receive that ends
  bool dmabuf = false;         // else EOPNOTSUPP
  int dmabuf_error = 0;        // of RegisterDmabuf, if it is to refuse
  bool late = false;  // what it writes to memory of a GPU is there once it has read of it
  bool withhold = false;  // Poll gives nothing of what has ended
  std::optional<WorkStatus> next_read_status;
  uint64_t locked_limit = UINT64_MAX;
  bool deaf = false;           // SetError works, but nothing is flushed
  std::function<void()> before_arm;  // what happens just before a completion queue is armed; once

  // Counts.
  size_t queries = 0;
  uint64_t locked_bytes = 0;
  size_t registrations = 0;
  size_t queue_pairs = 0;
  size_t completion_queues = 0;
  uint32_t last_completion_queue = 0;  // number of the newest
  bool open = false;
  std::vector<PathAttributes> paths;  // of every Connect
  std::vector<uint16_t> pkey_indexes;  // of every CreateQueuePair
  std::vector<Access> accesses;       // of every Register
  std::vector<const std::byte*> addresses;  // the same
  size_t reads = 0;                   // of memory of a GPU
  uint64_t wrote_bytes = 0;           // to other devices

  UniqueFd completion_event;
  UniqueFd async_event;
  std::deque<AsyncEvent> async;

  void Raise(const AsyncEvent& event);
};

// Memory that a key stands for.
struct FakeMemory {
  struct Late {
    uint64_t address = 0;
    std::vector<std::byte> bytes;
  };

  std::byte* At(uint64_t address) const {
    const auto offset = address - reinterpret_cast<uint64_t>(memory.data());
    return (gpu != nullptr ? gpu : memory.data()) + offset;
  }

  FakeDeviceState* device = nullptr;
  std::span<std::byte> memory;  // the addresses that work requests name
  Access access = Access::kLocal;
  std::byte* gpu = nullptr;  // of a dma-buf: where its bytes are
  std::vector<Late> late;    // written, and not there yet
};

// Bytes on their way from a device to memory of its host.
struct FakeWrite {
  uint32_t key = 0;
  uint64_t address = 0;
  std::vector<std::byte> bytes;
};

// Work is executed when it is posted, or, while `hold` is on, at Release(). A
// receive that is missing, and a write that a fence should have stopped, are
// counted and do no harm. What stands for a dma-buf is a memfd; the addresses under
// which it is registered are never touched.
//
// What a queue pair writes to memory of the host is there as late as may be: when a
// completion of a receive behind it, of the same queue pair, is polled, or when the
// queue pair is in the error state. Its sender's completion says nothing of that.
//
// Threads: one.
class FakeFabric {
 public:
  FakeFabric();
  ~FakeFabric();

  // One port, active, RoCE v2 with the address.
  FakeDeviceState& AddDevice(int host, const std::string& name, const std::string& address);
  // The first of that name; hosts may have devices of equal names.
  FakeDeviceState& device(const std::string& name);
  FakeDeviceState& device(int host, const std::string& name);
  std::unique_ptr<Verbs> VerbsOf(int host);

  // Nothing sent from or to this device arrives, until it is plugged in again.
  void Cut(const std::string& device) { cut_[device] = true; }
  void Mend(const std::string& device) { cut_[device] = false; }

  // The queue pair of that number goes to the error state by itself.
  void Break(uint32_t queue_pair);

  void Hold() { hold_ = true; }
  void HoldReads() { hold_reads_ = true; }
  void Release();

  size_t missing_receives() const { return missing_receives_; }
  size_t dropped() const { return dropped_; }  // work for a queue pair that had ended
  size_t registrations() const;
  size_t queue_pairs() const;

 private:
  friend class FakeDevice;
  friend class FakeCompletionQueue;
  friend class FakeQueuePair;
  friend class FakeRegion;
  friend class FakeVerbs;

  struct Held {
    FakeQueuePair* from = nullptr;
    SendWork work;
    std::vector<std::byte> inlined;
  };

  void Execute(FakeQueuePair& from, const SendWork& work);
  WorkStatus Deliver(FakeQueuePair& from, const SendWork& work);
  WorkStatus Read(FakeQueuePair& from, FakeQueuePair& to, const SendWork& work);
  FakeQueuePair* PeerOf(const FakeQueuePair& from);
  FakeMemory* Covering(uint32_t key, FakeDeviceState& device, uint64_t address, uint64_t bytes);
  void Land(const std::vector<FakeWrite>& writes);

  std::vector<std::unique_ptr<FakeDeviceState>> devices_;
  std::map<uint32_t, FakeMemory> memory_;
  std::map<uint32_t, FakeQueuePair*> queue_pairs_;
  std::map<std::string, bool> cut_;
  std::deque<Held> held_;
  bool hold_ = false;
  bool hold_reads_ = false;
  uint32_t last_key_ = 100;
  uint32_t last_queue_pair_ = 10;
  size_t missing_receives_ = 0;
  size_t dropped_ = 0;
};

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_FAKE_FAKE_FABRIC_H_
