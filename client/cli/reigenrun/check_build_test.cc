#include "client/cli/reigenrun/check_build.h"

#include <gtest/gtest.h>

namespace reigen::run {
namespace {

const sdk::Result kNoDriver = sdk::Fail(REIGEN_UNAVAILABLE, "libcuda.so.1 is not here");

TEST(CheckBuildTest, WithKernelsTheGpusReduceAndBothWaysBetweenHostsAreNamed) {
  EXPECT_EQ(MemoryText(sdk::Result(), "sm_80, sm_90 and PTX, by nvcc 13.0"),
            "\nMemory of tensors:\n"
            "    [X] host\n"
            "    [X] CUDA, reduced on the GPUs: between hosts by GPUDirect RDMA (dma-buf), or staged "
            "through host memory\n"
            "    [X] CUDA kernels for sm_80, sm_90 and PTX, by nvcc 13.0\n");
}

TEST(CheckBuildTest, WithoutKernelsTensorsGoThroughHostMemory) {
  EXPECT_EQ(MemoryText(sdk::Result(), nullptr),
            "\nMemory of tensors:\n"
            "    [X] host\n"
            "    [X] CUDA, through host memory: reduced by the CPU\n"
            "    [ ] CUDA kernels (built without nvcc: tensors are copied one by one)\n");
}

TEST(CheckBuildTest, ADriverThatIsMissingIsNotTickedAndSaysWhy) {
  const std::string text = MemoryText(kNoDriver, "sm_90");
  EXPECT_NE(text.find("    [ ] CUDA, reduced on the GPUs"), std::string::npos) << text;
  EXPECT_NE(text.find("through host memory (libcuda.so.1 is not here)\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace reigen::run
