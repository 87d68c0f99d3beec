#include "runtime/transport/rdma/words.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <fstream>

namespace reigen::transport::rdma {
namespace {

constexpr int kCapIpcLock = 14;

constexpr char kWhereToLook[] =
    " (look at cables and switches between these ports; on RoCE also at flow control (PFC, ECN) "
    "and at whether packets of the path MTU get through)";

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = kKiB * kKiB;

std::string Bytes(uint64_t bytes) {
  if (bytes >= 10 * kMiB) return std::to_string(bytes / kMiB) + " MiB";
  return std::to_string((bytes + kKiB - 1) / kKiB) + " KiB";
}

std::string Seconds(Duration duration) {
  char seconds[16];
  std::snprintf(seconds, sizeof seconds, "%.1f", ToSeconds(duration));
  return seconds;
}

uint64_t WholePages(uint64_t bytes) { return (bytes + 4 * kKiB - 1) / (4 * kKiB) * (4 * kKiB); }

// Never less, so that a limit just below it reads as one.
std::string AtLeastBytes(uint64_t bytes) {
  return Bytes(bytes >= 10 * kMiB ? (bytes + kMiB - 1) / kMiB * kMiB : bytes);
}

// Whether this process may lock as much as it likes (CapEff of /proc/self/status).
bool MayLockAll() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    unsigned long long capabilities = 0;
    if (std::sscanf(line.c_str(), "CapEff: %llx", &capabilities) == 1) {
      return (capabilities >> kCapIpcLock & 1) != 0;
    }
  }
  return false;
}

}  // namespace

const char kHowToRaiseLockedMemory[] =
    "raise it: `ulimit -l unlimited` before the job, `memlock unlimited` in "
    "/etc/security/limits.d for logins over ssh, LimitMEMLOCK=infinity for a systemd unit, "
    "--ulimit memlock=-1:-1 for a container";

bool IsLostPath(WorkStatus status) {
  return status == WorkStatus::kFlushed || status == WorkStatus::kRetryExceeded;
}

bool MayBeOfADeadPort(WorkStatus status) {
  switch (status) {
    case WorkStatus::kLocalQpOperation:
    case WorkStatus::kRemoteAborted:
    case WorkStatus::kFatal:
    case WorkStatus::kResponseTimeout:
    case WorkStatus::kGeneral:
      return true;
    default:
      return false;
  }
}

const char* Name(WorkStatus status) {
  static constexpr const char* kNames[kWorkStatuses] = {
      "SUCCESS",          "LOC_LEN_ERR",      "LOC_QP_OP_ERR",     "LOC_EEC_OP_ERR",
      "LOC_PROT_ERR",     "WR_FLUSH_ERR",     "MW_BIND_ERR",       "BAD_RESP_ERR",
      "LOC_ACCESS_ERR",   "REM_INV_REQ_ERR",  "REM_ACCESS_ERR",    "REM_OP_ERR",
      "RETRY_EXC_ERR",    "RNR_RETRY_EXC_ERR", "LOC_RDD_VIOL_ERR", "REM_INV_RD_REQ_ERR",
      "REM_ABORT_ERR",    "INV_EECN_ERR",     "INV_EEC_STATE_ERR", "FATAL_ERR",
      "RESP_TIMEOUT_ERR", "GENERAL_ERR",      "TM_ERR",            "TM_RNDV_INCOMPLETE"};
  const auto index = static_cast<size_t>(status);
  return index < kWorkStatuses ? kNames[index] : "unknown";
}

Status DescribeCompletion(const WorkCompletion& completion, const std::string& operation,
                          Duration retried, const std::string& port_down) {
  const std::string name = Name(completion.status);
  const std::string number = "status " + std::to_string(static_cast<int>(completion.status)) +
                             ", vendor code " + std::to_string(completion.vendor_error);
  if (!port_down.empty() && (IsLostPath(completion.status) || MayBeOfADeadPort(completion.status))) {
    return Unavailable(port_down + ", and the path has gone with it (" + name + ", " + number +
                       ", of " + operation + ")");
  }
  if (completion.status == WorkStatus::kRetryExceeded) {
    return Unavailable("the retries ran out: no answer for about " + Seconds(retried) +
                       " s to what was sent again and again (" + name + " of " + operation +
                       "): the path or the peer has gone" + kWhereToLook);
  }
  if (completion.status == WorkStatus::kFlushed) {
    return Unavailable("the connection has broken (" + name + " of " + operation + ")" +
                       kWhereToLook);
  }
  return Internal(name + " (" + number + ") of " + operation +
                  ": not a lost path but a fault of this program or of the device");
}

