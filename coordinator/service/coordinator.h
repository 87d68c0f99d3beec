// The core and its service, put together for one owner thread, who waits for fd(),
// the launcher and time, and then calls Step.
//
// Threads: one owner.
// Errors:  Start: an address that cannot be bound. Later ones are the core's.
#ifndef REIGEN_COORDINATOR_SERVICE_COORDINATOR_H_
#define REIGEN_COORDINATOR_SERVICE_COORDINATOR_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/core/core.h"
#include "coordinator/core/events.h"
#include "coordinator/core/job_config.h"
#include "coordinator/service/listen.h"
#include "coordinator/service/service.h"
#include "proto/launch/launch.pb.h"
#include "runtime/base/clock.h"
#include "runtime/base/mailbox.h"
#include "runtime/base/status.h"

namespace reigen::coordinator {

class Coordinator {
 public:
  struct Options {
    JobConfig config;
    std::string secret;
    std::vector<std::string> listen_addresses;
    std::string port_range;
    Duration handshake_time = kHandshakeTime;
    Duration end_time = kEndTime;
  };

  static StatusOr<std::unique_ptr<Coordinator>> Start(const Options& options, Time now);
  ~Coordinator();

  const std::vector<std::string>& addresses() const { return listening_.addresses; }
  int fd() const { return mailbox_.fd(); }  // readable: Step has work

  // What workers sent, and what the launcher said; what it is to be told.
  std::vector<launch::FromCoordinator> Step(std::vector<Event> events, Time now);

  // The job is over and no worker is connected any more.
  bool finished() const;
  // When the End went out.
  std::optional<Time> ended_at() const { return ended_at_; }

 private:
  Coordinator(const Options& options, Time now);

  void Take(WorkerProved& proved, std::vector<Event>& events, Time now);
  void Take(WorkerSaid& said, std::vector<Event>& events, Time now);
  void Take(WorkerClosed& closed, std::vector<Event>& events, Time now);
  void Take(InspectAsked& asked, std::vector<Event>& events, Time now);
  void Do(SendToHosts& send, Time now);
  void Do(DropHost& drop, Time now);
  void Do(TellLauncher& tell, Time now);
  void Do(WriteLog& log, Time now);

  const JobConfig config_;
  CoordinatorCore core_;
  Mailbox<ServiceEvent> mailbox_;
  CoordinatorService service_;
  Listening listening_;
  std::vector<WorkerStream::Ptr> workers_;  // by host
  std::vector<launch::FromCoordinator> told_;
  std::optional<Time> ended_at_;
};

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_SERVICE_COORDINATOR_H_
