// What the links of a TcpTransport share with it.
#ifndef REIGEN_RUNTIME_TRANSPORT_TCP_TCP_CONTEXT_H_
#define REIGEN_RUNTIME_TRANSPORT_TCP_TCP_CONTEXT_H_

#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/transport/tcp/farewell.h"
#include "runtime/transport/tcp/handshake.h"
#include "runtime/transport/tcp/poller.h"
#include "runtime/transport/tcp/reception.h"
#include "runtime/transport/tcp/tcp_transport.h"

namespace reigen::transport {

class TcpLink;

inline constexpr char kScheme[] = "tcp";

struct TcpContext {
  explicit TcpContext(const TcpOptions& o)
      : options(o),
        identity{o.job, o.secret, o.host},
        farewell(&poller),
        reception(&poller, identity) {}

  const TcpOptions options;
  const Identity identity;
  std::string scope;  // interface of the link-local address listened on, if any
  Poller poller;      // before what it watches
  Farewell farewell;
  Reception reception;
  std::vector<TcpLink*> links;
  Time now{};  // of the last Progress()
};

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_TCP_TCP_CONTEXT_H_
