// The protocol between a trainer's SDK and the worker of its host: plain structs
// in shared memory and over a UNIX socket. No pointers, no C++ objects: either
// side may be of another build, so sizes and offsets are asserted below and
// kVersion is raised with every change.
//
//   trainer                                     worker
//   connect(REIGEN_SOCKET), Hello         ->    checks SO_PEERCRED, pid, rank
//                                         <-    Welcome + fds: queues, arena 1, wake
//                                         <-    EpochBegun   (every rank has called init)
//   submission queue, wake eventfd        ->    requests
//                                         <-    completion queue, futex
//   GrowArena                             ->
//                                         <-    ArenaGrown + fd
//   AddDeviceArena (+ dma-buf)            ->
//                                         <-    DeviceArenaAdded
//                                         <-    PeerArena, HostScratch + fd, DeviceUse
//   PeerArenaOpened, HostScratchMapped    ->
//   DeviceUse                             ->
//                                         <-    command queue, futex
//   done queue, wake eventfd              ->
//   Shutdown                              ->
//                                         <-    ShutdownDone, closes
//
// The socket is SOCK_SEQPACKET: one struct a packet. Its end means the other side
// is gone. Everything that the trainer writes is input: the worker copies a
// record out of shared memory before it looks at it.
#ifndef REIGEN_PROTO_LOCAL_LOCAL_H_
#define REIGEN_PROTO_LOCAL_LOCAL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace reigen::local {

inline constexpr uint64_t kMagic = 0x4e45474945520001ull;
inline constexpr uint32_t kVersion = 5;

// --- limits ---------------------------------------------------------------------
// Slots of the submission queue: a grouped request of 1000 tensors with new names
// fits twice. A full queue makes enqueue wait.
inline constexpr uint32_t kSubmissionSlots = 8192;
inline constexpr uint32_t kCompletionSlots = 8192;
// A name: layer paths of real models stay under 300 bytes.
inline constexpr uint32_t kMaxNameBytes = 4096;
// Name ids a session may have defined; the SDK redefines the oldest idle one.
inline constexpr uint32_t kMaxNames = 65536;
// Tensors of one grouped request.
inline constexpr uint32_t kMaxGroupTensors = 4096;
// Dimensions sent as they are; of more, the last entry is the product of the rest.
inline constexpr uint32_t kMaxDims = 8;
// A payload that travels in the record itself, without arena.
inline constexpr uint32_t kInlineBytes = 32;
inline constexpr uint32_t kMaxErrorBytes = 4096;
// Of one arena file; more memory is another arena.
inline constexpr uint64_t kFirstArenaBytes = 64ull << 20;
inline constexpr uint32_t kMaxArenas = 4096;
inline constexpr uint32_t kArenaAlignment = 64;
// Slots of the command queue; the worker has at most kDoneSlots commands out.
inline constexpr uint32_t kCommandSlots = 4096;
inline constexpr uint32_t kDoneSlots = 1024;
inline constexpr uint32_t kMaxCommandItems = 256;
inline constexpr uint32_t kMaxCommandTensors = 16;  // inputs, and outputs, of an item

// --- socket packets -------------------------------------------------------------
enum class PacketKind : uint32_t {
  kHello = 1,
  kWelcome = 2,
  kRefused = 3,
  kEpochBegun = 4,
  kGrowArena = 5,
  kArenaGrown = 6,
  kShutdown = 7,
  kShutdownDone = 8,
  kAddDeviceArena = 9,
  kDeviceArenaAdded = 10,
  kPeerArena = 11,
  kPeerArenaOpened = 12,
  kHostScratch = 13,
  kHostScratchMapped = 14,
  kDeviceUse = 15,
};

struct Packet {
  uint64_t magic = kMagic;
  uint32_t version = kVersion;
  PacketKind kind = PacketKind::kHello;
};

struct Hello {
  Packet packet{.kind = PacketKind::kHello};
  int32_t rank = -1;  // REIGEN_RANK of the environment
  int32_t pid = 0;    // checked against SO_PEERCRED
};

// With SCM_RIGHTS: queues memfd, first arena memfd (id 0), wake eventfd.
struct Welcome {
  Packet packet{.kind = PacketKind::kWelcome};
  uint64_t arena_bytes = 0;
  int32_t worker_pid = 0;
  uint32_t takes_device_arenas = 0;  // 0: CUDA tensors come in arenas of host memory
};

// Also in the place of Welcome, EpochBegun and ArenaGrown.
struct Refused {
  Packet packet{.kind = PacketKind::kRefused};
  uint32_t code = 0;  // ResultCode
  uint32_t text_bytes = 0;
  char text[1024] = {};
};

