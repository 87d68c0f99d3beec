#include "client/cuda/inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "client/cuda/load_driver.h"
#include "client/cuda/testing/fake_driver.h"
#include "runtime/probe/testing/tree.h"

namespace reigen::sdk::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(InventoryTest, TheFakesTwoGpusAreDescribed) {
  probe::Tree tree("driver");
  tree.File("/proc/driver/nvidia/version", "NVRM version: 535.1\nGCC version: 12\n");
  const probe::CudaFacts facts = ProbeCuda(kDriverLibrary, tree.root());
  EXPECT_EQ(facts.library_error, "");
  EXPECT_EQ(facts.start_error, "");
  EXPECT_FALSE(facts.no_device);
  EXPECT_EQ(facts.driver_version, 13000);
  EXPECT_EQ(facts.kernel_driver, "NVRM version: 535.1");
  ASSERT_EQ(facts.gpus.size(), 2u);
  const probe::GpuFacts& gpu = facts.gpus[1];
  EXPECT_EQ(gpu.ordinal, 1);
  EXPECT_EQ(gpu.name, "Fake GPU 1");
  EXPECT_EQ(gpu.bus_id, "0000:4b:00.0");
  EXPECT_GT(gpu.memory_bytes, 0u);
  EXPECT_EQ(gpu.capability_major, 9);
  EXPECT_EQ(gpu.capability_minor, 0);
  EXPECT_TRUE(gpu.exports_dmabuf);
  EXPECT_TRUE(gpu.allows_rdma);
  EXPECT_EQ(gpu.writes_ordering, 100);
  EXPECT_THAT(gpu.peers, ElementsAre(0));
}

TEST(InventoryTest, VisibleDevicesAreToldAndCounted) {
  setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  probe::CudaFacts facts = ProbeCuda(kDriverLibrary, "/nonexistent");
  EXPECT_EQ(facts.visible_devices, "1");
  EXPECT_EQ(facts.gpus.size(), 1u);
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  facts = ProbeCuda(kDriverLibrary, "/nonexistent");
  EXPECT_TRUE(facts.no_device);
  EXPECT_THAT(facts.gpus, IsEmpty());
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(ProbeCuda(kDriverLibrary, "").visible_devices, std::nullopt);
}

TEST(InventoryTest, WithoutADriverThereIsAReason) {
  const probe::CudaFacts facts = ProbeCuda("libcuda-that-is-not-there.so.1", "/nonexistent");
  EXPECT_THAT(facts.library_error, HasSubstr("libcuda-that-is-not-there.so.1"));
  EXPECT_EQ(facts.kernel_driver, "");
  EXPECT_THAT(facts.gpus, IsEmpty());
}

TEST(InventoryTest, ALibraryThatIsNoDriverIsNamedWithWhatItLacks) {
  EXPECT_THAT(ProbeCuda("libm.so.6", "/nonexistent").library_error,
              HasSubstr("libm.so.6 lacks cuInit"));
}

TEST(InventoryTest, ADriverThatDoesNotStartSaysWhy) {
  FakeDriver driver;
  driver.FailOnce("cuInit", 999);
  const probe::CudaFacts broken = ProbeCuda(kDriverLibrary, "");
  EXPECT_THAT(broken.start_error, HasSubstr("cuInit: CUDA_ERROR_OF_THE_FAKE (an injected fault)"));
  EXPECT_FALSE(broken.no_device);
  driver.Mend();
  driver.FailOnce("cuInit", kCuNoDevice);
  EXPECT_TRUE(ProbeCuda(kDriverLibrary, "").no_device);
}

}  // namespace
}  // namespace reigen::sdk::cuda
