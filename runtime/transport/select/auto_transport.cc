#include "runtime/transport/select/auto_transport.h"

#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"

namespace reigen::transport {
StatusOr<std::unique_ptr<Transport>> SelectTransport(TransportMode mode, const std::string& host,
                                                     const MakeTransportFn& make_tcp,
                                                     const MakeTransportFn& make_rdma,
                                                     WithoutRdmaFn without_rdma) {
  if (mode == TransportMode::kTcp) return make_tcp();
  StatusOr<std::unique_ptr<Transport>> rdma = make_rdma();
  if (mode == TransportMode::kRdma) {
    if (!rdma.ok()) return Annotate(rdma.status(), "RDMA was asked for, and " + host + " has none");
    return rdma;
  }
  if (rdma.status().code() == StatusCode::kInvalidArgument) {
    return Annotate(rdma.status(), "RDMA of " + host);
  }
  if (!rdma.ok()) {
    without_rdma(rdma.status());
    return make_tcp();
  }
  REIGEN_ASSIGN_OR_RETURN(std::unique_ptr<Transport> tcp, make_tcp());
  REIGEN_ASSIGN_OR_RETURN(auto both,
                          AutoTransport::Create(host, std::move(tcp), std::move(rdma).value(),
                                                std::move(without_rdma)));
  return std::unique_ptr<Transport>(std::move(both));
}

class AutoTransport::BothRegions : public Region {
 public:
  BothRegions(std::unique_ptr<Region> tcp, std::unique_ptr<Region> rdma)
      : tcp_(std::move(tcp)), rdma_(std::move(rdma)) {}

 private:
  const std::unique_ptr<Region> tcp_;
  const std::unique_ptr<Region> rdma_;
};

StatusOr<std::unique_ptr<AutoTransport>> AutoTransport::Create(const std::string& host,
                                                               std::unique_ptr<Transport> tcp,
                                                               std::unique_ptr<Transport> rdma,
                                                               WithoutRdmaFn without_rdma) {
  std::unique_ptr<AutoTransport> both(
      new AutoTransport(host, std::move(tcp), std::move(rdma), std::move(without_rdma)));
  REIGEN_RETURN_IF_ERROR(both->Watch());
  return both;
}

Status AutoTransport::Watch() {
  epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return ErrnoStatus(StatusCode::kResourceExhausted, "epoll_create1");
  for (const Transport* each : {tcp_.get(), rdma_.get()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, each->event_fd(), &event) != 0) {
      return ErrnoStatus(StatusCode::kResourceExhausted, "epoll_ctl");
    }
  }
  return OkStatus();
}

std::vector<std::string> AutoTransport::addresses() const {
  std::vector<std::string> all = tcp_->addresses();
  if (rdma_ != nullptr) {
    for (std::string& address : rdma_->addresses()) all.push_back(std::move(address));
  }
  return all;
}

StatusOr<std::unique_ptr<Region>> AutoTransport::Register(std::span<std::byte> memory) {
  REIGEN_ASSIGN_OR_RETURN(std::unique_ptr<Region> tcp, tcp_->Register(memory));
  if (rdma_ == nullptr) return tcp;
  StatusOr<std::unique_ptr<Region>> rdma = rdma_->Register(memory);
  if (rdma.ok()) {
    return std::unique_ptr<Region>(new BothRegions(std::move(tcp), std::move(rdma).value()));
  }
  // A peer may count on it already.
  if (connected_) return rdma.status();
  rdma_status_ = rdma.status();
  rdma_.reset();
  without_rdma_(rdma_status_);
  return tcp;
}

StatusOr<std::unique_ptr<Region>> AutoTransport::RegisterDevice(const DeviceMemory& memory) {
  if (rdma_ != nullptr) return rdma_->RegisterDevice(memory);
  return MakeStatus(StatusCode::kUnimplemented, "no RDMA here: " + Message(rdma_status_));
}

LinkChoice AutoTransport::Choose(const Peer& peer) const {
  return ChooseLink(TransportMode::kAuto, rdma_status_, {host_, addresses()},
                    {peer.name, peer.addresses});
}

Status AutoTransport::TakesDeviceMemory(const Peer& peer) const {
  const LinkChoice choice = Choose(peer);
  if (choice.rdma) return rdma_->TakesDeviceMemory(peer);
  if (rdma_status_.ok()) return MakeStatus(StatusCode::kUnimplemented, choice.reason);
  return MakeStatus(StatusCode::kUnimplemented, "the link to " + peer.name +
                                                    " goes over TCP: " + Message(rdma_status_));
}

std::vector<std::string> AutoTransport::devices() const {
  return rdma_ != nullptr ? rdma_->devices() : std::vector<std::string>();
}

std::unique_ptr<Link> AutoTransport::Connect(const Peer& peer) {
  connected_ = true;
  const LinkChoice choice = Choose(peer);
  if (!choice.reason.empty()) REIGEN_INFO("{}", choice.reason);
  return (choice.rdma ? rdma_ : tcp_)->Connect(peer);
}

size_t AutoTransport::EagerBytes() const { return tcp_->EagerBytes(); }

void AutoTransport::Progress(Time now) {
  tcp_->Progress(now);
  if (rdma_ != nullptr) rdma_->Progress(now);
}

std::optional<Time> AutoTransport::NextDeadline() const {
  const std::optional<Time> tcp = tcp_->NextDeadline();
  const std::optional<Time> rdma = rdma_ != nullptr ? rdma_->NextDeadline() : std::nullopt;
  if (!tcp || !rdma) return tcp ? tcp : rdma;
  return std::min(*tcp, *rdma);
}

}  // namespace reigen::transport
