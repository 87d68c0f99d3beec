#include "coordinator/service/service.h"

#include <utility>

#include "coordinator/limits.h"
#include "proto/control/handshake.h"
#include "runtime/base/log.h"

namespace reigen::coordinator {
namespace {

// For a stream that is one too many.
template <typename Request, typename Reply>
class RefusingReactor final : public grpc::ServerBidiReactor<Request, Reply> {
 public:
  RefusingReactor() {
    this->Finish(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many strangers"));
  }
  void OnDone() override { delete this; }
};

}  // namespace

template <typename Request, typename Reply>
grpc::ServerBidiReactor<Request, Reply>* CoordinatorService::Accept(
    grpc::CallbackServerContext* context, std::string_view role,
    typename ProvedStream<Request, Reply>::Sink sink) {
  auto stream = std::make_shared<ProvedStream<Request, Reply>>(
      context, Handshake(secret_, role), std::move(sink), Now() + handshake_time_);
  if (!Admit(stream)) {
    REIGEN_WARN("peer={} refused: too many streams have not proved the secret", context->peer());
    return new RefusingReactor<Request, Reply>();
  }
  stream->Start();
  return stream.get();
}

bool CoordinatorService::Admit(std::shared_ptr<ExpiringStream> stream) {
  std::lock_guard lock(mutex_);
  size_t strangers = 0;
  std::erase_if(streams_, [&](const std::weak_ptr<ExpiringStream>& weak) {
    const auto other = weak.lock();
    if (other != nullptr && !other->proved()) ++strangers;
    return other == nullptr;
  });
  if (strangers >= kMaxStrangers) return false;
  streams_.push_back(std::move(stream));
  return true;
}

grpc::ServerBidiReactor<control::WorkerMessage, control::CoordinatorMessage>*
CoordinatorService::Attach(grpc::CallbackServerContext* context) {
  WorkerStream::Sink sink;
  sink.proved = [this](WorkerStream::Ptr stream) {
    mailbox_->Push(WorkerProved{std::move(stream)});
  };
  sink.message = [this](WorkerStream::Ptr stream, control::WorkerMessage message) {
    mailbox_->Push(WorkerSaid{std::move(stream), std::move(message)});
  };
  sink.closed = [this](WorkerStream::Ptr stream, std::string reason) {
    mailbox_->Push(WorkerClosed{std::move(stream), std::move(reason)});
  };
  return Accept<control::WorkerMessage, control::CoordinatorMessage>(
      context, control::kWorkerRole, std::move(sink));
}

grpc::ServerBidiReactor<control::InspectRequest, control::InspectReply>*
CoordinatorService::Inspect(grpc::CallbackServerContext* context) {
  InspectStream::Sink sink;
  sink.proved = [](const InspectStream::Ptr&) {};
  sink.message = [this](InspectStream::Ptr stream, control::InspectRequest request) {
    mailbox_->Push(InspectAsked{std::move(stream), std::move(request)});
  };
  sink.closed = [](const InspectStream::Ptr&, const std::string&) {};
  return Accept<control::InspectRequest, control::InspectReply>(
      context, control::kInspectRole, std::move(sink));
}

void CoordinatorService::Expire(Time now) {
  std::vector<std::shared_ptr<ExpiringStream>> streams;
  {
    std::lock_guard lock(mutex_);
    for (const auto& weak : streams_) {
      if (auto stream = weak.lock()) streams.push_back(std::move(stream));
    }
  }
  for (const auto& stream : streams) stream->Expire(now);
}

}  // namespace reigen::coordinator
