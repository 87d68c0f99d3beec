#include "coordinator/service/coordinator.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "runtime/base/log.h"

namespace reigen::coordinator {
namespace {

// What streams may still take to end when the server goes.
constexpr std::chrono::milliseconds kServerShutdown{500};

}  // namespace

Coordinator::Coordinator(const Options& options, Time now)
    : config_(options.config),
      core_(options.config, now),
      service_(options.secret, options.handshake_time, &mailbox_),
      workers_(options.config.hosts.size()) {}

StatusOr<std::unique_ptr<Coordinator>> Coordinator::Start(const Options& options, Time now) {
  std::unique_ptr<Coordinator> coordinator(new Coordinator(options, now));
  REIGEN_ASSIGN_OR_RETURN(
      coordinator->listening_,
      Listen(&coordinator->service_, options.listen_addresses, options.port_range));
  return coordinator;
}

Coordinator::~Coordinator() {
  if (listening_.server == nullptr) return;
  // gRPC takes deadlines of the wall clock.
  const auto now = std::chrono::system_clock::now();  // NOLINT: gRPC's own clock
  listening_.server->Shutdown(now + kServerShutdown);
  listening_.server->Wait();
}

std::vector<launch::FromCoordinator> Coordinator::Step(std::vector<Event> events, Time now) {
  std::vector<ServiceEvent> taken = mailbox_.Drain();
  for (ServiceEvent& event : taken) {
    std::visit([&](auto& e) { Take(e, events, now); }, event);
  }
  events.push_back(Tick{});
  for (Action& action : core_.Step(std::move(events), now)) {
    std::visit([&](auto& a) { Do(a, now); }, action);
  }
  for (ServiceEvent& event : taken) {
    if (auto* said = std::get_if<WorkerSaid>(&event)) said->stream->Processed();
    if (auto* asked = std::get_if<InspectAsked>(&event)) asked->stream->Processed();
  }
  service_.Expire(now);
  if (core_.ended() && !ended_at_) ended_at_ = now;
  return std::exchange(told_, {});
}

bool Coordinator::finished() const {
  return core_.ended() && std::all_of(workers_.begin(), workers_.end(),
                                      [](const auto& worker) { return worker == nullptr; });
}

void Coordinator::Take(WorkerProved& proved, std::vector<Event>&, Time now) {
  WorkerStream& stream = *proved.stream;
  const int host = stream.host();
  std::string refusal;
  if (host < 0 || static_cast<size_t>(host) >= workers_.size()) {
    refusal = "the job has no host " + std::to_string(host);
  } else if (workers_[host] != nullptr) {
    refusal = "host " + std::to_string(host) + " has a worker already";
  } else if (core_.ended()) {
    refusal = "the job is over";
  }
  auto reply = std::make_shared<control::CoordinatorMessage>();
  if (!refusal.empty()) {
    REIGEN_WARN("peer={} refused: {}", stream.peer(), refusal);
    reply->mutable_refused()->set_reason(refusal);
    stream.Send(std::move(reply));
    stream.Close(grpc::StatusCode::FAILED_PRECONDITION, refusal, now);
    return;
  }
  workers_[host] = proved.stream;
  control::Welcome& welcome = *reply->mutable_welcome();
  welcome.set_incarnation(config_.incarnation);
  welcome.set_heartbeat_seconds(ToSeconds(config_.heartbeat));
  welcome.set_dead_after_seconds(ToSeconds(config_.dead_after));
  stream.Send(std::move(reply));
}

void Coordinator::Take(WorkerSaid& said, std::vector<Event>& events, Time) {
  const int host = said.stream->host();
  if (host < 0 || static_cast<size_t>(host) >= workers_.size()) return;
  if (workers_[host] != said.stream) return;  // refused, or dropped
  events.push_back(HostMessage{host, std::move(said.message)});
}

void Coordinator::Take(WorkerClosed& closed, std::vector<Event>& events, Time) {
  const int host = closed.stream->host();
  if (host < 0 || static_cast<size_t>(host) >= workers_.size()) return;
  if (workers_[host] != closed.stream) return;
  workers_[host].reset();
  events.push_back(HostStreamEnded{host, closed.reason});
}

void Coordinator::Take(InspectAsked& asked, std::vector<Event>&, Time now) {
  if (!asked.request.has_status()) {
    asked.stream->Close(grpc::StatusCode::INVALID_ARGUMENT, "unknown query", now);
    return;
  }
  auto reply = std::make_shared<control::InspectReply>();
  *reply->mutable_status() = core_.Status(now);
  asked.stream->Send(std::move(reply));
}

void Coordinator::Do(SendToHosts& send, Time) {
  for (int host : send.hosts) {
    if (workers_[host] != nullptr) workers_[host]->Send(send.message);
  }
}

void Coordinator::Do(DropHost& drop, Time now) {
  REIGEN_ERROR("host={} dropped: {}", drop.host, drop.reason);
  if (workers_[drop.host] == nullptr) return;
  auto reply = std::make_shared<control::CoordinatorMessage>();
  reply->mutable_refused()->set_reason(drop.reason);
  workers_[drop.host]->Send(std::move(reply));
  workers_[drop.host]->Close(grpc::StatusCode::INVALID_ARGUMENT, drop.reason, now);
  workers_[drop.host].reset();
}

void Coordinator::Do(TellLauncher& tell, Time) { told_.push_back(std::move(tell.message)); }

void Coordinator::Do(WriteLog& log, Time) {
  if (log.warning) {
    REIGEN_WARN("{}", log.text);
  } else {
    REIGEN_INFO("{}", log.text);
  }
}

}  // namespace reigen::coordinator
