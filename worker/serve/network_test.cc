// Goal: memory of a GPU that is registered is what links carry, straight, until it is
// given up; where devices are, and which are not used, is what /sys says.
// Method: two networks over RDMA verbs in memory, with a /sys and commands of their own.
#include "worker/serve/network.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/control/control.pb.h"
#include "runtime/base/clock.h"
#include "runtime/collective/bucket.h"
#include "runtime/collective/executor.h"
#include "runtime/collective/testing/fake_gpus.h"
#include "runtime/gpudirect/distance.h"
#include "runtime/probe/testing/tree.h"
#include "runtime/transport/rdma/fake/fake_fabric.h"
#include "runtime/transport/rdma/rdma_transport.h"
#include "runtime/transport/rdma/testing/fake_gpu_memory.h"

namespace reigen::worker {
namespace {

using collective::FakeGpus;
using gpudirect::Distance;
using transport::rdma::FakeDeviceState;
using transport::rdma::FakeFabric;
using transport::rdma::FakeGpuMemory;

constexpr size_t kGpuBytes = 1 << 20;
constexpr uint64_t kSegmentBytes = 4096;

// A PCI device below `way`, in an IOMMU group of its own.
void AddPciDevice(probe::Tree& tree, const std::string& way, const std::string& id,
                  const std::string& group, const std::string& group_type = "identity") {
  const std::string folder = "/sys/devices/" + way + "/" + id;
  tree.File(folder + "/numa_node", "0\n");
  tree.Link("/sys/bus/pci/devices/" + id, "../../../devices/" + way + "/" + id);
  if (group.empty()) return;
  tree.File("/sys/kernel/iommu_groups/" + group + "/type", group_type + "\n");
  tree.Link(folder + "/iommu_group", tree.root() + "/sys/kernel/iommu_groups/" + group);
}

void AddNic(probe::Tree& tree, const std::string& name, const std::string& way,
            const std::string& id, const std::string& group,
            const std::string& group_type = "identity") {
  AddPciDevice(tree, way, id, group, group_type);
  tree.File("/sys/class/infiniband/" + name + "/ports/1/state", "4: ACTIVE\n");
  tree.Link("/sys/class/infiniband/" + name + "/device", "../../../devices/" + way + "/" + id);
}

constexpr char kSwitch[] = "pci0000:00/0000:00:01.0/0000:01:00.0";

struct Host {
  std::unique_ptr<FakeGpuMemory> gpu = std::make_unique<FakeGpuMemory>(kGpuBytes);
  std::unique_ptr<FakeGpus> gpus;
  std::unique_ptr<Network> network;
  std::vector<float> tensor;
  std::optional<Status> done;
};

class NetworkTest : public testing::Test {
 protected:
  NetworkTest() : tree_("network") {
    control::EpochBegin begin;
    begin.set_epoch(1);
    begin.set_max_segment_bytes(kSegmentBytes);
    begin.set_max_channels(2);
    for (int h : {0, 1}) {
      FakeDeviceState& device = fabric_.AddDevice(h, Device(h), "10.0.0." + std::to_string(h + 1));
      device.dmabuf = device.late = true;
      Make(h);
      control::HostInfo& info = *begin.add_hosts();
      info.set_host(h);
      info.set_name("host" + std::to_string(h));
      for (const std::string& address : hosts_[h].network->link_addresses()) {
        info.add_link_addresses(address);
      }
    }
    for (Host& host : hosts_) {
      EXPECT_TRUE(host.network->BeginEpoch(begin).ok());
      host.gpus->OpenStream(0, host.network->window_bytes());
    }
    before_ = fabric_.registrations();
  }
  ~NetworkTest() override {
    for (Host& host : hosts_) host.network.reset();
    EXPECT_EQ(fabric_.registrations(), 0u);
    EXPECT_EQ(fabric_.queue_pairs(), 0u);
  }

  static std::string Device(int host) { return "fake" + std::to_string(host); }

  void Make(int number) {
    Host& host = hosts_[number];
    host.gpus = std::make_unique<FakeGpus>(collective::FakeGpusOptions{
        .leaders = 1, .scratch = {{host.gpu->window(), host.gpu->bytes()}}});
    transport::rdma::RdmaOptions options;
    options.job = "job";
    options.secret = "secret";
    options.host = number;
    options.name = "host" + std::to_string(number);
    options.bind_addresses = {"127.0.0.1"};
    auto transport = transport::rdma::RdmaTransport::Create(options, fabric_.VerbsOf(number));
    ASSERT_TRUE(transport.ok()) << transport.status().ToString();
    auto network = Network::Make(number, 1 << 20, std::move(*transport), executor_.get(),
                                 host.gpus.get(), tree_.root());
    ASSERT_TRUE(network.ok()) << network.status().ToString();
    host.network = std::move(*network);
  }

  bool RunUntil(const std::function<bool()>& ended) {
    const Time until = Now() + seconds(30);
    while (!ended() && Now() < until) {
      for (Host& host : hosts_) {
        host.network->Progress(Now());
        host.gpus->Turn();
      }
      executor_->Progress();
    }
    return ended();
  }

  // All-reduce of one tensor, whose steps between hosts lie in the scratch of GPUs.
  void Start(int number, size_t count) {
    Host& host = hosts_[number];
    host.tensor.resize(count);
    for (size_t i = 0; i < count; ++i) {
      host.tensor[i] = static_cast<float>(i) * static_cast<float>(number + 1);
    }
    auto* const bytes = reinterpret_cast<std::byte*>(host.tensor.data());
    collective::Bucket bucket;
    bucket.id = {.epoch = 1, .sequence = 1, .stream = 0};
    bucket.algorithm = Algorithm::kRing;
    bucket.hosts = {0, 1};
    bucket.self = number;
    bucket.segment_bytes = kSegmentBytes;
    bucket.channels = 2;
    bucket.on_gpus = true;
    bucket.tensors.push_back({.count = count, .inputs = {bytes}, .outputs = {bytes}});
    bucket.done = [&host](const Status& status) { host.done = status; };
    host.network->engine().Start(std::move(bucket));
  }

