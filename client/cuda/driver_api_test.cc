// Goal: what driver_api.h writes down of CUDA's driver is what the toolkit's header says.
#include "client/cuda/driver_api.h"

#include <gtest/gtest.h>

#ifdef REIGEN_CUDA_HEADERS

#include <cuda.h>

#include <array>
#include <cstddef>
#include <type_traits>

namespace reigen::sdk::cuda {
namespace {

struct Parameter {
  size_t bytes;
  bool pointer;
  bool operator==(const Parameter&) const = default;
};

template <typename Function>
struct Signature;
template <typename R, typename... Parameters>
struct Signature<R (*)(Parameters...)> {
  static constexpr std::array<Parameter, sizeof...(Parameters) + 1> kValue = {
      Parameter{sizeof(R), false}, Parameter{sizeof(Parameters), std::is_pointer_v<Parameters>}...};
};

template <typename Ours, typename Theirs>
constexpr bool IsSame() {
  return Signature<Ours>::kValue == Signature<Theirs>::kValue;
}

TEST(DriverApiTest, FunctionsAreCalledAsTheToolkitDeclaresThem) {
#define REIGEN_CUDA_SAME(member, symbol, parameters) \
  EXPECT_TRUE((IsSame<decltype(DriverApi::member), decltype(&symbol)>())) << #symbol;
  REIGEN_CUDA_FUNCTIONS(REIGEN_CUDA_SAME)
  REIGEN_CUDA_OPTIONAL_FUNCTIONS(REIGEN_CUDA_SAME)
#undef REIGEN_CUDA_SAME
}

TEST(DriverApiTest, NumbersAreTheToolkits) {
  EXPECT_EQ(kCuSuccess, CUDA_SUCCESS);
  EXPECT_EQ(kCuInvalidValue, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(kCuDeinitialized, CUDA_ERROR_DEINITIALIZED);
  EXPECT_EQ(kCuNoDevice, CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(kCuNotReady, CUDA_ERROR_NOT_READY);
  EXPECT_EQ(kCuIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(kCuUnknown, CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(kCuCaptureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(kCuCaptureStatusNone, CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(kCuStreamNonBlocking, unsigned{CU_STREAM_NON_BLOCKING});
  EXPECT_EQ(kCuEventDisableTiming, unsigned{CU_EVENT_DISABLE_TIMING});
  EXPECT_EQ(kCuHostRegisterPortable, unsigned{CU_MEMHOSTREGISTER_PORTABLE});
  EXPECT_EQ(kCuHostRegisterDeviceMap, unsigned{CU_MEMHOSTREGISTER_DEVICEMAP});
  EXPECT_EQ(kCuIpcLazyEnablePeerAccess, unsigned{CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS});
  EXPECT_EQ(sizeof(CuIpcHandle), sizeof(CUipcMemHandle));
  EXPECT_EQ(kCuPointerSyncMemops, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
  EXPECT_EQ(kCuPointerDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
  EXPECT_EQ(kCuRangeHandleDmabuf, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD);
  EXPECT_EQ(kCuDeviceCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(kCuDeviceAllowsRdma, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED);
  EXPECT_EQ(kCuDeviceWritesOrdering, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING);
  EXPECT_EQ(kCuDeviceExportsDmabuf, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED);
}

}  // namespace
}  // namespace reigen::sdk::cuda

#else

TEST(DriverApiTest, FunctionsAndNumbersAreTheToolkits) { GTEST_SKIP() << "no cuda.h here"; }

#endif  // REIGEN_CUDA_HEADERS
