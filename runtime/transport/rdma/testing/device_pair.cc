#include "runtime/transport/rdma/testing/device_pair.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/transport/rdma/testing/fake_gpu_memory.h"
#include "runtime/transport/rdma/testing/rdma_pair.h"

namespace reigen::transport::rdma {
namespace {

struct Counterpart {
  size_t bytes = 0;
  std::unique_ptr<FakeGpuMemory> gpu;
};
using Counterparts = std::map<const std::byte*, Counterpart>;

// Of `data`: what the GPU sees, and what is posted.
struct OnGpu {
  std::span<std::byte> bytes;
  std::span<std::byte> window;
};
OnGpu Find(const Counterparts& all, std::span<const std::byte> data) {
  if (data.empty()) return {};
  const auto at = std::prev(all.upper_bound(data.data()));
  const auto offset = static_cast<size_t>(data.data() - at->first);
  REIGEN_CHECK(offset + data.size() <= at->second.bytes, "a posted buffer is registered");
  return {at->second.gpu->bytes().subspan(offset, data.size()),
          at->second.gpu->window().subspan(offset, data.size())};
}

class GpuRegion : public Region {
 public:
  GpuRegion(std::shared_ptr<Counterparts> all, const std::byte* at, std::unique_ptr<Region> region)
      : all_(std::move(all)), at_(at), region_(std::move(region)) {}
  ~GpuRegion() override {
    region_.reset();
    all_->erase(at_);
  }

 private:
  const std::shared_ptr<Counterparts> all_;
  const std::byte* const at_;
  std::unique_ptr<Region> region_;
};

class GpuLink : public Link {
 public:
  GpuLink(const Counterparts* all, std::unique_ptr<Link> link)
      : all_(*all), link_(std::move(link)) {}

  Status PostSend(std::span<const std::byte> data, const Tag& tag, uint64_t cookie) override {
    const OnGpu on_gpu = Find(all_, data);
    std::copy(data.begin(), data.end(), on_gpu.bytes.begin());
    return link_->PostSend(on_gpu.window, tag, cookie);
  }
  Status PostRecv(std::span<std::byte> data, const Tag& tag, uint64_t cookie) override {
    REIGEN_RETURN_IF_ERROR(link_->PostRecv(Find(all_, data).window, tag, cookie));
    receives_[cookie] = data;
    return OkStatus();
  }
  size_t Poll(std::span<Completion> out) override {
    const size_t count = link_->Poll(out);
    for (const Completion& done : out.first(count)) {
      const auto at = receives_.find(done.cookie);
      if (at == receives_.end()) continue;
      const OnGpu on_gpu = Find(all_, at->second);
      if (done.result == OpResult::kOk) {
        std::copy(on_gpu.bytes.begin(), on_gpu.bytes.end(), at->second.begin());
      }
      receives_.erase(at);
    }
    return count;
  }
  void Close() override { link_->Close(); }
  Status error() const override { return link_->error(); }

 private:
  const Counterparts& all_;
  const std::unique_ptr<Link> link_;
  std::map<uint64_t, std::span<std::byte>> receives_;  // by cookie
};

}  // namespace

class DevicePair::GpuTransport : public Transport {
 public:
  GpuTransport(Fabric* pair, int host) : pair_(*pair), host_(host) {}

  const char* name() const override { return real().name(); }
  std::vector<std::string> addresses() const override { return real().addresses(); }
  StatusOr<std::unique_ptr<Region>> Register(std::span<std::byte> memory) override {
    if (memory.empty()) return std::make_unique<Region>();
    Counterpart counterpart = {memory.size(), std::make_unique<FakeGpuMemory>(memory.size())};
    REIGEN_ASSIGN_OR_RETURN(auto region, real().RegisterDevice(counterpart.gpu->device()));
    counterpart.gpu->CloseDmabuf();
    (*all_)[memory.data()] = std::move(counterpart);
    return std::unique_ptr<Region>(
        std::make_unique<GpuRegion>(all_, memory.data(), std::move(region)));
  }
  std::unique_ptr<Link> Connect(const Peer& peer) override {
    return std::make_unique<GpuLink>(all_.get(), real().Connect(peer));
  }
  size_t EagerBytes() const override { return real().EagerBytes(); }
  int event_fd() const override { return real().event_fd(); }
  void Progress(Time now) override { real().Progress(now); }
  std::optional<Time> NextDeadline() const override { return real().NextDeadline(); }

 private:
  Transport& real() const { return pair_.transport(host_); }

  Fabric& pair_;
  const int host_;
  const std::shared_ptr<Counterparts> all_ = std::make_shared<Counterparts>();
};

DevicePair::DevicePair(std::unique_ptr<Fabric> pair, bool gpu0, bool gpu1)
    : pair_(std::move(pair)) {
  const bool gpus[2] = {gpu0, gpu1};
  for (int host : {0, 1}) {
    if (gpus[host]) gpus_[host] = std::make_unique<GpuTransport>(pair_.get(), host);
  }
}

DevicePair::~DevicePair() = default;

Transport& DevicePair::transport(int host) {
  if (gpus_[host] != nullptr) return *gpus_[host];
  return pair_->transport(host);
}

std::unique_ptr<Fabric> MakeFakeDevicePair(int channels, int devices, bool gpu0, bool gpu1) {
  auto pair = std::make_unique<FakeRdmaPair>(channels, devices, devices);
  for (int host : {0, 1}) {
    for (int i = 0; i < devices; ++i) {
      FakeDeviceState& device =
          pair->fabric().device("fake" + std::to_string(host) + std::to_string(i));
      device.dmabuf = device.late = true;
    }
  }
  return std::make_unique<DevicePair>(std::move(pair), gpu0, gpu1);
}

}  // namespace reigen::transport::rdma
