// What a link lets devices of this host do in memory of this host's GPUs.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_LOOPBACK_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_LOOPBACK_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/transport/frame.h"
#include "runtime/transport/link_core.h"
#include "runtime/transport/rdma/memory.h"
#include "runtime/transport/rdma/rdma_context.h"
#include "runtime/transport/rdma/resources.h"
#include "runtime/transport/rdma/work_queue.h"

namespace reigen::transport::rdma {

// A queue pair for each device, connected to itself, made when first needed:
//
//   read back  a message was written to a GPU by some devices: each reads the last byte
//              of it, behind which all that it had written is there for everybody
//   place      a short message came along with control: it is written where it belongs,
//              and read back, since a write that is complete may still be on its way
//
// Threads: one owner.
// Buffers: a job holds its memory until it is done. When this goes, no byte moves any
//          more (R7).
// Errors:  whoever sees a request of this end badly calls Abandon() and ends the link.
class Loopback {
 public:
  explicit Loopback(RdmaContext* context) : context_(*context), ports_(context->rails.size()) {}

  // Whether the device reads the last byte of `memory`, which it has registered under
  // `key`: that can fail where registering did not (an IOMMU, a bridge or a virtual
  // function that does not let it through). Waits for it, until `deadline`.
  Status TryRead(size_t rail, std::span<const std::byte> memory, uint32_t key, Time deadline);

  // `rails`: that wrote, by bit; all of them have the memory.
  Status ReadBack(const Frame& frame, std::span<const std::byte> target, uint8_t rails,
                  const MemoryUse& use);
  // By one of `rails`, all of which have the memory; a near one if it can be.
  Status Place(const Placement& placement, const MemoryUse& use, uint8_t rails);
  // Posts what there is room for.
  Status Pump();

  // Takes completions; counts them off.
  StatusOr<size_t> Poll(std::span<WorkCompletion> out);
  Status Arm();
  // A queue pair was made since the last call: what was armed has to be armed anew.
  bool TakeMade() { return std::exchange(made_, false); }

  struct Done {
    Frame frame;  // of a placed message, its tag
    bool placed = false;
  };
  // A request has ended well. The job that is done with it.
  std::optional<Done> OnCompletion(const WorkId& id);
  void Abandon();  // of all jobs none will be done

  // The first rail of whose queue WorkQueue::Unanswered() is true.
  std::optional<size_t> Unanswered(Time now, Duration limit);

  bool idle() const { return jobs_.empty(); }
  Status SetError();
  bool drained() const;

  // The first rail whose queue a fatal event of the device is about, if one is.
  std::optional<size_t> Hit(const Device& device, const AsyncEvent& event) const;
  std::string path(size_t rail) const;  // "anna (mlx5_0:1 10.0.0.1) to itself"

 private:
  struct Job {
    Done done;
    MemoryUse use;
    int steps = 0;  // that have not ended
  };
  struct Step {
    uint64_t job = 0;
    uint64_t address = 0;
    uint32_t key = 0;
    std::span<const std::byte> bytes;  // to be written there; none: it is read
  };
  struct Port {
    std::unique_ptr<CompletionQueue> completions;
    Pages memory;  // the slots, then what is read
    std::unique_ptr<MemoryRegion> region;
    WorkQueue queue;  // goes before what it uses
    std::deque<Step> waiting;
    std::vector<size_t> free_slots;
    std::deque<size_t> slots_out;
  };

  StatusOr<Port*> PortOf(size_t rail);
  Status Make(size_t rail, Port& port);
  Status Post(size_t rail, Port& port, const Step& step);

  RdmaContext& context_;
  std::unordered_map<uint64_t, Job> jobs_;
  std::vector<std::unique_ptr<Port>> ports_;  // by rail; null until needed; before the jobs' memory
  uint64_t last_job_ = 0;
  bool made_ = false;
};

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_LOOPBACK_H_
