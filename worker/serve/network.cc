#include "worker/serve/network.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/collective/scratch.h"
#include "runtime/gpudirect/distance.h"
#include "runtime/probe/facts.h"
#include "runtime/probe/pci_place.h"

namespace reigen::worker {
namespace {

// Negotiated plans; the only stream there is.
constexpr uint32_t kStream = 0;

// Links give back what was posted at once when they are closed; this is in case not.
constexpr Duration kGiveBackLimit = seconds(2);

}  // namespace

StatusOr<Scratch> Scratch::Make(uint64_t bytes) {
  Scratch scratch;
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) {
    return ErrnoStatus(StatusCode::kResourceExhausted,
                       std::to_string(bytes) + " bytes of scratch memory");
  }
  scratch.memory_ = {static_cast<std::byte*>(base), bytes};
  return scratch;
}

Scratch::~Scratch() {
  if (!memory_.empty()) munmap(memory_.data(), memory_.size());
}

StatusOr<std::unique_ptr<Network>> Network::Make(int host, uint64_t scratch_bytes,
                                                 std::unique_ptr<transport::Transport> transport,
                                                 collective::WorkExecutor* executor,
                                                 collective::Gpus* gpus,
                                                 const std::string& root) {
  Scratch scratch;
  std::unique_ptr<transport::Region> region;
  if (transport != nullptr) {
    REIGEN_ASSIGN_OR_RETURN(scratch, Scratch::Make(scratch_bytes));
    REIGEN_ASSIGN_OR_RETURN(region, transport->Register(scratch.memory()));
  }
  std::unique_ptr<Network> network(
      new Network(host, std::move(scratch), std::move(transport), std::move(region), root));
  network->engine_ = collective::MakeEngine(
      {.scratch = network->scratch_.memory(), .gpus = gpus},
      [n = network.get()](int peer) { return n->LinkTo(peer); }, executor);
  return network;
}

Network::Network(int host, Scratch scratch, std::unique_ptr<transport::Transport> transport,
                 std::unique_ptr<transport::Region> region, const std::string& root)
    : host_(host),
      root_(root),
      scratch_(std::move(scratch)),
      transport_(std::move(transport)),
      region_(std::move(region)) {}

Network::~Network() {
  engine_->CancelAll(Aborted("the worker ends"));
  for (auto& [host, state] : links_) state.link->Close();
  const Time deadline = Now() + kGiveBackLimit;
  while (engine_->posts_out() > 0 && Now() < deadline) Progress(Now());
  engine_.reset();
  links_.clear();
  device_regions_.clear();  // R7: nothing reads or writes them any more
}

Status Network::BeginEpoch(const control::EpochBegin& begin) {
  if (!idle()) return Internal("buckets of the last epoch have not ended");
  peers_.clear();
  std::vector<int> ring;
  for (const control::HostInfo& info : begin.hosts()) {
    ring.push_back(info.host());
    peers_[info.host()] = transport::Peer{
        .host = info.host(),
        .name = info.name(),
        .addresses = {info.link_addresses().begin(), info.link_addresses().end()}};
  }
  if (std::exchange(stream_open_, false)) engine_->CloseStream(kStream);
  window_bytes_ = 0;
  if (ring.size() < 2) return OkStatus();
  if (transport_ == nullptr) return FailedPrecondition("this host has no network for links");
  REIGEN_RETURN_IF_ERROR(engine_->OpenStream(kStream, begin.max_segment_bytes(),
                                             static_cast<int>(begin.max_channels())));
  stream_open_ = true;
  const size_t segment =
      collective::Scratch::Rounded(begin.max_segment_bytes()) + collective::Scratch::kAlign;
  window_bytes_ = 2 * size_t{begin.max_channels()} * segment;
  const auto self = static_cast<size_t>(std::find(ring.begin(), ring.end(), host_) - ring.begin());
  LinkTo(ring[(self + 1) % ring.size()]);
  LinkTo(ring[(self + ring.size() - 1) % ring.size()]);
  return OkStatus();
}

transport::Link* Network::LinkTo(int host) {
  const auto it = links_.find(host);
  if (it != links_.end()) return it->second.link.get();
  const auto peer = peers_.find(host);
  if (peer == peers_.end() || transport_ == nullptr || host == host_) return nullptr;
  return (links_[host].link = transport_->Connect(peer->second)).get();
}

void Network::Progress(Time now) {
  if (transport_ != nullptr) transport_->Progress(now);
  engine_->Progress(now);
}

int Network::event_fd() const { return transport_ == nullptr ? -1 : transport_->event_fd(); }

std::vector<std::string> Network::link_addresses() const {
  return transport_ == nullptr ? std::vector<std::string>() : transport_->addresses();
}

std::optional<Time> Network::NextDeadline() const {
  return transport_ == nullptr ? std::nullopt : transport_->NextDeadline();
}

// --- memory of GPUs -----------------------------------------------------------------------

Status Network::LinksTakeDeviceMemory() const {
  for (const auto& [host, peer] : peers_) {
    if (host == host_) continue;
    REIGEN_RETURN_IF_ERROR(transport_->TakesDeviceMemory(peer));
  }
  return OkStatus();
}

std::vector<gpudirect::NicFacts> Network::NicsFor(const std::string& bus_id) const {
  std::vector<gpudirect::NicFacts> nics;
  const probe::PciDevice gpu = probe::ReadPciDevice(root_, bus_id);
  const std::vector<std::string> used = transport_->devices();
  std::vector<std::string> names = used;
  for (const std::string& name : probe::ActiveRdmaDevices(root_)) {
    if (std::find(used.begin(), used.end(), name) == used.end()) names.push_back(name);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const probe::PciDevice nic = probe::ReadPciDevice(root_, probe::RdmaBusId(root_, names[i]));
    nics.push_back({.name = names[i],
                    .used = i < used.size(),
                    .distance = DistanceOf(gpu.place, nic.place),
                    .iommu_translates = gpu.iommu_group_type.starts_with("DMA") ||
                                        nic.iommu_group_type.starts_with("DMA"),
                    .separate_groups =
                        !gpu.iommu_group.empty() && gpu.iommu_group != nic.iommu_group});
  }
  return nics;
}

Status Network::RegisterDevice(const transport::DeviceMemory& memory) {
  REIGEN_ASSIGN_OR_RETURN(auto region, transport_->RegisterDevice(memory));
  device_regions_.push_back(std::move(region));
  return OkStatus();
}

Status Network::RegisterHost(std::span<std::byte> memory) {
  REIGEN_ASSIGN_OR_RETURN(auto region, transport_->Register(memory));
  device_regions_.push_back(std::move(region));
  return OkStatus();
}

void Network::ReleaseDeviceMemory() {
  REIGEN_CHECK(device_regions_.empty() || idle(), "links are fenced first");
  device_regions_.clear();
}

std::vector<LostLink> Network::TakeLostLinks() {
  std::vector<LostLink> lost;
  for (auto& [host, state] : links_) {
    if (state.told) continue;
    if (const Status status = state.link->error(); !status.ok()) {
      state.told = true;
      lost.push_back({host, Message(status)});
    }
  }
  return lost;
}

}  // namespace reigen::worker