struct EpochBegun {
  Packet packet{.kind = PacketKind::kEpochBegun};
  uint64_t epoch = 0;
  uint64_t device_scratch_bytes = 0;  // of a scratch on the GPU; 0: none (one host)
  int32_t rank = 0, size = 0, local_rank = 0, local_size = 0, cross_rank = 0, cross_size = 0;
  uint32_t requires_device_arenas = 0;  // 1: the job may end if payloads are not there
  uint32_t reserved = 0;
};

struct GrowArena {
  Packet packet{.kind = PacketKind::kGrowArena};
  uint64_t bytes = 0;
};

// With SCM_RIGHTS: the memfd, sealed against a change of size. Ids grow by one.
struct ArenaGrown {
  Packet packet{.kind = PacketKind::kArenaGrown};
  uint64_t bytes = 0;
  uint32_t arena = 0;
  uint32_t reserved = 0;
};

struct Shutdown {
  Packet packet{.kind = PacketKind::kShutdown};
};
struct ShutdownDone {
  Packet packet{.kind = PacketKind::kShutdownDone};
};

// --- device arenas ----------------------------------------------------------------
// Memory that the SDK allocated on a trainer's GPU. The worker, which has no CUDA, never
// touches it: it has the trainers work on it by commands, and RDMA devices move it. A
// request's payload may be in one, as in an arena of host memory: both have ids of one
// series, in the order of GrowArena and AddDeviceArena.
enum class DeviceArenaKind : uint32_t {
  kTensors = 0,  // payloads; other trainers of the host work on it too
  kScratch = 1,  // what commands to its owner work in; at most one
};

inline constexpr uint32_t kIpcHandleBytes = 64;  // CUipcMemHandle
inline constexpr uint32_t kWhyBytes = 256;       // text, 0-terminated: fixed_text.h

// Of a scratch with SCM_RIGHTS: its dma-buf, if the driver gave one.
struct AddDeviceArena {
  Packet packet{.kind = PacketKind::kAddDeviceArena};
  uint64_t bytes = 0;
  DeviceArenaKind kind = DeviceArenaKind::kTensors;
  int32_t capability_major = 0;  // of the GPU: compute capability
  int32_t writes_ordering = 0;   // CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING
  uint32_t allows_rdma = 0;      // CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED
  char bus_id[16] = {};          // "0000:3b:00.0"
  uint8_t ipc_handle[kIpcHandleBytes] = {};
  char why_no_dmabuf[kWhyBytes] = {};  // empty: there is one
};

struct DeviceArenaAdded {
  Packet packet{.kind = PacketKind::kDeviceArenaAdded};
  uint64_t bytes = 0;
  uint32_t arena = 0;
  uint32_t reserved = 0;
};

// An arena (kTensors) of another trainer of the host, to be opened by the handle.
struct PeerArena {
  Packet packet{.kind = PacketKind::kPeerArena};
  uint64_t bytes = 0;
  uint32_t local_rank = 0;
  uint32_t arena = 0;
  char bus_id[16] = {};  // of its GPU; empty: not known
  uint8_t ipc_handle[kIpcHandleBytes] = {};
};
// Commands that name it come only after this. Without success they never do.
struct PeerArenaOpened {
  Packet packet{.kind = PacketKind::kPeerArenaOpened};
  uint32_t local_rank = 0;
  uint32_t arena = 0;
  uint32_t code = 0;  // ResultCode
  char why_not[kWhyBytes] = {};
  uint32_t reserved = 0;
};

// With SCM_RIGHTS: a memfd of the worker's, in the place of scratches on GPUs. To be
// mapped and page-locked.
struct HostScratch {
  Packet packet{.kind = PacketKind::kHostScratch};
  uint64_t bytes = 0;
};
struct HostScratchMapped {
  Packet packet{.kind = PacketKind::kHostScratchMapped};
  uint32_t code = 0;  // ResultCode
  char why_not[kWhyBytes] = {};
  uint32_t reserved = 0;
};

// Whether new payloads of CUDA tensors should be in device arenas. Until it is said: yes,
// if the worker takes any. From a trainer, with 0: that none of its own will be there,
// in this epoch; the host's other trainers are told to do without as well.
struct DeviceUse {
  Packet packet{.kind = PacketKind::kDeviceUse};
  uint32_t use = 0;
  char why_not[kWhyBytes] = {};
  uint32_t reserved = 0;
};

// --- submission queue: slots of 128 bytes ----------------------------------------
// A request is one RequestSlot followed by tensor_count TensorSlots; all become
// visible at once (the head moves past them together). A name is defined by
// NameSlots, in order, before it is used.
enum class SlotKind : uint32_t { kName = 1, kRequest = 2, kTensor = 3 };

struct NameSlot {
  SlotKind kind = SlotKind::kName;
  uint32_t name = 0;         // id, < kMaxNames; an id may be defined again
  uint32_t total_bytes = 0;  // 1 ... kMaxNameBytes
  uint32_t offset = 0;       // of this piece; pieces come in order
  uint32_t piece_bytes = 0;
  char bytes[108] = {};
};

