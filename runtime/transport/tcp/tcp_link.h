// A link over TCP.
#ifndef REIGEN_RUNTIME_TRANSPORT_TCP_TCP_LINK_H_
#define REIGEN_RUNTIME_TRANSPORT_TCP_TCP_LINK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/base/unique_fd.h"
#include "runtime/transport/link.h"
#include "runtime/transport/link_core.h"
#include "runtime/transport/tcp/channel.h"
#include "runtime/transport/tcp/dialer.h"
#include "runtime/transport/tcp/tcp_context.h"

namespace reigen::transport {

//   kConnecting: no channels; the lower host number has a dialler, the other looks
//   whether the sockets have come.     kReady: channels.     Then: the core's end.
class TcpLink : public Link {
 public:
  TcpLink(TcpContext* context, const Peer& peer);
  ~TcpLink() override;

  Status PostSend(std::span<const std::byte> data, const Tag& tag, uint64_t cookie) override;
  Status PostRecv(std::span<std::byte> data, const Tag& tag, uint64_t cookie) override;
  size_t Poll(std::span<Completion> out) override { return core_.Poll(out); }
  void Close() override;
  Status error() const override { return core_.status(); }

  void Progress(Time now);
  std::optional<Time> NextDeadline() const;

 private:
  void Posted();
  void Connecting(Time now);
  void Open(std::vector<UniqueFd> sockets);
  void Move(Time now);
  void LookForEnd(Time now);
  // `expected`: no reason to alarm anybody.
  void Fail(const Status& why, bool expected = false);
  Status AtChannel(size_t channel, const Status& why) const;
  void FailChannel(size_t channel, const Status& why);

  TcpContext& context_;
  const Peer peer_;
  LinkCore core_;
  std::unique_ptr<Dialer> dialer_;
  std::optional<Time> connect_deadline_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<std::string> names_;  // of the channels: "anna (a:1) -> bert (b:2)"
  std::optional<Time> close_deadline_;  // the peer has closed some channels
  bool posted_ = false;                 // since the last Progress()
};

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_TCP_TCP_LINK_H_
