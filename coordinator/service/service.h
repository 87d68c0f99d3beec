// The gRPC service of control.proto: streams that proved the secret, turned into
// events for the one thread that owns the core.
//
// Threads: gRPC's call Attach and Inspect; the owner drains the mailbox and calls
//          the rest.
// Errors:  more strangers than kMaxStrangers at once: the next is refused.
#ifndef REIGEN_COORDINATOR_SERVICE_SERVICE_H_
#define REIGEN_COORDINATOR_SERVICE_SERVICE_H_

#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "coordinator/service/proved_stream.h"
#include "proto/control/control.grpc.pb.h"
#include "runtime/base/clock.h"
#include "runtime/base/mailbox.h"

namespace reigen::coordinator {

using WorkerStream = ProvedStream<control::WorkerMessage, control::CoordinatorMessage>;
using InspectStream = ProvedStream<control::InspectRequest, control::InspectReply>;

struct WorkerProved {
  WorkerStream::Ptr stream;
};
struct WorkerSaid {
  WorkerStream::Ptr stream;
  control::WorkerMessage message;
};
struct WorkerClosed {
  WorkerStream::Ptr stream;
  std::string reason;
};
struct InspectAsked {
  InspectStream::Ptr stream;
  control::InspectRequest request;
};
using ServiceEvent = std::variant<WorkerProved, WorkerSaid, WorkerClosed, InspectAsked>;

class CoordinatorService final : public control::Coordinator::CallbackService {
 public:
  // The mailbox outlives the service. `handshake_time`: for a stream to prove itself.
  CoordinatorService(std::string secret, Duration handshake_time, Mailbox<ServiceEvent>* mailbox)
      : secret_(std::move(secret)), handshake_time_(handshake_time), mailbox_(mailbox) {}

  grpc::ServerBidiReactor<control::WorkerMessage, control::CoordinatorMessage>* Attach(
      grpc::CallbackServerContext* context) override;
  grpc::ServerBidiReactor<control::InspectRequest, control::InspectReply>* Inspect(
      grpc::CallbackServerContext* context) override;

  // Ends streams that take too long to prove themselves or to close.
  void Expire(Time now);

 private:
  template <typename Request, typename Reply>
  grpc::ServerBidiReactor<Request, Reply>* Accept(
      grpc::CallbackServerContext* context, std::string_view role,
      typename ProvedStream<Request, Reply>::Sink sink);
  bool Admit(std::shared_ptr<ExpiringStream> stream);

  const std::string secret_;
  const Duration handshake_time_;
  Mailbox<ServiceEvent>* const mailbox_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<ExpiringStream>> streams_;
};

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_SERVICE_SERVICE_H_
