// The worker's end of the local protocol for the SDK's tests: a thread that plays
// a script. Deliberately not the real worker: it can also be late, refuse and lie.
#ifndef REIGEN_CLIENT_C_FAKE_WORKER_H_
#define REIGEN_CLIENT_C_FAKE_WORKER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "proto/local/local.h"
#include "runtime/base/unique_fd.h"

namespace reigen::sdk {

// A request as it came through the queue.
struct SeenRequest {
  local::RequestSlot head;
  std::string name;
  std::vector<local::TensorSlot> tensors;
  std::vector<std::string> tensor_names;
};

// A device arena as it was announced.
struct SeenDeviceArena {
  local::AddDeviceArena packet;
  uint32_t arena = 0;
  bool has_dmabuf = false;
};

// What follows a command's head: an ItemSize or a MemoryPlace.
struct CommandWord {
  CommandWord(const local::ItemSize& size);     // NOLINT: reads as a list of words
  CommandWord(const local::MemoryPlace& place);  // NOLINT
  std::byte bytes[sizeof(local::MemoryPlace)];
};

struct FakeScript {
  int32_t rank = 0;
  int32_t size = 4;
  uint64_t arena_bytes = 1 << 20;
  // Steps that are left out or go wrong.
  std::string refuse_hello;   // Refused in place of Welcome, with this text
  bool answer_hello = true;
  bool begin_epoch = true;
  std::string refuse_growth;
  bool take_requests = true;
  bool answer_shutdown = true;
  bool takes_device_arenas = false;
  uint64_t device_scratch_bytes = 0;
  bool requires_device_arenas = false;
  std::string refuse_device_arena;
  bool die_at_device_arena = false;
  // Called in the worker's thread for each request; null: kept for Complete().
  std::function<void(class FakeWorker&, const SeenRequest&)> on_request;
  // The same for each answer to a command.
  std::function<void(class FakeWorker&, const local::DoneSlot&)> on_done;
};

// Threads: the public functions are called from the test's thread or, in
//          on_request, from its own.
class FakeWorker {
 public:
  explicit FakeWorker(FakeScript script);
  ~FakeWorker();

  // Sets REIGEN_SOCKET and REIGEN_RANK for the next reigen_init.
  void SetEnvironment() const;
  // What was seen so far, once it is at least `count` requests (30 s at most).
  std::vector<SeenRequest> WaitForRequests(size_t count);
  size_t requests_seen();
  // The number of NameSlot definitions, by first piece.
  size_t names_defined();

  void Complete(uint64_t request, local::ResultCode code = local::ResultCode::kOk,
                const std::string& text = "", const void* inline_bytes = nullptr,
                uint32_t inline_count = 0);
  // Everything that is pending, with success and the input as result.
  void Echo(const SeenRequest& request);
  std::byte* Memory(const local::TensorSlot& tensor);
  size_t arena_count();

  // Memory of GPUs: fake_worker_device.cc.
  std::vector<SeenDeviceArena> device_arenas();
  bool IsOnDevice(const local::TensorSlot& tensor);
  local::MemoryPlace Place(const local::TensorSlot& tensor);
  // Sends a command; its id is the result.
  uint64_t Command(local::CommandSlot head, const std::vector<CommandWord>& words);
  // Any slots at all.
  void CommandSlots(const std::vector<local::Slot>& slots);
  uint64_t Mirror(uint64_t request);
  // What was answered so far, once it is that many (30 s at most).
  std::vector<local::DoneSlot> WaitForDone(size_t count);
  void SendPeerArena(const local::PeerArena& arena);
  // A scratch file, mapped here.
  std::byte* SendHostScratch(uint64_t announced_bytes, uint64_t file_bytes);
  void SendDeviceUse(bool use, const std::string& why_not);
  // The answers to these, in their order.
  std::vector<local::PeerArenaOpened> WaitForOpened(size_t count);
  std::vector<local::HostScratchMapped> WaitForMapped(size_t count);
  // What it said of not using its GPU, the same way.
  std::vector<local::DeviceUse> WaitForNoUse(size_t count);
  // The command thread sleeps.
  bool TrainerSleeps() const { return header_->trainer_sleeping.load() != 0; }

  void BeginEpoch();
  void TakeRequests(bool take);
  void SendRefused(local::ResultCode code, const std::string& text);
  void SendRaw(const void* bytes, size_t count);
  // Dies: the socket ends.
  void Die();

 private:
  struct Mapping {
    UniqueFd fd;
    std::byte* base = nullptr;
    uint64_t bytes = 0;
  };

  static Mapping MakeFile(uint64_t bytes);
  void Serve();
  bool OnPacket();
  void OnAddDeviceArena(const local::AddDeviceArena& packet, bool has_dmabuf);
  void OnDones();
  template <typename T>
  std::vector<T> WaitFor(const std::vector<T>& list, size_t count);
  void OnSubmissions();
  void OnSlot(const local::Slot& slot);
  void SendWithFds(const void* bytes, size_t count, const std::vector<int>& fds);
  void SendWelcome();

  FakeScript script_;
  std::string folder_;
  std::string path_;
  UniqueFd listener_;
  UniqueFd stop_;
  UniqueFd wake_;
  std::thread thread_;

  std::recursive_mutex mutex_;  // of what follows; on_request calls back in
  UniqueFd socket_;
  Mapping queues_;
  std::vector<Mapping> arenas_;
  local::QueueHeader* header_ = nullptr;
  std::map<uint32_t, std::string> names_;
  size_t names_defined_ = 0;
  std::vector<SeenRequest> seen_;
  SeenRequest incoming_;
  std::vector<SeenDeviceArena> device_arenas_;
  uint64_t last_command_ = 0;
  std::vector<local::DoneSlot> dones_;
  std::vector<local::PeerArenaOpened> opened_;
  std::vector<local::HostScratchMapped> mapped_;
  std::vector<local::DeviceUse> no_uses_;
  std::vector<Mapping> scratches_;
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_FAKE_WORKER_H_
