// What comes in: the coordinator's stream, the trainers' processes and sessions.
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"
#include "worker/serve/make_transport.h"
#include "worker/serve/server.h"

namespace reigen::worker {
namespace {

constexpr int kCoordinatorLost = 72;
// As a shell says of a command that it cannot run.
constexpr int kCannotStart = 127;
// The process that attached is gone or has closed: the rank's own process mostly ends
// within this, and then its code is the one to report.
constexpr Duration kGoneGrace = seconds(1);

Duration Seconds(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

// --- the coordinator ---------------------------------------------------------------

void Server::OnReached() {
  for (const StatusOr<Reached>& reached : reached_.Drain()) {
    if (phase_ != Phase::kReaching) return;
    Status status = reached.status();
    if (status.ok()) status = OpenNetwork(*reached);
    if (!status.ok()) {
      GiveUpBecause(kCoordinatorLost, Message(status));
      return;
    }
    phase_ = Phase::kGreeting;
  }
}

Status Server::OpenNetwork(const Reached& reached) {
  const launch::GuardStart& start = options_.start;
  network_reason_ = reached.reason;
  REIGEN_INFO("host={} network: {}", start.host().host(), network_reason_);
  std::unique_ptr<transport::Transport> transport;
  if (start.hosts() > 1) {
    const auto without_rdma = [this](const Status& why) {
      transport_reason_ = Message(why);
      REIGEN_INFO("host={} links over tcp: {}", options_.start.host().host(), transport_reason_);
    };
    REIGEN_ASSIGN_OR_RETURN(transport, MakeTransport(start, reached.local_address, without_rdma));
  }
  REIGEN_ASSIGN_OR_RETURN(
      network_, Network::Make(start.host().host(), start.options().scratch_bytes(),
                              std::move(transport), executor_.get(), gpus_.get()));
  link_addresses_ = network_->link_addresses();
  if (network_->event_fd() >= 0) {
    // Each turn moves the network on.
    REIGEN_RETURN_IF_ERROR(loop_->Add(network_->event_fd(), EPOLLIN, [](uint32_t) {}));
  }
  link_ = std::make_unique<CoordinatorLink>(CoordinatorLink::Options{
      .address = reached.coordinator,
      .secret = start.secret(),
      .host = start.host().host(),
      .silence = Seconds(start.options().coordinator_timeout_seconds())});
  return loop_->Add(link_->event_fd(), EPOLLIN, [this](uint32_t) { OnLinkEvents(); });
}

void Server::OnLinkEvents() {
  for (LinkEvent& event : link_->Take()) {
    if (auto* welcome = std::get_if<LinkWelcome>(&event)) {
      OnWelcome(welcome->welcome);
    } else if (auto* message = std::get_if<LinkMessage>(&event)) {
      events_.push_back(FromCoordinator{std::move(message->message)});
    } else if (auto* broken = std::get_if<LinkBroken>(&event)) {
      OnBroken(broken->reason);
    }
  }
}

void Server::OnWelcome(const control::Welcome& welcome) {
  if (phase_ != Phase::kGreeting) return;
  phase_ = Phase::kServing;
  welcomed_ = true;
  if (welcome.heartbeat_seconds() > 0) heartbeat_ = Seconds(welcome.heartbeat_seconds());
  control::WorkerMessage message;
  control::Attached& attached = *message.mutable_attached();
  attached.set_host_name(options_.start.host().name());
  attached.set_pid(getpid());
  for (const std::string& address : link_addresses_) attached.add_link_addresses(address);
  attached.set_network_reason(network_reason_);
  attached.set_transport_reason(transport_reason_);
  link_->Send(std::move(message));
  StartTrainers();
}

void Server::OnBroken(const std::string& reason) {
  if (phase_ == Phase::kEnding || phase_ == Phase::kDone || core_.ended()) return;
  if (phase_ != Phase::kServing) {
    GiveUpBecause(kCoordinatorLost, reason);
    return;
  }
  REIGEN_WARN("host={} coordinator lost: {}", options_.start.host().host(), reason);
  coordinator_lost_at_ =
      Now() + Seconds(options_.start.options().coordinator_timeout_seconds());
}

// --- processes -----------------------------------------------------------------------

void Server::StartTrainers() {
  auto started = Trainers::Start(options_.start, options_.folder + "/worker.sock");
  if (!started.ok()) {
    for (size_t local = 0; local < ranks_.size(); ++local) {
      ReportEnded(static_cast<int>(local), kCannotStart, 0, Message(started.status()));
    }
    return;
  }
  trainers_ = std::move(*started);
  for (int local = 0; local < trainers_->count(); ++local) {
    const int fd = trainers_->pidfd(local);
    pidfds_.push_back(fd);
    // Without it the end is seen at the next beat.
    (void)loop_->Add(fd, EPOLLIN, [this](uint32_t) { ReapTrainers(); }).ok();
  }
}

void Server::ReapTrainers() {
  for (const TrainerEnd& end : trainers_->Reap()) {
    const auto it = std::find(ranks_.begin(), ranks_.end(), end.rank);
    if (it == ranks_.end()) continue;
    const int local = static_cast<int>(it - ranks_.begin());
    loop_->Remove(std::exchange(pidfds_[local], -1));
    gone_.erase(local);
    ReportEnded(local, end.code, end.signal, end.detail);
  }
}

void Server::ReportEnded(int local, int code, int signal, const std::string& detail) {
  if (reported_[local]) return;
  reported_[local] = true;
  events_.push_back(TrainerEnded{local, code, signal, detail});
}

// --- sessions --------------------------------------------------------------------------

void Server::OnAttached(int local) { events_.push_back(InitCalled{local}); }

void Server::OnRequest(int local, Request request) {
  events_.push_back(Submitted{local, std::move(request)});
}

void Server::OnShutdown(int local) { events_.push_back(LeaveCalled{local}); }

void Server::OnGone(int local, pid_t pid, const std::string& reason) {
  if (reported_[local]) return;
  gone_[local] = Gone{Now() + kGoneGrace,
                      "process " + std::to_string(pid) + ", attached for it, " + reason};
}

}  // namespace reigen::worker
