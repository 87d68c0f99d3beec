#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

#include "client/cli/reigenctl/doctor/examine.h"
#include "client/cli/reigenctl/doctor/gpu_paths.h"
#include "client/cli/reigenctl/doctor/job_rails.h"
#include "client/cli/reigenctl/doctor/phrases.h"
#include "runtime/gpudirect/distance.h"
#include "runtime/gpudirect/mode.h"

namespace reigen::ctl {
namespace {

using probe::CudaFacts;
using probe::GpuFacts;
using probe::RdmaDeviceFacts;

// What this version does with them, whatever would be possible.
constexpr char kUse[] =
    "CUDA tensors are reduced on the GPUs if libreigen has its kernels; between hosts they go by "
    "GPUDirect RDMA where that is possible, else through page-locked host memory";
constexpr char kNoUse[] = "CUDA tensors are reduced by the CPU: --gpu-direct off";

Finding Gpu(Level level, const std::string& subject, const std::string& text,
            const std::string& remedy = "") {
  return {level, "gpu", subject, text, remedy};
}

// No GPU, which is broken only for who wants GPUDirect and nothing else.
Finding NoGpu(const Wishes& wishes, const std::string& text, const std::string& meaning,
              const std::string& remedy) {
  if (wishes.gpu_direct != "require") return Gpu(Level::kNote, "driver", text + meaning);
  return Gpu(Level::kProblem, "driver", "--gpu-direct is require, and " + text,
             remedy + "; or do without: `--gpu-direct auto`");
}

// Why no GPU can be used.
Finding OfAbsence(const CudaFacts& cuda, const Wishes& wishes) {
  const bool kernel = !cuda.kernel_driver.empty();
  if (!cuda.library_error.empty() && kernel) {
    return Gpu(Level::kProblem, "driver",
               "the NVIDIA driver is loaded, and its library is not here: " + cuda.library_error,
               "in a container, start it with the GPUs (`--gpus all`, NVIDIA container toolkit); "
               "else the package with libcuda.so.1 of the same driver version");
  }
  if (!cuda.library_error.empty()) {
    return NoGpu(wishes, "there is no CUDA driver (" + cuda.library_error + ")",
                 ": tensors lie in host memory",
                 "on a host with GPUs install the NVIDIA driver, with libcuda.so.1");
  }
  if (!cuda.no_device) {
    return Gpu(Level::kProblem, "driver", "CUDA does not start: " + cuda.start_error,
               "`nvidia-smi` must work; after an upgrade of the driver the machine is to be "
               "restarted; in a container NVIDIA_DRIVER_CAPABILITIES needs compute");
  }
  if (cuda.visible_devices) {
    return NoGpu(wishes, "CUDA_VISIBLE_DEVICES=\"" + *cuda.visible_devices + "\" hides all GPUs",
                 "", "unset CUDA_VISIBLE_DEVICES, or name GPUs of this host in it");
  }
  return NoGpu(wishes, "there is a CUDA driver, and no GPU", "",
               "take hosts with GPUs; `nvidia-smi -L` must list them");
}

std::string Version(int version) {
  if (version <= 0) return "CUDA of an unknown version";
  return "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Finding OfGpu(const GpuFacts& gpu, size_t count) {
  std::vector<std::string> parts = {gpu.name, Bytes(gpu.memory_bytes),
                                    "sm_" + std::to_string(gpu.capability_major) +
                                        std::to_string(gpu.capability_minor),
                                    gpu.bus_id,
                                    gpu.exports_dmabuf ? "exports dma-buf" : "exports no dma-buf"};
  if (count > 1) {
    std::vector<std::string> peers;
    for (int peer : gpu.peers) peers.push_back(std::to_string(peer));
    parts.push_back(peers.empty() ? "reaches no other GPU" : "reaches GPU " + Join(peers, " "));
  }
  return Gpu(Level::kOk, "GPU " + std::to_string(gpu.ordinal), Join(parts));
}

std::string Describe(const GpuPath& path) {
  const bool direct = path.verdict.mode == gpudirect::Mode::kDirect;
  std::string text = "nearest RDMA device of the links " + path.rdma_device + " (" +
                     ToString(path.distance) + "): GPUDirect RDMA is " +
                     (direct ? "possible" : "not possible");
  if (!path.verdict.reason.empty()) text += (direct ? ", " : ": ") + path.verdict.reason;
  if (direct) {
    text += std::string("; what it writes ") +
            (path.flush.read_back ? "is read back: " : "is not read back: ") + path.flush.reason;
  }
  return text;
}

bool Worse(const GpuPath& a, const GpuPath& b) {
  return std::tuple(a.verdict.mode, !a.verdict.remedy.empty(), a.distance) >
         std::tuple(b.verdict.mode, !b.verdict.remedy.empty(), b.distance);
}

// What keeps a job from it whose user does not want it otherwise is broken.
Finding NotDirect(const Wishes& wishes, const std::string& subject, const std::string& text,
                  const std::string& remedy, const std::string& where) {
  if (wishes.gpu_direct != "require") {
    return Gpu(remedy.empty() ? Level::kOk : Level::kNote, subject, text, remedy);
  }
  return Gpu(Level::kProblem, subject,
             text + ": a job of several hosts ends with its first CUDA tensor, for --gpu-direct is require",
             (remedy.empty() ? where : remedy) + "; or do without: `--gpu-direct auto`");
}

// Of the ways that a job may take, by its address, the worst.
Finding OfLinks(const GpuFacts& gpu, const probe::HostFacts& facts, const Wishes& wishes,
                const Report& report) {
  const std::string subject = "GPU " + std::to_string(gpu.ordinal);
  if (wishes.gpu_direct == "off") {
    return Gpu(Level::kOk, subject, "GPUDirect RDMA is not used: --gpu-direct off");
  }
  if (report.link_devices.empty()) {
    const bool tcp = report.transport == "tcp";
    Finding finding = NotDirect(
        wishes, subject,
        std::string("GPUDirect RDMA is not possible: ") +
            (tcp ? "links use TCP" : "there are no links, as said of RDMA"),
        "", "RDMA links (what is said of RDMA shows what they need)");
    finding.level = std::max(finding.level, Level::kNote);
    return finding;
  }
  GpuPath worst;
  std::vector<std::string> addresses;  // with a way like that
  bool for_all = true;
  for (const LinkDevices& links : report.link_devices) {
    const GpuPath path = PathOfJob(gpu, facts, links.devices, report.usable_alone);
    if (addresses.empty() || Worse(path, worst)) {
      for_all = addresses.empty();
      worst = path;
      addresses = links.addresses;
    } else if (Describe(path) == Describe(worst)) {
      addresses.insert(addresses.end(), links.addresses.begin(), links.addresses.end());
    } else {
      for_all = false;
    }
  }
  const std::string text = (for_all ? "" : If(addresses)) + Describe(worst);
  if (worst.verdict.mode != gpudirect::Mode::kDirect) {
    return NotDirect(wishes, subject, text, worst.verdict.remedy, "another GPU or RDMA device");
  }
  return Gpu(worst.verdict.remedy.empty() ? Level::kOk : Level::kNote, subject, text,
             worst.verdict.remedy);
}

// Of any address.
size_t MostDevices(const std::vector<LinkDevices>& all) {
  size_t most = 0;
  for (const LinkDevices& links : all) most = std::max(most, links.devices.size());
  return most;
}

}  // namespace

void ExamineGpus(const probe::HostFacts& facts, const Wishes& wishes, Report* report) {
  const CudaFacts& cuda = facts.cuda;
  if (cuda.gpus.empty()) {
    report->findings.push_back(OfAbsence(cuda, wishes));
    return;
  }
  report->findings.push_back(
      Gpu(Level::kOk, "driver",
          Version(cuda.driver_version) +
              (cuda.kernel_driver.empty() ? "" : ", " + cuda.kernel_driver) + ": " +
              (wishes.gpu_direct == "off" ? kNoUse : kUse)));
  for (const GpuFacts& gpu : cuda.gpus) {
    report->findings.push_back(OfGpu(gpu, cuda.gpus.size()));
    for (const RdmaDeviceFacts& nic : facts.rdma.devices) {
      report->gpu_paths.push_back(PathOf(gpu, nic, MostDevices(report->link_devices), facts.pci));
    }
    if (facts.rdma.devices.empty() && wishes.gpu_direct != "require") continue;
    report->findings.push_back(OfLinks(gpu, facts, wishes, *report));
  }
  if (!facts.pci_error.empty()) {
    report->findings.push_back(Gpu(Level::kNote, "PCIe",
                                   "how far GPUs and RDMA devices are is not known: " +
                                       facts.pci_error));
  }
}

}  // namespace reigen::ctl
