#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "client/cli/reigenctl/doctor/examine.h"
#include "client/cli/reigenctl/doctor/testing/hosts_of_tests.h"

namespace reigen::ctl {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Case {
  const char* name;
  std::function<void(probe::HostFacts&)> change;
  const char* subject;
  Level level;
  const char* text;
  const char* remedy;  // part of it; "": none
};

const Case kCases[] = {
    {"driver", [](auto&) {}, "driver", Level::kOk, "CUDA 12.4, NVRM version: 550.54", ""},
    {"use", [](auto&) {}, "driver", Level::kOk, "tensors are reduced on the GPUs", ""},
    {"best path", [](auto&) {}, "GPU 0", Level::kOk,
     "nearest RDMA device of the links mlx5_0 (same PCIe switch): GPUDirect RDMA is possible", ""},
    {"Hopper", [](auto&) {}, "GPU 0", Level::kOk,
     "is read back: with relaxed ordering a device may read before its own", ""},
    {"Hopper, two devices",
     [](auto& f) { f.rdma.devices.push_back(GoodDevice("mlx5_1", "10.0.0.1")); }, "GPU 0",
     Level::kOk, "is read back: another RDMA device's reads", ""},
    {"two devices, the other takes no dma-buf", [](auto& f) {
       f.rdma.devices.push_back(GoodDevice("mlx5_1", "10.0.0.1"));
       f.rdma.devices[1].registers_dmabuf = false;
     },
     "GPU 0", Level::kNote, "not possible: the links use mlx5_1, which registers no dma-buf",
     "`--rdma-devices"},
    {"port down", [](auto& f) { f.rdma.devices[0].info.ports[0].active = false; }, "GPU 0",
     Level::kNote, "not possible: links use TCP", ""},
    {"cannot be opened", [](auto& f) { f.rdma.devices[0].open_error = "EIO"; }, "GPU 0",
     Level::kNote, "not possible: links use TCP", ""},
    {"Ampere", [](auto& f) { f.cuda.gpus[0].capability_major = 8; }, "GPU 0", Level::kOk,
     "is read back: a GPU below", ""},
    {"Ampere in order", [](auto& f) {
       f.cuda.gpus[0].capability_major = 8;
       f.cuda.gpus[0].writes_ordering = 100;
     },
     "GPU 0", Level::kOk, "is read back: with relaxed ordering", ""},
    {"ACS", [](auto& f) {
       f.pci[0].iommu_group = "17";
       f.pci[1].iommu_group = "18";
       f.pci[0].iommu_group_type = f.pci[1].iommu_group_type = "identity";
     },
     "GPU 0", Level::kNote, "possible, by the root complex: ACS forbids", "ACS off"},
    {"IOMMU", [](auto& f) {
       f.pci[0].iommu_group = f.pci[1].iommu_group = "17";
       f.pci[0].iommu_group_type = "DMA-FQ";
     },
     "GPU 0", Level::kNote, "not possible: mlx5_0: the IOMMU translates", "iommu=pt"},
    {"other socket", [](auto& f) {
       f.pci[1].place.bridges = {"pci0000:80", "0000:80:00.0"};
       f.pci[1].place.numa_node = 1;
     },
     "GPU 0", Level::kNote, "(across NUMA nodes): GPUDirect RDMA is not possible", "slot"},
    {"no dma-buf", [](auto& f) { f.cuda.gpus[0].exports_dmabuf = false; }, "GPU 0", Level::kNote,
     "driver exports no dma-buf", "open kernel modules"},
    {"old NIC", [](auto& f) { f.rdma.devices[0].registers_dmabuf = false; }, "GPU 0",
     Level::kNote, "the links use mlx5_0, which registers no dma-buf", "rdma-core 34"},
    {"no place", [](auto& f) { f.pci.clear(); }, "GPU 0", Level::kNote, "not known how far",
     "virtual machine"},
    {"hwloc", [](auto& f) { f.pci_error = "hwloc: no memory"; }, "PCIe", Level::kNote,
     "hwloc: no memory", ""},
    {"a container without the GPUs", [](auto& f) {
       f.cuda.gpus.clear();
       f.cuda.library_error = "libcuda.so.1: cannot open";
     },
     "driver", Level::kProblem, "libcuda.so.1: cannot open", "--gpus all"},
    {"CUDA does not start", [](auto& f) {
       f.cuda.gpus.clear();
       f.cuda.start_error = "cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH";
     },
     "driver", Level::kProblem, "SYSTEM_DRIVER_MISMATCH", "nvidia-smi"},
    {"no GPU", [](auto& f) {
       f.cuda.gpus.clear();
       f.cuda.start_error = "cuInit: CUDA_ERROR_NO_DEVICE";
       f.cuda.no_device = true;
     },
     "driver", Level::kNote, "and no GPU", ""},
    {"hidden", [](auto& f) {
       f.cuda.gpus.clear();
       f.cuda.no_device = true;
       f.cuda.visible_devices = "";
     },
     "driver", Level::kNote, "CUDA_VISIBLE_DEVICES=\"\" hides all GPUs", ""},
};

TEST(ExamineGpuTest, WhatIsPossibleAndWhyNotMore) {
  for (const Case& c : kCases) {
    probe::HostFacts facts = GpuHost();
    c.change(facts);
    const Report report = Examine(facts, PlainWishes());
    const Finding* finding = FindFinding(report, "gpu", c.subject);
    ASSERT_NE(finding, nullptr) << c.name;
    EXPECT_EQ(finding->level, c.level) << c.name;
    EXPECT_THAT(finding->text, HasSubstr(c.text)) << c.name;
    EXPECT_THAT(finding->remedy, HasSubstr(c.remedy)) << c.name;
    EXPECT_EQ(finding->remedy.empty(), *c.remedy == '\0') << c.name;
  }
}

TEST(ExamineGpuTest, WithoutRdmaThereIsNoPathToSpeakOf) {
  probe::HostFacts facts = GpuHost();
  facts.rdma.devices.clear();
  const Report report = Examine(facts, PlainWishes());
  EXPECT_EQ(FindFinding(report, "gpu", "GPU 0")->text,
            "H100, 80 GiB, sm_90, 0000:3b:00.0, exports dma-buf");
  EXPECT_THAT(report.gpu_paths, IsEmpty());
}

TEST(ExamineGpuTest, WithoutLinksOverRdmaNoneIsPossible) {
  Wishes wishes = PlainWishes();
  wishes.transport = "tcp";
  const Report report = Examine(GpuHost(), wishes);
  for (const Finding& finding : report.findings) {
    EXPECT_THAT(finding.text, Not(HasSubstr("GPUDirect RDMA is possible")));
  }
  EXPECT_EQ(report.gpu_paths.size(), 1u) << "what could be";
}

// The GPU's switch has mlx5_9 below it; mlx5_0 is at the other socket. Each has an address of
// its own.
probe::HostFacts HostWithAFarDevice() {
  probe::HostFacts facts = GpuHost();
  facts.rdma.devices.push_back(GoodDevice("mlx5_9", "10.1.0.1"));
  facts.rdma.devices[0].bus_id = "0000:86:00.0";
  facts.pci.push_back({.place = {"0000:86:00.0", {"pci0000:80", "0000:80:00.0"}, 1},
                       .iommu_group = "",
                       .iommu_group_type = ""});
  return facts;
}

// What is said of the way between GPU 0 and the links.
Finding PathFinding(const probe::HostFacts& facts, const Wishes& wishes) {
  for (const Finding& finding : Examine(facts, wishes).findings) {
    if (finding.subject == "GPU 0" && finding.text.find("of the links") != std::string::npos) {
      return finding;
    }
  }
  return Finding();
}

Wishes ForDevices(const std::vector<std::string>& devices) {
  Wishes wishes = PlainWishes();
  wishes.rdma.devices = devices;
  return wishes;
}

// A job takes the ports of its network, or those that it is told to.
TEST(ExamineGpuTest, ANearerDeviceThatLinksDoNotUseIsTheRemedy) {
  const probe::HostFacts facts = HostWithAFarDevice();
  const Finding far = PathFinding(facts, PlainWishes());
  EXPECT_EQ(far.level, Level::kNote);
  EXPECT_THAT(far.text, HasSubstr("links mlx5_0 (across NUMA nodes): GPUDirect RDMA is not"));
  EXPECT_THAT(far.remedy, HasSubstr("`--rdma-devices mlx5_9`"));
  EXPECT_THAT(PathFinding(facts, ForDevices({"mlx5_9"})).text,
              HasSubstr("of the links mlx5_9 (same PCIe switch)"));
  EXPECT_THAT(PathFinding(facts, ForDevices({"mlx5_0", "mlx5_9"})).text,
              HasSubstr("of the links mlx5_9 (same PCIe switch)"));
}

// Which one it takes, only the coordinator's address shows.
TEST(ExamineGpuTest, OfSeveralAddressesTheOneWithTheWorstWayCounts) {
  probe::HostFacts facts = HostWithAFarDevice();
  facts.network.addresses.push_back({.interface = "eth1", .address = "10.1.0.1"});
  const Finding worst = PathFinding(facts, PlainWishes());
  EXPECT_EQ(worst.level, Level::kNote);
  EXPECT_THAT(worst.text, HasSubstr("if the job takes 10.0.0.1: nearest RDMA device of the links "
                                    "mlx5_0 (across NUMA nodes): GPUDirect RDMA is not possible"));
  EXPECT_THAT(worst.remedy, HasSubstr("`--rdma-devices mlx5_9`"));
  const Finding both = PathFinding(facts, ForDevices({"mlx5_0", "mlx5_9"}));
  EXPECT_EQ(both.level, Level::kOk) << "whatever the address";
  EXPECT_THAT(both.text, Not(HasSubstr("if the job takes")));
}

TEST(ExamineGpuTest, ADeviceThatLinksCouldNotUseIsNoRemedy) {
  probe::HostFacts facts = HostWithAFarDevice();
  const probe::RdmaDeviceFacts good = facts.rdma.devices[1];
  facts.rdma.devices[1].info.ports[0].active = false;
  EXPECT_THAT(PathFinding(facts, PlainWishes()).remedy, HasSubstr("slot"));
  facts.rdma.devices[1] = good;
  facts.rdma.devices[1].info.ports[0].gids.clear();
  EXPECT_THAT(PathFinding(facts, PlainWishes()).remedy, HasSubstr("slot"));
  facts.rdma.devices[1] = good;
  facts.rdma.devices[1].open_error = "EIO";
  EXPECT_THAT(PathFinding(facts, PlainWishes()).remedy, HasSubstr("slot"));
  facts.rdma.devices[1] = good;
  facts.rdma.devices[1].registers_dmabuf = false;
  EXPECT_THAT(PathFinding(facts, PlainWishes()).remedy, HasSubstr("slot"));
}

TEST(ExamineGpuTest, WhoRequiresGpuDirectIsToldWhatAJobEndsFor) {
  Wishes wishes = PlainWishes();
  wishes.gpu_direct = "require";
  EXPECT_THAT(SubjectsOf(Examine(GpuHost(), wishes), Level::kProblem), IsEmpty());
  const auto problem = [&](const probe::HostFacts& facts) {
    const Report report = Examine(facts, wishes);
    const Finding finding = *FindFinding(report, "gpu", "GPU 0");
    EXPECT_EQ(finding.level, Level::kProblem) << finding.text;
    EXPECT_THAT(finding.text, HasSubstr("a job of several hosts ends with its first CUDA tensor, for "
                                        "--gpu-direct is require"));
    EXPECT_THAT(finding.remedy, HasSubstr("`--gpu-direct auto`"));
    return finding;
  };
  EXPECT_THAT(problem(HostWithAFarDevice()).remedy, HasSubstr("`--rdma-devices mlx5_9`"));
  probe::HostFacts facts = GpuHost();
  facts.cuda.gpus[0].allows_rdma = false;
  problem(facts);
  facts.rdma.devices.clear();
  EXPECT_THAT(problem(facts).text, HasSubstr("links use TCP"));
  // Where it is direct and could be better, it is direct.
  facts = GpuHost();
  facts.pci[0].iommu_group = "17";
  facts.pci[1].iommu_group = "18";
  facts.pci[0].iommu_group_type = facts.pci[1].iommu_group_type = "identity";
  EXPECT_EQ(FindFinding(Examine(facts, wishes), "gpu", "GPU 0")->level, Level::kNote);
}

TEST(ExamineGpuTest, WhoRequiresGpuDirectNeedsAGpu) {
  Wishes wishes = PlainWishes();
  wishes.gpu_direct = "require";
  const auto problem = [&](const probe::HostFacts& facts) {
    const Finding finding = *FindFinding(Examine(facts, wishes), "gpu", "driver");
    EXPECT_EQ(finding.level, Level::kProblem) << finding.text;
    EXPECT_THAT(finding.text, HasSubstr("--gpu-direct is require, and "));
    EXPECT_THAT(finding.remedy, HasSubstr("`--gpu-direct auto`"));
    return finding;
  };
  EXPECT_THAT(problem(PlainHost()).text,
              EndsWith("there is no CUDA driver (libcuda.so.1: no such file)"));
  probe::HostFacts facts = GpuHost();
  facts.cuda.gpus.clear();
  facts.cuda.no_device = true;
  EXPECT_THAT(problem(facts).text, EndsWith("no GPU"));
  facts.cuda.visible_devices = "";
  EXPECT_THAT(problem(facts).remedy, HasSubstr("unset CUDA_VISIBLE_DEVICES"));
}

TEST(ExamineGpuTest, WhoLeavesTensorsToTheCpuNeedsNoWay) {
  Wishes wishes = PlainWishes();
  wishes.gpu_direct = "off";
  const Report report = Examine(HostWithAFarDevice(), wishes);
  EXPECT_THAT(FindFinding(report, "gpu", "driver")->text,
              EndsWith("CUDA tensors are reduced by the CPU: --gpu-direct off"));
  const Finding finding = *FindFinding(report, "gpu", "GPU 0");
  EXPECT_EQ(finding.level, Level::kOk);
  EXPECT_EQ(finding.text, "GPUDirect RDMA is not used: --gpu-direct off");
}

TEST(ExamineGpuTest, TheNearestDeviceIsTakenAndAllAreListed) {
  probe::HostFacts facts = HostWithAFarDevice();
  facts.rdma.devices[1].info = GoodDevice("mlx5_9", "10.0.0.1").info;
  const Report report = Examine(facts, PlainWishes());
  EXPECT_THAT(FindFinding(report, "gpu", "GPU 0")->text, HasSubstr("device of the links mlx5_9"));
  ASSERT_EQ(report.gpu_paths.size(), 2u);
  EXPECT_EQ(report.gpu_paths[0].distance, gpudirect::Distance::kAcrossNodes);
}

TEST(ExamineGpuTest, PeersAreTold) {
  probe::HostFacts facts = GpuHost();
  facts.rdma.devices.clear();
  probe::GpuFacts second = facts.cuda.gpus[0];
  second.ordinal = 1;
  facts.cuda.gpus.push_back(second);
  facts.cuda.gpus[0].peers = {1};
  const Report report = Examine(facts, PlainWishes());
  EXPECT_THAT(FindFinding(report, "gpu", "GPU 0")->text, HasSubstr("reaches GPU 1"));
  EXPECT_THAT(FindFinding(report, "gpu", "GPU 1")->text, HasSubstr("reaches no other GPU"));
}

}  // namespace
}  // namespace reigen::ctl
