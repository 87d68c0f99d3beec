// Goal: what nvcc made is in the library, whole, where there is nvcc, and nothing is
// where there is none.
#include "client/cuda/kernel_image.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace reigen::sdk::cuda {
namespace {

TEST(KernelImageTest, IsAFatBinaryOrNothing) {
  const std::span<const std::byte> image = KernelImage();
  if (KernelImageText() == nullptr) {
    EXPECT_TRUE(image.empty());
    return;
  }
  EXPECT_NE(std::string(KernelImageText()).find("sm_80, sm_90 and PTX"), std::string::npos);
  // Magic, version, size of the header, size of what follows it.
  struct Header {
    uint32_t magic;
    uint16_t version;
    uint16_t header_bytes;
    uint64_t bytes;
  } header;
  ASSERT_GT(image.size(), sizeof header);
  std::memcpy(&header, image.data(), sizeof header);
  EXPECT_EQ(header.magic, 0xba55ed50u);
  EXPECT_EQ(header.header_bytes + header.bytes, image.size());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(image.data()) % 8, 0u);
}

}  // namespace
}  // namespace reigen::sdk::cuda
