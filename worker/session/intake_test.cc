// Goal: whatever a trainer writes into its queue becomes a checked request, an error of
// that request, or the end of its session; nothing else.
// Method: slots by hand, one field wrong at a time.
#include "worker/session/intake.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace reigen::worker {
namespace {

class IntakeTest : public testing::Test {
 protected:
  template <typename T>
  Status Feed(const T& record) {
    local::Slot slot;
    static_assert(sizeof record == sizeof slot);
    std::memcpy(slot.bytes, &record, sizeof slot);
    return intake_.Feed(slot, arenas_, ready_);
  }

  Status Define(uint32_t id, const std::string& name) {
    for (size_t offset = 0; offset < name.size();) {
      local::NameSlot piece;
      piece.name = id;
      piece.total_bytes = static_cast<uint32_t>(name.size());
      piece.offset = static_cast<uint32_t>(offset);
      piece.piece_bytes =
          static_cast<uint32_t>(std::min(sizeof(piece.bytes), name.size() - offset));
      std::memcpy(piece.bytes, name.data() + offset, piece.piece_bytes);
      offset += piece.piece_bytes;
      REIGEN_RETURN_IF_ERROR(Feed(piece));
    }
    return OkStatus();
  }

  static local::RequestSlot GoodRequest() {
    local::RequestSlot request;
    request.name = 1;
    request.request = 42;
    request.op = static_cast<uint8_t>(ReduceOp::kSum);
    request.tensor_count = 1;
    return request;
  }
  static local::TensorSlot GoodTensor() {
    local::TensorSlot tensor;
    tensor.name = 1;
    tensor.dtype = static_cast<uint8_t>(DataType::kFloat32);
    tensor.ndim = 2;
    tensor.shape[0] = 2;
    tensor.shape[1] = 8;
    tensor.count = 16;
    tensor.offset = 64;
    return tensor;
  }

  // The status of one request made of these.
  Status StatusOf(const local::RequestSlot& request, const local::TensorSlot& tensor) {
    ready_.clear();
    EXPECT_TRUE(Feed(request).ok());
    EXPECT_TRUE(Feed(tensor).ok());
    EXPECT_EQ(ready_.size(), 1u);
    EXPECT_EQ(ready_[0].request.id, 42u);
    return ready_[0].status;
  }

  void SetUp() override { ASSERT_TRUE(Define(1, "layer/weight").ok()); }