  FakeFabric fabric_;
  probe::Tree tree_;
  const std::unique_ptr<collective::WorkExecutor> executor_ = collective::MakeInlineExecutor();
  Host hosts_[2];
  size_t before_ = 0;
};

TEST_F(NetworkTest, ABucketOnGpusGoesStraightFromAndIntoTheirMemory) {
  for (int h : {0, 1}) {
    EXPECT_TRUE(hosts_[h].network->LinksTakeDeviceMemory().ok());
    const Status registered = hosts_[h].network->RegisterDevice(hosts_[h].gpu->device());
    ASSERT_TRUE(registered.ok()) << registered.ToString();
  }
  EXPECT_EQ(fabric_.registrations(), before_ + 2) << "kept while the epoch lasts";
  for (int h : {0, 1}) {
    hosts_[h].gpu->CloseDmabuf();
    fabric_.device(Device(h)).reads = 0;
    Start(h, 10000);
  }
  ASSERT_TRUE(RunUntil([&] { return hosts_[0].done && hosts_[1].done; }));
  for (int h : {0, 1}) {
    EXPECT_TRUE(hosts_[h].done->ok()) << hosts_[h].done->ToString();
    for (size_t i = 0; i < hosts_[h].tensor.size(); ++i) {
      ASSERT_EQ(hosts_[h].tensor[i], 3 * static_cast<float>(i)) << "host " << h;
    }
    EXPECT_GE(fabric_.device(Device(h)).wrote_bytes, 10000 * sizeof(float));
    EXPECT_GT(fabric_.device(Device(h)).reads, 0u) << "what was written to a GPU is read back";
  }
  ASSERT_TRUE(RunUntil([&] { return hosts_[0].network->idle() && hosts_[1].network->idle(); }));
  const size_t with_links = fabric_.registrations();
  for (Host& host : hosts_) host.network->ReleaseDeviceMemory();
  EXPECT_EQ(fabric_.registrations(), with_links - 2);
}

TEST_F(NetworkTest, MemoryThatADeviceRefusesIsNotKept) {
  fabric_.device("fake0").dmabuf = false;
  const Status refused = hosts_[0].network->RegisterDevice(hosts_[0].gpu->device());
  EXPECT_EQ(refused.code(), StatusCode::kUnimplemented);
  EXPECT_NE(refused.ToString().find("fake0"), std::string::npos) << refused.ToString();
  EXPECT_EQ(fabric_.registrations(), before_);
}

TEST_F(NetworkTest, DevicesAreWhereTheKernelSaysAndThoseNotUsedAreKnown) {
  AddPciDevice(tree_, std::string(kSwitch) + "/0000:02:00.0", "0000:3b:00.0", "1");
  AddNic(tree_, "fake0", "pci0000:80", "0000:81:00.0", "2");
  AddNic(tree_, "other", std::string(kSwitch) + "/0000:02:04.0", "0000:5e:00.0", "3");
  tree_.File("/sys/class/infiniband/down/ports/1/state", "1: DOWN\n");
  const std::vector<gpudirect::NicFacts> nics = hosts_[0].network->NicsFor("00000000:3B:00.0");
  ASSERT_EQ(nics.size(), 2u);
  EXPECT_EQ(nics[0].name, "fake0");
  EXPECT_TRUE(nics[0].used);
  EXPECT_EQ(nics[0].distance, Distance::kSameNode);
  EXPECT_EQ(nics[1].name, "other");
  EXPECT_FALSE(nics[1].used);
  EXPECT_EQ(nics[1].distance, Distance::kSameSwitch);
}

TEST_F(NetworkTest, AnIommuIsThatOfEitherAndGroupsAreThoseOfTheGpu) {
  struct Row {
    const char* gpu_group;
    const char* gpu_type;
    const char* nic_group;
    const char* nic_type;
    bool translates;
    bool separate;
  };
  const Row rows[] = {
      {"", "", "", "", false, false},
      {"1", "identity", "2", "identity", false, true},
      {"1", "identity", "1", "identity", false, false},
      {"1", "DMA", "2", "identity", true, true},
      {"1", "identity", "2", "DMA-FQ", true, true},
      {"", "", "2", "identity", false, false},
      {"1", "identity", "", "", false, true},
  };
  int number = 10;
  for (const Row& row : rows) {
    const std::string id = std::to_string(number++);
    const auto group = [&](const std::string& name) { return name.empty() ? "" : id + name; };
    AddPciDevice(tree_, kSwitch, "0000:" + id + ":00.0", group(row.gpu_group), row.gpu_type);
    AddNic(tree_, "nic" + id, kSwitch, "0000:" + id + ":01.0", group(row.nic_group), row.nic_type);
    const std::vector<gpudirect::NicFacts> nics = hosts_[0].network->NicsFor("0000:" + id + ":00.0");
    ASSERT_EQ(nics.back().name, "nic" + id);
    EXPECT_EQ(nics.back().distance, Distance::kSameSwitch);
    EXPECT_EQ(nics.back().iommu_translates, row.translates) << id;
    EXPECT_EQ(nics.back().separate_groups, row.separate) << id;
  }
}

}  // namespace
}  // namespace reigen::worker
