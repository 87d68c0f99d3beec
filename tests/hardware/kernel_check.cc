// The kernels on this machine's first GPU: right or not, and how fast; and what the
// device says about GPUDirect. A part of gpu_check.
//
//   kernel_check [--image FILE] [--quick]
//
// FILE: a fat binary of client/cuda/kernels.cu; without it, the one that was built in. With
// --ipc-peer HANDLE it is the other process of a check of memory that processes share.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "client/cuda/kernels.h"
#include "tests/hardware/gpu.h"
#include "tests/hardware/kernel_cases.h"
#ifdef REIGEN_HARDWARE_BUILT_IN
#include "client/cuda/kernel_image.h"
#endif

namespace reigen::hardware {
namespace {

Bytes ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) Die("cannot read " + path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

Bytes ImageOf(const std::string& path) {
  if (!path.empty()) return ReadFile(path);
#ifdef REIGEN_HARDWARE_BUILT_IN
  const std::span<const std::byte> image = sdk::cuda::KernelImage();
  if (!image.empty()) return {image.begin(), image.end()};
#endif
  Die("no kernels were built in: --image FILE");
}

void ShowDevice(const Gpu& gpu) {
  using NameOf = CuResult (*)(char*, int, sdk::cuda::CuDevice);
  char name[128] = "?";
  const auto name_of = reinterpret_cast<NameOf>(gpu.Find("cuDeviceGetName"));
  if (name_of != nullptr) name_of(name, sizeof name, 0);
  int version = 0;
  gpu.api().driver_version(&version);
  Row("note", "device", std::string(name) + ", sm_" + std::to_string(gpu.Attribute(75)) +
                            std::to_string(gpu.Attribute(76)) + ", driver for CUDA " +
                            std::to_string(version / 1000) + "." +
                            std::to_string(version % 1000 / 10));
}

void ShowGpuDirect(const Gpu& gpu) {
  Row("note", "GPUDirect attributes",
      "RDMA " + std::to_string(gpu.Attribute(116)) + ", flush options " +
          std::to_string(gpu.Attribute(117)) + ", writes ordering " +
          std::to_string(gpu.Attribute(118)) + ", dma-buf " + std::to_string(gpu.Attribute(124)));
}

int Main(const std::string& image_path, const std::string& peer_handle, bool quick) {
  const Gpu gpu;
  const Bytes image = ImageOf(image_path);
  if (!peer_handle.empty()) return RunIpcPeer(gpu, image, peer_handle);
  ShowDevice(gpu);
  ShowGpuDirect(gpu);
  std::unique_ptr<sdk::cuda::Kernels> kernels;
  const sdk::cuda::Failed loaded = sdk::cuda::Kernels::Load(gpu.api(), image, &kernels);
  if (loaded.code != 0) gpu.Check(loaded.call, loaded.code);
  Row("pass", "kernels load", std::to_string(image.size()) + " bytes");
  bool right = CheckReductions(gpu, *kernels, quick ? 1003 : 100003);
  right = CheckPacking(gpu, *kernels) && right;
  right = MeasureKernels(gpu, *kernels, size_t{quick ? 1u : 256u} << 20) && right;
  right = CheckDevice(gpu, image, image_path, quick) && right;
  return right ? 0 : 1;
}

}  // namespace
}  // namespace reigen::hardware

int main(int argc, char** argv) {
  std::string image;
  std::string peer_handle;
  bool quick = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--quick") {
      quick = true;
    } else if (argument == "--image" && i + 1 < argc) {
      image = argv[++i];
    } else if (argument == "--ipc-peer" && i + 1 < argc) {
      peer_handle = argv[++i];
    } else {
      std::fprintf(stderr, "usage: kernel_check [--image FILE] [--quick]\n");
      return 2;
    }
  }
  return reigen::hardware::Main(image, peer_handle, quick);
}