  alignas(64) std::byte memory_[256] = {};
  std::vector<ArenaView> arenas_{{memory_, sizeof memory_}};
  std::vector<IncomingRequest> ready_;
  Intake intake_;
};

TEST_F(IntakeTest, MakesARequestWithItsMemory) {
  ASSERT_TRUE(StatusOf(GoodRequest(), GoodTensor()).ok());
  const Request& request = ready_[0].request;
  EXPECT_EQ(request.name, "layer/weight");
  EXPECT_EQ(request.spec->tensors[0].shape, (std::vector<uint64_t>{2, 8}));
  EXPECT_EQ(request.data[0], memory_ + 64);
}

TEST_F(IntakeTest, AssemblesLongNamesAndTakesNewOnesForAnId) {
  const std::string name(1000, 'n');
  ASSERT_TRUE(Define(1, name).ok());
  ASSERT_TRUE(StatusOf(GoodRequest(), GoodTensor()).ok());
  EXPECT_EQ(ready_[0].request.name, name);
}

TEST_F(IntakeTest, TakesAnInlinePayload) {
  local::TensorSlot tensor = GoodTensor();
  tensor.arena = local::kInlineArena;
  tensor.ndim = 0;
  tensor.count = 1;
  tensor.inline_bytes[3] = 7;
  ASSERT_TRUE(StatusOf(GoodRequest(), tensor).ok());
  EXPECT_TRUE(ready_[0].is_inline);
  EXPECT_EQ(ready_[0].inline_count, 4u);
  EXPECT_EQ(ready_[0].inline_bytes[3], std::byte{7});
}

TEST_F(IntakeTest, AnEmptyTensorNeedsNoMemory) {
  local::TensorSlot tensor = GoodTensor();
  tensor.shape[0] = 0;
  tensor.count = 0;
  tensor.arena = 77;
  EXPECT_TRUE(StatusOf(GoodRequest(), tensor).ok());
}

TEST_F(IntakeTest, ABarrierHasNoTensors) {
  local::RequestSlot request = GoodRequest();
  request.collective = static_cast<uint8_t>(CollectiveKind::kBarrier);
  request.tensor_count = 0;
  ASSERT_TRUE(Feed(request).ok());
  ASSERT_EQ(ready_.size(), 1u);
  EXPECT_TRUE(ready_[0].status.ok());
}

TEST_F(IntakeTest, AWrongFieldOfATensorFailsItsRequestOnly) {
  const std::vector<std::function<void(local::TensorSlot&)>> wrongs = {
      [](auto& t) { t.name = 2; },
      [](auto& t) { t.dtype = 99; },
      [](auto& t) { t.ndim = 9; },
      [](auto& t) { t.count = 15; },
      [](auto& t) { t.shape[0] = t.shape[1] = uint64_t{1} << 33; },
      [](auto& t) {
        t.ndim = 1;
        t.count = t.shape[0] = uint64_t{1} << 63;
      },
      [](auto& t) { t.arena = 1; },
      [](auto& t) { t.offset = 1; },
      [](auto& t) { t.offset = 256; },
      [](auto& t) { t.offset = ~uint64_t{63}; },
      [](auto& t) { t.arena = local::kInlineArena; },  // 64 bytes
  };
  for (size_t i = 0; i < wrongs.size(); ++i) {
    local::TensorSlot tensor = GoodTensor();
    wrongs[i](tensor);
    EXPECT_EQ(StatusOf(GoodRequest(), tensor).code(), StatusCode::kInvalidArgument) << i;
  }
  EXPECT_TRUE(StatusOf(GoodRequest(), GoodTensor()).ok());
}

TEST_F(IntakeTest, AWrongFieldOfARequestFailsItOnly) {
  const std::vector<std::function<void(local::RequestSlot&)>> wrongs = {
      [](auto& r) { r.name = 2; },
      [](auto& r) { r.collective = 9; },
      [](auto& r) { r.op = 2; },
      [](auto& r) { r.device_kind = 2; },
      [](auto& r) { r.flags = 1; },
      [](auto& r) { r.prescale = std::numeric_limits<double>::quiet_NaN(); },
      [](auto& r) { r.postscale = std::numeric_limits<double>::infinity(); },
      [](auto& r) { r.collective = static_cast<uint8_t>(CollectiveKind::kBarrier); },
  };
  for (size_t i = 0; i < wrongs.size(); ++i) {
    local::RequestSlot request = GoodRequest();
    wrongs[i](request);
    EXPECT_EQ(StatusOf(request, GoodTensor()).code(), StatusCode::kInvalidArgument) << i;
  }
}

TEST_F(IntakeTest, ABoolAverageIsRefusedBeforeAnythingMoves) {
  local::RequestSlot request = GoodRequest();
  request.op = static_cast<uint8_t>(ReduceOp::kAverage);
  local::TensorSlot tensor = GoodTensor();
  tensor.dtype = static_cast<uint8_t>(DataType::kBool);
  EXPECT_EQ(StatusOf(request, tensor).code(), StatusCode::kInvalidArgument);
}

TEST_F(IntakeTest, ANameThatIsNotUtf8CannotBeUsed) {
  for (const std::string bad : {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\xe2\x82"}) {
    ASSERT_TRUE(Define(1, bad).ok());
    EXPECT_FALSE(StatusOf(GoodRequest(), GoodTensor()).ok());
  }
  ASSERT_TRUE(Define(1, "größe/€/𝄞").ok());
  EXPECT_TRUE(StatusOf(GoodRequest(), GoodTensor()).ok());
}

TEST_F(IntakeTest, ABrokenSequenceOfRecordsEndsTheSession) {
  local::Slot unknown{};
  EXPECT_FALSE(Intake().Feed(unknown, arenas_, ready_).ok());

  EXPECT_FALSE(Feed(GoodTensor()).ok()) << "a tensor without a request";

  ASSERT_TRUE(Feed(GoodRequest()).ok());
  EXPECT_FALSE(Feed(GoodRequest()).ok()) << "a request inside a request";
}

TEST_F(IntakeTest, ABrokenNameEndsTheSession) {
  const std::vector<std::function<void(local::NameSlot&)>> wrongs = {
      [](auto& n) { n.name = local::kMaxNames; },
      [](auto& n) { n.total_bytes = 0; },
      [](auto& n) { n.total_bytes = local::kMaxNameBytes + 1; },
      [](auto& n) { n.offset = 1; },
      [](auto& n) { n.piece_bytes = 0; },
      [](auto& n) { n.piece_bytes = 109; },
      [](auto& n) { n.piece_bytes = 5; },
  };
  for (size_t i = 0; i < wrongs.size(); ++i) {
    intake_ = Intake();
    local::NameSlot name;
    name.name = 1;
    name.total_bytes = 4;
    name.piece_bytes = 4;
    wrongs[i](name);
    EXPECT_FALSE(Feed(name).ok()) << i;
  }
}

}  // namespace
}  // namespace reigen::worker
