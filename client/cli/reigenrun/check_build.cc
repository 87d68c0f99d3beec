#include "client/cli/reigenrun/check_build.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <utility>
#include <vector>

#include "client/cuda/driver_api.h"
#include "client/cuda/kernel_image.h"
#include "client/cuda/load_driver.h"
#include "runtime/base/child_process.h"
#include "runtime/base/unique_fd.h"
#include "runtime/base/version.h"

namespace reigen::run {
namespace {

constexpr int kPythonLimitMs = 20000;

// Its first line says where Python is; then one line for each module that is found.
constexpr char kScript[] =
    "import sys, importlib.util as u\n"
    "print(sys.executable)\n"
    "for m in ('numpy', 'torch', 'reigen'):\n"
    "    if u.find_spec(m): print(m)\n";

// What a program prints, up to its end or the time limit.
std::string OutputOf(const ChildSpec& program) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  ChildSpec spec = program;
  spec.fds = {-1, write_end.get(), -1};
  const auto child = StartChild(spec);
  if (!child.ok()) return "";
  write_end.Reset();
  std::string text;
  std::array<char, 4096> data;
  for (;;) {
    pollfd entry{read_end.get(), POLLIN, 0};
    if (poll(&entry, 1, kPythonLimitMs) <= 0) break;
    const ssize_t n = read(read_end.get(), data.data(), data.size());
    if (n <= 0) break;
    text.append(data.data(), static_cast<size_t>(n));
  }
  kill(child->pid, SIGKILL);
  waitpid(child->pid, nullptr, 0);
  return text;
}

std::string Row(bool there, const std::string& what) {
  return std::string("    [") + (there ? "X" : " ") + "] " + what + "\n";
}

}  // namespace

std::string MemoryText(const sdk::Result& driver, const char* kernels) {
  std::string cuda = "CUDA, through host memory: reduced by the CPU";
  if (kernels != nullptr) {
    cuda = "CUDA, reduced on the GPUs: between hosts by GPUDirect RDMA (dma-buf), or staged "
           "through host memory";
  }
  if (!driver.ok()) cuda += " (" + driver.text + ")";
  const std::string images =
      kernels != nullptr ? std::string(" for ") + kernels
                         : " (built without nvcc: tensors are copied one by one)";
  return "\nMemory of tensors:\n" + Row(true, "host") + Row(driver.ok(), cuda) +
         Row(kernels != nullptr, "CUDA kernels" + images);
}

std::string CheckBuildText() {
  const std::vector<std::string> environment = CurrentEnvironment();
  const std::string python = FindProgram("python3", FindVariable(environment, "PATH"), "/");
  const std::string found =
      python.empty() ? "" : OutputOf({.path = python,
                                      .argv = {"python3", "-c", kScript},
                                      .environment = environment});
  const auto has = [&](const std::string& module) {
    return found.find("\n" + module + "\n") != std::string::npos;
  };
  std::string text = std::string("Reigen ") + kVersion + "\n\n";
  text += "Frameworks found by " + (python.empty() ? "python3 (there is none)" : python) + ":\n";
  text += Row(has("numpy"), "NumPy") + Row(has("torch"), "PyTorch");
  text += Row(has("reigen"), "the Python package reigen itself");
  text += "\nBetween processes of a host:\n" + Row(true, "shared memory");
  text += "\nBetween hosts:\n" + Row(true, "TCP") + Row(true, "RDMA");
  sdk::cuda::DriverApi api;
  const sdk::Result driver = sdk::cuda::LoadDriver(sdk::cuda::kDriverLibrary, &api);
  text += MemoryText(driver, sdk::cuda::KernelImageText());
  return text;
}

}  // namespace reigen::run
