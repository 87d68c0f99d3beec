// RDMA where both ends of a link can, TCP elsewhere.
#ifndef REIGEN_RUNTIME_TRANSPORT_SELECT_AUTO_TRANSPORT_H_
#define REIGEN_RUNTIME_TRANSPORT_SELECT_AUTO_TRANSPORT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/base/unique_fd.h"
#include "runtime/transport/link.h"
#include "runtime/transport/select/transport_mode.h"

namespace reigen::transport {

// Told once why links go over TCP though RDMA was to be taken where possible. Whoever
// knows all hosts makes one warning of it.
using WithoutRdmaFn = std::function<void(const Status& why)>;
using MakeTransportFn = std::function<StatusOr<std::unique_ptr<Transport>>()>;

// Makes what the mode asks for:
//   tcp    TCP alone
//   rdma   RDMA alone, or an error that says why not
//   auto   both; TCP alone, which `without_rdma` is told, if there is no RDMA here; an error
//          if what was asked for of RDMA cannot be had (InvalidArgument of `make_rdma`):
//          that is a mistake, not a host without RDMA
//
// `host` names this end in messages.
StatusOr<std::unique_ptr<Transport>> SelectTransport(TransportMode mode, const std::string& host,
                                                     const MakeTransportFn& make_tcp,
                                                     const MakeTransportFn& make_rdma,
                                                     WithoutRdmaFn without_rdma);

// Both transports at once. Addresses are those of both; a link is of the one that
// ChooseLink says. Memory that RDMA cannot register (locked memory) before the first
// link ends RDMA here, which `without_rdma` is told: so register before telling the
// addresses.
//
// Threads: one owner.
class AutoTransport : public Transport {
 public:
  // `host` names this end in messages.
  static StatusOr<std::unique_ptr<AutoTransport>> Create(const std::string& host,
                                                         std::unique_ptr<Transport> tcp,
                                                         std::unique_ptr<Transport> rdma,
                                                         WithoutRdmaFn without_rdma);

  const char* name() const override { return rdma_ != nullptr ? "auto" : tcp_->name(); }
  std::vector<std::string> addresses() const override;
  StatusOr<std::unique_ptr<Region>> Register(std::span<std::byte> memory) override;
  // A GPU's memory is RDMA's affair: a refusal does not end RDMA here.
  StatusOr<std::unique_ptr<Region>> RegisterDevice(const DeviceMemory& memory) override;
  Status TakesDeviceMemory(const Peer& peer) const override;
  std::vector<std::string> devices() const override;
  std::unique_ptr<Link> Connect(const Peer& peer) override;
  size_t EagerBytes() const override;
  int event_fd() const override { return epoll_.get(); }
  void Progress(Time now) override;
  std::optional<Time> NextDeadline() const override;

 private:
  class BothRegions;

  AutoTransport(const std::string& host, std::unique_ptr<Transport> tcp,
                std::unique_ptr<Transport> rdma, WithoutRdmaFn without_rdma)
      : host_(host),
        without_rdma_(std::move(without_rdma)),
        tcp_(std::move(tcp)),
        rdma_(std::move(rdma)) {}
  Status Watch();
  LinkChoice Choose(const Peer& peer) const;

  const std::string host_;
  const WithoutRdmaFn without_rdma_;
  UniqueFd epoll_;
  const std::unique_ptr<Transport> tcp_;
  std::unique_ptr<Transport> rdma_;  // null once it was given up
  Status rdma_status_;
  bool connected_ = false;  // a link was made
};

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_SELECT_AUTO_TRANSPORT_H_