// Where the trainer has its tensors. The worker sees the arena alone; it needs to know
// so that ranks do not mix them.
inline constexpr uint8_t kHostDevice = 0;
inline constexpr uint8_t kCudaDevice = 1;

struct RequestSlot {
  SlotKind kind = SlotKind::kRequest;
  uint32_t name = 0;           // of the request (the group), an id
  uint64_t request = 0;        // the trainer's, never used again in a session
  uint8_t collective = 0;      // CollectiveKind
  uint8_t op = 0;              // ReduceOp
  uint8_t device_kind = kHostDevice;
  uint8_t flags = 0;           // 0
  uint32_t tensor_count = 0;   // 0 for a barrier
  int32_t root = 0;            // broadcast: global rank
  uint32_t process_set = 0;    // 0 = all ranks
  double prescale = 1.0;
  double postscale = 1.0;
  uint64_t reserved[8] = {};
  uint8_t padding[16] = {};
};

inline constexpr uint32_t kInlineArena = 0xffffffffu;

struct TensorSlot {
  SlotKind kind = SlotKind::kTensor;
  uint32_t name = 0;
  uint8_t dtype = 0;       // DataType
  uint8_t ndim = 0;
  uint8_t reserved[2] = {};
  uint32_t arena = 0;      // id, or kInlineArena: the payload is `inline_bytes`
  uint64_t offset = 0;     // in the arena, a multiple of kArenaAlignment
  uint64_t count = 0;      // elements; the result replaces them in place
  uint64_t shape[kMaxDims] = {};
  uint8_t inline_bytes[kInlineBytes] = {};
};

// --- completion queue: slots of 128 bytes ---------------------------------------
enum class ResultCode : uint32_t {
  kOk = 0,
  kInvalidArgument = 1,
  kFailedPrecondition = 2,  // mismatch between ranks, a rank has left, ...
  kAborted = 3,             // the job or the epoch ended
  kResourceExhausted = 4,
  kUnavailable = 5,         // a worker or the coordinator is gone
  kInternal = 6,
};

// For a failure the text follows in the next text_slots slots, 128 bytes each,
// text_bytes in all. For a request of one inline tensor the result is inline.
struct CompletionSlot {
  uint64_t request = 0;
  ResultCode code = ResultCode::kOk;
  uint32_t text_bytes = 0;
  uint32_t text_slots = 0;
  uint32_t inline_count = 0;  // bytes
  uint8_t inline_bytes[kInlineBytes] = {};
  uint8_t reserved[72] = {};
};

// --- command queue, worker -> trainer: slots of 128 bytes ---------------------------
// A CommandSlot, then its words, eight to a slot; visible together. Commands begin in
// order; one sees the memory that those before it wrote. Each has one DoneSlot, once the
// GPU has done it, in the same order.
enum class CommandKind : uint32_t {
  kReduce = 1,  // out = finish(received (+) (inputs[0] * prescale (+) inputs[1] * ...))
  kCopy = 2,    // inputs[0] to every output
  kMirror = 3,  // a request's payloads to an arena of host memory
};

struct CommandSlot {
  CommandKind kind = CommandKind::kReduce;
  uint32_t item_count = 0;  // kMirror: 0
  uint64_t id = 0;          // grows by one
  uint64_t request = 0;     // kMirror
  double prescale = 1.0;
  double postscale = 1.0;
  uint64_t divisor = 1;
  uint8_t dtype = 0;           // DataType, of inputs
  uint8_t received_dtype = 0;  // dtype, or float32 for halves
  uint8_t out_dtype = 0;       // dtype, or float32 for halves
  uint8_t op = 0;              // ReduceOp
  uint8_t inputs = 0;          // of each item
  uint8_t outputs = 0;         // of each item, at least 1; all get the same
  uint8_t received = 0;        // of each item: 0 or 1
  uint8_t padding[73] = {};
};

// An item is so many words: its ItemSize, the received one's place if there is one, then
// those of the inputs and of the outputs.
struct ItemSize {
  uint64_t count = 0;  // elements
  uint64_t reserved = 0;
};
inline constexpr uint16_t kHostScratchOwner = 0xffff;
struct MemoryPlace {
  uint32_t arena = 0;
  uint16_t owner = 0;  // local rank; kHostScratchOwner
  uint16_t reserved = 0;
  uint64_t offset = 0;  // a multiple of the element's size
};

// The payloads of a mirrored request lie from `offset` of `arena` on, in their order, each
// at a multiple of kArenaAlignment. From there on the request is as one that was sent so.
struct DoneSlot {
  uint64_t id = 0;
  ResultCode code = ResultCode::kOk;
  uint32_t text_bytes = 0;
  uint32_t arena = 0;
  uint32_t reserved = 0;
  uint64_t offset = 0;
  char text[96] = {};
};

