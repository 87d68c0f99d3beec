#include "client/cli/reigenrun/job_options.h"

#include <gtest/gtest.h>

namespace reigen::run {
namespace {

TEST(JobOptionsTest, OneKnobScalesEveryTime) {
  Options options;
  options.stall_shutdown_s = 7;
  const launch::JobOptions one = MakeJobOptions(options, 1);
  const launch::JobOptions ten = MakeJobOptions(options, 10);
  EXPECT_DOUBLE_EQ(one.heartbeat_seconds(), 0.2);
  EXPECT_DOUBLE_EQ(ten.heartbeat_seconds(), 2);
  EXPECT_DOUBLE_EQ(ten.dead_after_seconds(), 30);
  EXPECT_DOUBLE_EQ(ten.grace_seconds(), 30);
  EXPECT_DOUBLE_EQ(ten.rdma_retry_seconds(), 40);
  EXPECT_DOUBLE_EQ(ten.timeout_scale(), 10);
  EXPECT_DOUBLE_EQ(ten.coordinator_timeout_seconds(), 80);
  EXPECT_DOUBLE_EQ(ten.start_timeout_seconds(), 300);
  EXPECT_DOUBLE_EQ(ten.stall_warning_seconds(), 600);
  EXPECT_DOUBLE_EQ(ten.stall_shutdown_seconds(), 70);
  EXPECT_EQ(ten.fusion_threshold_bytes(), uint64_t{64} << 20);
}

TEST(JobOptionsTest, WithoutStallCheckBothTimesAreZero) {
  Options options;
  options.no_stall_check = true;
  options.stall_shutdown_s = 7;
  const launch::JobOptions job = MakeJobOptions(options, 1);
  EXPECT_EQ(job.stall_warning_seconds(), 0);
  EXPECT_EQ(job.stall_shutdown_seconds(), 0);
}

TEST(JobOptionsTest, TheTransportIsHandedOn) {
  Options options;
  EXPECT_EQ(MakeJobOptions(options, 1).transport(), "auto");
  EXPECT_FALSE(MakeJobOptions(options, 1).has_rdma_gid_index());
  options.transport = "rdma";
  options.rdma_devices = {"a", "b:2"};
  options.rdma_gid_index = 0;
  const launch::JobOptions job = MakeJobOptions(options, 1);
  EXPECT_EQ(job.transport(), "rdma");
  EXPECT_EQ(job.rdma_devices_size(), 2);
  EXPECT_TRUE(job.has_rdma_gid_index());
  EXPECT_EQ(job.rdma_gid_index(), 0);
}

TEST(JobOptionsTest, GpuDirectIsTheFlagThenTheVariableThenAuto) {
  EXPECT_EQ(*ChooseGpuDirect("", ""), "auto");
  EXPECT_EQ(*ChooseGpuDirect("", "off"), "off");
  EXPECT_EQ(*ChooseGpuDirect("require", "off"), "require");
  EXPECT_FALSE(ChooseGpuDirect("", "always").ok());
}

TEST(JobOptionsTest, TheScaleMustBeASensibleNumber) {
  EXPECT_EQ(*ParseTimeoutScale(""), 1.0);
  EXPECT_EQ(*ParseTimeoutScale("2.5"), 2.5);
  for (const char* bad : {"0", "-1", "x", "2x", "nan", "1e9"}) {
    EXPECT_FALSE(ParseTimeoutScale(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace reigen::run
