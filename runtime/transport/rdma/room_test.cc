#include "runtime/transport/rdma/room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/transport/rdma/rdma_limits.h"

namespace reigen::transport::rdma {
namespace {

DeviceInfo Device(const std::string& name, uint32_t max_qp_wrs, uint32_t max_cqes) {
  DeviceInfo info;
  info.name = name;
  info.max_qp_wrs = max_qp_wrs;
  info.max_cqes = max_cqes;
  return info;
}

TEST(RoomTest, TheLeastOfAllDevicesCounts) {
  const DeviceInfo large = Device("mlx5_0", 1 << 15, 1 << 22);
  const auto all = MeasureRoom({large, large});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->max_receives, kDataReceives);
  EXPECT_EQ(all->max_channels, kMaxChannels);
  const auto fewer = MeasureRoom({large, Device("mlx5_1", 2000, 1 << 22)});
  ASSERT_TRUE(fewer.ok());
  EXPECT_EQ(fewer->max_receives, 2000u);
}

TEST(RoomTest, EachRailHasItsOwnRoomForQueues) {
  const DeviceInfo large = Device("mlx5_0", 1 << 15, 1 << 22);
  const uint32_t three = 2 * kControlQueue + 4 * (kDataSends + kDataReceives) - 1;
  const auto room = MeasureRoom({Device("rxe0", 1 << 15, three), Device("rxe1", 1 << 15, three)});
  ASSERT_TRUE(room.ok());
  EXPECT_THAT(room->max_queues, testing::ElementsAre(3, 3));
  EXPECT_EQ(room->max_channels, 6);
  const auto mixed = MeasureRoom({large, Device("rxe0", 1 << 15, three)});
  ASSERT_TRUE(mixed.ok());
  EXPECT_THAT(mixed->max_queues, testing::ElementsAre(kMaxChannels, 3));
  EXPECT_EQ(mixed->max_channels, kMaxChannels);
}

TEST(RoomTest, ADeviceThatHoldsTooLittleIsNamed) {
  const DeviceInfo large = Device("mlx5_0", 1 << 15, 1 << 22);
  for (const DeviceInfo& small : {Device("rxe0", 100, 1 << 22), Device("rxe0", 1 << 15, 100)}) {
    const auto room = MeasureRoom({large, small});
    ASSERT_FALSE(room.ok());
    EXPECT_EQ(room.status().code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(Message(room.status()), testing::StartsWith("rxe0 takes "));
  }
}

TEST(RoomTest, EachRailHasAQueueAndNoLinkMoreThanThereIsRoomFor) {
  EXPECT_EQ(QueuesOfALink(2, {.max_receives = 4096, .max_channels = 15}, 1), 2u);
  EXPECT_EQ(QueuesOfALink(2, {.max_receives = 4096, .max_channels = 15}, 4), 4u);
  EXPECT_EQ(QueuesOfALink(15, {.max_receives = 4096, .max_channels = 3}, 1), 3u);
}

}  // namespace
}  // namespace reigen::transport::rdma
