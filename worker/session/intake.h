// From slots of a submission queue to checked requests.
#ifndef REIGEN_WORKER_SESSION_INTAKE_H_
#define REIGEN_WORKER_SESSION_INTAKE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "proto/local/local.h"
#include "runtime/base/status.h"
#include "worker/core/request.h"

namespace reigen::worker {

// An arena as the worker has it mapped; only its extent is looked at.
struct ArenaView {
  enum class Kind : uint8_t { kHost, kDevice, kScratch };

  std::byte* base = nullptr;
  uint64_t bytes = 0;
  Kind kind = Kind::kHost;
};

struct IncomingRequest {
  // The id is always set; the rest only if `status` is ok.
  Request request;
  Status status;
  // A payload that came in the record: request.data[0] is null then, and is to be
  // pointed at memory with these bytes.
  bool is_inline = false;
  uint32_t inline_count = 0;
  std::array<std::byte, local::kInlineBytes> inline_bytes{};
};

// Pure: takes copies of slots, in order, whatever they hold. What one trainer wrote
// can end that trainer's session, and nothing else.
//
// Threads: none of its own; one caller.
// Memory:  names, at most kMaxNames of kMaxNameBytes; one request in the making.
// Errors:  Feed fails when the trainer broke the protocol: its session must end.
//          What is wrong with one request is that request's status.
class Intake {
 public:
  // Arena id = index. `ready` gets the requests that this slot completes.
  Status Feed(const local::Slot& slot, std::span<const ArenaView> arenas,
              std::vector<IncomingRequest>& ready);

 private:
  using NamePtr = std::shared_ptr<const std::string>;

  Status FeedName(const local::NameSlot& slot);
  Status FeedRequest(const local::RequestSlot& slot, std::vector<IncomingRequest>& ready);
  Status FeedTensor(const local::TensorSlot& slot, std::span<const ArenaView> arenas,
                    std::vector<IncomingRequest>& ready);
  Status CheckTensor(const local::TensorSlot& slot, std::span<const ArenaView> arenas);
  Status CheckMemory(const local::TensorSlot& slot, const TensorSpec& tensor,
                     std::span<const ArenaView> arenas);
  void Finish(std::vector<IncomingRequest>& ready);
  NamePtr FindName(uint32_t id) const;

  std::unordered_map<uint32_t, NamePtr> names_;  // null: defined, but not UTF-8
  std::string partial_name_;
  uint32_t partial_id_ = 0;
  uint32_t partial_total_ = 0;  // 0: no name in the making

  IncomingRequest incoming_;
  std::shared_ptr<RequestSpec> spec_;
  uint32_t tensors_left_ = 0;  // 0: no request in the making
};

// Whether the bytes are well-formed UTF-8; others do not pass through the control
// protocol.
bool IsUtf8(const std::string& text);

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_SESSION_INTAKE_H_