// --- the queues file --------------------------------------------------------------
// Positions only grow (modulo 2^32); slot = position % capacity. Each word has one
// writer. A side that is about to sleep sets its `sleeping`, looks once more
// (sequentially consistent), and sleeps; the other side, having published, clears
// it and wakes: the worker by the eventfd, the trainer by a futex on
// `completion_head` or `command_head`.
struct alignas(64) QueueHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t submission_slots;
  uint32_t completion_slots;
  uint32_t command_slots;
  uint32_t done_slots;
  uint32_t reserved[9];

  alignas(64) std::atomic<uint32_t> submission_head;  // trainer
  alignas(64) std::atomic<uint32_t> submission_tail;  // worker; futex when full
  std::atomic<uint32_t> worker_sleeping;              // set by worker, cleared by trainer
  std::atomic<uint32_t> completion_wanted;            // worker waits for completion space
  alignas(64) std::atomic<uint32_t> completion_head;  // worker; futex of waiting trainers
  alignas(64) std::atomic<uint32_t> completion_tail;  // trainer
  std::atomic<uint32_t> trainer_waiting;              // threads in the completion futex
  std::atomic<uint32_t> submission_waiting;           // threads waiting for submission space
  alignas(64) std::atomic<uint32_t> command_head;     // worker; futex of the command thread
  alignas(64) std::atomic<uint32_t> command_tail;     // trainer
  std::atomic<uint32_t> trainer_sleeping;             // its command thread; cleared by worker
  std::atomic<uint32_t> done_head;                    // trainer
  alignas(64) std::atomic<uint32_t> done_tail;        // worker
};

struct alignas(64) Slot {
  std::byte bytes[128];
};

inline constexpr size_t kQueueHeaderBytes = 4096;
inline constexpr size_t SubmissionOffset() { return kQueueHeaderBytes; }
inline constexpr size_t CompletionOffset() {
  return kQueueHeaderBytes + size_t{kSubmissionSlots} * sizeof(Slot);
}
inline constexpr size_t CommandOffset() {
  return CompletionOffset() + size_t{kCompletionSlots} * sizeof(Slot);
}
inline constexpr size_t DoneOffset() {
  return CommandOffset() + size_t{kCommandSlots} * sizeof(Slot);
}
inline constexpr size_t QueuesBytes() { return DoneOffset() + size_t{kDoneSlots} * sizeof(Slot); }

// --- layout -----------------------------------------------------------------------
static_assert(std::atomic<uint32_t>::is_always_lock_free);
static_assert(sizeof(Packet) == 16);
static_assert(sizeof(Hello) == 24);
static_assert(sizeof(Welcome) == 32);
static_assert(sizeof(Refused) == 1048);
static_assert(sizeof(EpochBegun) == 64);
static_assert(sizeof(GrowArena) == 24);
static_assert(sizeof(ArenaGrown) == 32);
static_assert(sizeof(AddDeviceArena) == 376);
static_assert(sizeof(DeviceArenaAdded) == 32);
static_assert(sizeof(PeerArena) == 112 && offsetof(PeerArena, ipc_handle) == 48);
static_assert(sizeof(PeerArenaOpened) == 288);
static_assert(sizeof(HostScratch) == 24);
static_assert(sizeof(HostScratchMapped) == 280);
static_assert(sizeof(DeviceUse) == 280);
static_assert(sizeof(CommandSlot) == sizeof(Slot) && offsetof(CommandSlot, dtype) == 48);
static_assert(sizeof(ItemSize) == 16 && sizeof(MemoryPlace) == 16);
static_assert(sizeof(DoneSlot) == sizeof(Slot));
static_assert(sizeof(NameSlot) == sizeof(Slot));
static_assert(sizeof(RequestSlot) == sizeof(Slot) && offsetof(RequestSlot, prescale) == 32);
static_assert(sizeof(TensorSlot) == sizeof(Slot) && offsetof(TensorSlot, shape) == 32);
static_assert(sizeof(CompletionSlot) == sizeof(Slot));
static_assert(sizeof(QueueHeader) <= kQueueHeaderBytes);
static_assert(offsetof(QueueHeader, submission_head) == 64);
static_assert(offsetof(QueueHeader, submission_tail) == 128);
static_assert(offsetof(QueueHeader, completion_head) == 192);
static_assert(offsetof(QueueHeader, completion_tail) == 256);
static_assert(offsetof(QueueHeader, command_head) == 320);
static_assert(offsetof(QueueHeader, command_tail) == 384);
static_assert(offsetof(QueueHeader, done_tail) == 448);

}  // namespace reigen::local

#endif  // REIGEN_PROTO_LOCAL_LOCAL_H_
