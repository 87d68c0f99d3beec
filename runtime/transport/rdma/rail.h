// A port of this host that its links use.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_RAIL_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_RAIL_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/transport/rdma/choice.h"
#include "runtime/transport/rdma/path.h"
#include "runtime/transport/rdma/verbs.h"

namespace reigen::transport::rdma {

// An open device, which other rails may share, with the port and address chosen.
//
// Threads: one owner.
class Rail {
 public:
  Rail(std::shared_ptr<Device> device, RailChoice choice);
  Rail(const Rail&) = delete;
  Rail& operator=(const Rail&) = delete;

  Device& device() { return *device_; }
  const std::shared_ptr<Device>& shared_device() const { return device_; }
  const RailChoice& choice() const { return choice_; }
  RailAddress address() const;

  // Reads port and GIDs again: each new link does, for after a flap of the port its
  // GID may have another index, or have gone. What it was stays, as long as it is there; peers
  // were told its kind, of which another must be, too. An error leaves all as it was: in the
  // middle of a flap a port may have no address, or not all of them.
  Status Refresh(const Wish& wish);

  // What its device told, which may be that the port is down.
  void OnAsyncEvent(const AsyncEvent& event, Time now);
  // "port rxe0:1 went down (port error)", if it was told to be down and is, or went down within
  // `lately`, though it may be up again; else "".
  std::string ToldDown(Time now, Duration lately) const;
  // That, or what the device says when it is asked: one that has stopped may take long.
  std::string WentDown(Time now, Duration lately);

 private:
  void KeepToKind(const Wish& wish, PortInfo& port) const;
  std::string DownBy(const std::string& what) const;

  const std::shared_ptr<Device> device_;
  RailChoice choice_;
  const std::string kind_;  // as peers were told it
  bool down_ = false;       // as last told, or found
  Time down_at_{};          // when it was last told to be down
  std::string down_text_;   // and in which words; "": never
};

struct OpenedRails {
  std::vector<std::unique_ptr<Rail>> rails;
  std::vector<PortName> left_out;  // see Choice, also below
  std::vector<PortName> spare;
  std::string reason;              // why these; for the log
};

// Opens the machine's devices and keeps those chosen, as ChooseRails says, of those that can
// make the queues of a link.
StatusOr<OpenedRails> OpenRails(Verbs& verbs, const Wish& wish);

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_RAIL_H_
