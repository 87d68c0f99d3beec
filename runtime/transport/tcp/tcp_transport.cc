#include "runtime/transport/tcp/tcp_transport.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/transport/link_limits.h"
#include "runtime/transport/tcp/tcp_context.h"
#include "runtime/transport/tcp/tcp_limits.h"
#include "runtime/transport/tcp/tcp_link.h"

namespace reigen::transport {

StatusOr<std::unique_ptr<TcpTransport>> TcpTransport::Create(const TcpOptions& options) {
  if (options.bind_addresses.empty()) return InvalidArgument("no address to listen on");
  if (options.channels < 1 || options.channels > kMaxChannels) {
    return InvalidArgument(std::to_string(options.channels) + " sockets for a link; 1 to " +
                           std::to_string(kMaxChannels) + " may be");
  }
  if (options.secret.empty()) return InvalidArgument("the job has no secret");
  auto context = std::make_unique<TcpContext>(options);
  for (const std::string& address : options.bind_addresses) {
    const Status opened = context->reception.Open(kScheme, address, options.ports);
    REIGEN_RETURN_IF_ERROR(Annotate(opened, "links of " + options.name));
    const size_t percent = address.find('%');
    if (percent != std::string::npos) context->scope = address.substr(percent + 1);
  }
  return std::unique_ptr<TcpTransport>(new TcpTransport(std::move(context)));
}

TcpTransport::TcpTransport(std::unique_ptr<TcpContext> context) : context_(std::move(context)) {}

TcpTransport::~TcpTransport() {
  REIGEN_CHECK(context_->links.empty(), "a transport outlives its links");
}

std::vector<std::string> TcpTransport::addresses() const { return context_->reception.endpoints(); }

StatusOr<std::unique_ptr<Region>> TcpTransport::Register(std::span<std::byte>) {
  return std::make_unique<Region>();
}

std::unique_ptr<Link> TcpTransport::Connect(const Peer& peer) {
  return std::make_unique<TcpLink>(context_.get(), peer);
}

size_t TcpTransport::EagerBytes() const { return kEagerBytes; }

int TcpTransport::event_fd() const { return context_->poller.fd(); }

void TcpTransport::Progress(Time now) {
  context_->now = now;
  context_->poller.Dispatch();
  context_->reception.Progress(now);
  for (TcpLink* link : context_->links) link->Progress(now);
  context_->farewell.Progress(now);
}

std::optional<Time> TcpTransport::NextDeadline() const {
  std::optional<Time> next = context_->reception.NextDeadline();
  const auto consider = [&next](const std::optional<Time>& time) {
    if (time) next = next ? std::min(*next, *time) : *time;
  };
  consider(context_->farewell.NextDeadline());
  for (const TcpLink* link : context_->links) consider(link->NextDeadline());
  return next;
}

}  // namespace reigen::transport