Status DescribeSilence(Duration silent, const std::string& port_down) {
  const std::string what = "no answer for " + Seconds(silent) +
                           " s to what was sent, and no error from the device here either: the "
                           "path, the peer's device or this one has gone";
  if (!port_down.empty()) return Unavailable(port_down + "; " + what);
  return Unavailable(what + kWhereToLook);
}

LockedMemory ReadLockedMemory() {
  LockedMemory allowed;
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return allowed;
  allowed.unlimited = limit.rlim_cur == RLIM_INFINITY || MayLockAll();
  allowed.limit_bytes = limit.rlim_cur;
  return allowed;
}

uint64_t LockedBytesOfCompletions(uint32_t entries) {
  return WholePages(std::bit_ceil(uint64_t{entries} + 1) * 64);
}

uint64_t LockedBytesOfRings(uint32_t sends, uint32_t receives) {
  // A send with data that goes along; what a receive fills.
  return WholePages(std::bit_ceil(uint64_t{sends}) * 192 + std::bit_ceil(uint64_t{receives}) * 16);
}

uint64_t LockedBytes(uint64_t registered_bytes, size_t devices, size_t links, size_t queues) {
  // The control queue with its memory. A queue for data: its share of the completion queue, its
  // rings, and what its device has besides to write to a GPU here.
  constexpr uint64_t kControl = 600 * kKiB;
  constexpr uint64_t kData = (512 + 72 + 88) * kKiB;
  return registered_bytes * devices + (kControl + kData * std::max(queues, devices)) * links;
}

Status CheckLockedMemory(const LockedMemory& allowed, uint64_t needed_bytes) {
  if (allowed.unlimited || needed_bytes <= allowed.limit_bytes) return OkStatus();
  return ResourceExhausted("locked memory is limited to " + Bytes(allowed.limit_bytes) +
                           ", RDMA needs about " + AtLeastBytes(needed_bytes) + "; " +
                           kHowToRaiseLockedMemory);
}

Status DescribeDmabuf(int error, uint64_t bytes) {
  const std::string what = "ibv_reg_dmabuf_mr of " + Bytes(bytes);
  switch (error) {
    case EOPNOTSUPP:
    case EPROTONOSUPPORT:
    case ENOSYS:
      return ErrnoStatus(StatusCode::kUnimplemented,
                         what + ": the device, the kernel (5.12 or newer) or libibverbs takes no "
                                "dma-bufs", error);
    case ENOMEM:
      return ErrnoStatus(StatusCode::kResourceExhausted,
                         what + ": no room for the mapping in the device or in the GPU's BAR", error);
    case EINVAL:
      return ErrnoStatus(StatusCode::kInvalidArgument,
                         what + ": the GPU's driver or the device does not take this range", error);
    case EFAULT:
      return ErrnoStatus(StatusCode::kInvalidArgument,
                         what + ": the GPU's driver gives the device no addresses for it", error);
    case EBADF:
      return ErrnoStatus(StatusCode::kInvalidArgument, what + ": it is no dma-buf", error);
    default:
      return ErrnoStatus(StatusCode::kInternal, what, error);
  }
}

Status DescribeRegistration(const Status& failed, const LockedMemory& allowed, uint64_t bytes) {
  if (failed.code() != StatusCode::kResourceExhausted || allowed.unlimited) return failed;
  return ResourceExhausted(Message(failed) + ": locked memory is limited to " +
                           Bytes(allowed.limit_bytes) + ", of which others hold a part, and " +
                           AtLeastBytes(bytes) + " more were needed; " + kHowToRaiseLockedMemory);
}

}  // namespace reigen::transport::rdma
