#include "runtime/transport/rdma/rdma_transport.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "runtime/base/rdma_kind.h"
#include "runtime/transport/link_limits.h"
#include "runtime/transport/rdma/loopback.h"
#include "runtime/transport/rdma/path.h"
#include "runtime/transport/rdma/rdma_context.h"
#include "runtime/transport/rdma/rdma_limits.h"
#include "runtime/transport/rdma/rdma_link.h"

namespace reigen::transport::rdma {
namespace {

Status Measure(RdmaContext& context) {
  std::vector<DeviceInfo> devices;
  for (const auto& rail : context.rails) {
    REIGEN_ASSIGN_OR_RETURN(devices.emplace_back(), rail->device().Query());
  }
  REIGEN_ASSIGN_OR_RETURN(context.room, MeasureRoom(devices));
  return OkStatus();
}

Status WatchDevices(RdmaContext& context) {
  for (const auto& rail : context.rails) {
    const bool watched =
        std::any_of(context.devices.begin(), context.devices.end(), [&](const auto& watch) {
          return watch->device() == rail->shared_device();
        });
    if (watched) continue;
    context.devices.push_back(std::make_unique<DeviceWatch>(rail->shared_device()));
    REIGEN_RETURN_IF_ERROR(
        Annotate(context.devices.back()->Start(context.poller), rail->choice().device));
  }
  return OkStatus();
}

// The rails that an event of their device is about: of a port, or all of them.
std::string RailsOf(const RdmaContext& context, const Device& device, const AsyncEvent& event) {
  std::string names;
  for (const auto& rail : context.rails) {
    if (&rail->device() != &device) continue;
    if (event.port != 0 && event.port != rail->choice().port.number) continue;
    names += (names.empty() ? "" : ", ") + ToString(rail->choice());
  }
  return names;
}

std::vector<std::string> KindsOf(const RdmaContext& context) {
  std::vector<std::string> kinds;
  for (const auto& rail : context.rails) kinds.push_back(KindOf(rail->address()));
  return RdmaKindAddresses(kinds);
}

}  // namespace

StatusOr<std::unique_ptr<RdmaTransport>> RdmaTransport::Create(const RdmaOptions& options,
                                                               std::unique_ptr<Verbs> verbs) {
  if (options.bind_addresses.empty()) return InvalidArgument("no address to listen on");
  if (options.channels < 1 || options.channels > kMaxChannels) {
    return InvalidArgument(std::to_string(options.channels) + " queues for a link; 1 to " +
                           std::to_string(kMaxChannels) + " may be");
  }
  if (options.secret.empty()) return InvalidArgument("the job has no secret");
  RdmaOptions completed = options;
  completed.wish.networks = options.bind_addresses;
  auto context = std::make_unique<RdmaContext>(completed, std::move(verbs));

  REIGEN_ASSIGN_OR_RETURN(OpenedRails opened, OpenRails(*context->verbs, completed.wish));
  context->rails = std::move(opened.rails);
  context->left_out = std::move(opened.left_out);
  context->spare = std::move(opened.spare);
  REIGEN_RETURN_IF_ERROR(Measure(*context));
  std::vector<MemoryRail> rails;
  REIGEN_RETURN_IF_ERROR(WatchDevices(*context));
  for (const auto& rail : context->rails) {
    rails.push_back({rail->choice().device, rail->shared_device(), rail->choice().port.number});
  }
  context->memory = std::make_unique<Memory>(std::move(rails));
  for (const std::string& address : options.bind_addresses) {
    const Status opened = context->reception.Open(kScheme, address, options.ports);
    REIGEN_RETURN_IF_ERROR(Annotate(opened, "links of " + options.name));
    const size_t percent = address.find('%');
    if (percent != std::string::npos) context->scope = address.substr(percent + 1);
  }
  REIGEN_INFO("rdma: {}", opened.reason);
  return std::unique_ptr<RdmaTransport>(new RdmaTransport(std::move(context)));
}

RdmaTransport::RdmaTransport(std::unique_ptr<RdmaContext> context)
    : context_(std::move(context)), kinds_(KindsOf(*context_)) {}

RdmaTransport::~RdmaTransport() {
  REIGEN_CHECK(context_->links.empty(), "a transport outlives its links");
}

std::vector<std::string> RdmaTransport::addresses() const {
  std::vector<std::string> addresses = context_->reception.endpoints();
  addresses.insert(addresses.end(), kinds_.begin(), kinds_.end());
  return addresses;
}

StatusOr<std::unique_ptr<Region>> RdmaTransport::Register(std::span<std::byte> memory) {
  return context_->memory->Register(memory, context_->data_access());
}

StatusOr<std::unique_ptr<Region>> RdmaTransport::RegisterDevice(const DeviceMemory& memory) {
  context_->silent_rails.resize(context_->rails.size());
  const auto try_rail = [&](size_t rail, uint32_t key) {
    Status& silent = context_->silent_rails[rail];
    if (!silent.ok()) return silent;
    const Time deadline = Now() + kTryDeadline / static_cast<int>(context_->rails.size());
    const Status status =
        Loopback(context_.get()).TryRead(rail, memory.memory, key, deadline);
    if (status.code() == StatusCode::kDeadlineExceeded) silent = status;
    return status;
  };
  return context_->memory->RegisterDevice(memory, context_->data_access(), try_rail);
}

std::vector<std::string> RdmaTransport::devices() const {
  std::vector<std::string> names;
  for (const auto& rail : context_->rails) {
    const std::string& name = rail->choice().device;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

size_t RdmaTransport::QueuesOfALink() const {
  return rdma::QueuesOfALink(context_->options.channels, context_->room, context_->rails.size());
}

std::unique_ptr<Link> RdmaTransport::Connect(const Peer& peer) {
  return std::make_unique<RdmaLink>(context_.get(), peer);
}

size_t RdmaTransport::EagerBytes() const { return kEagerBytes; }

int RdmaTransport::event_fd() const { return context_->poller.fd(); }

void RdmaTransport::Progress(Time now) {
  context_->now = now;
  context_->poller.Dispatch();
  for (const auto& watch : context_->devices) {
    if (watch->TakeCompletionEvents()) {
      for (RdmaLink* link : context_->links) link->Disarmed();
    }
    for (const AsyncEvent& event : watch->TakeAsyncEvents()) {
      context_->TellRails(*watch->device(), event);
      const std::string rails = RailsOf(*context_, *watch->device(), event);
      // Of a port that no link uses.
      if (rails.empty()) continue;
      REIGEN_WARN("rdma: {} says: {}", rails, event.text);
      for (RdmaLink* link : context_->links) link->OnAsyncEvent(*watch->device(), event);
    }
  }
  context_->reception.Progress(now);
  for (RdmaLink* link : context_->links) link->Progress(now);
  context_->farewell.Progress(now);
}

std::optional<Time> RdmaTransport::NextDeadline() const {
  std::optional<Time> next = context_->reception.NextDeadline();
  const auto consider = [&next](const std::optional<Time>& time) {
    if (time) next = next ? std::min(*next, *time) : *time;
  };
  consider(context_->farewell.NextDeadline());
  for (const RdmaLink* link : context_->links) consider(link->NextDeadline());
  for (const auto& watch : context_->devices) {
    if (watch->has_events()) consider(Time{});
  }
  return next;
}

}  // namespace reigen::transport::rdma
