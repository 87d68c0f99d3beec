// Goal: events are taken once, and a device that has gone neither wakes its host for ever nor
// goes unnoticed.
#include "runtime/transport/rdma/device_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/unique_fd.h"
#include "runtime/transport/rdma/fake/fake_fabric.h"
#include "runtime/transport/rdma/verbs.h"
#include "runtime/transport/tcp/poller.h"

namespace reigen::transport::rdma {
namespace {

class DeviceWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    state_ = &fabric_.AddDevice(0, "fake00", "10.0.0.1");
    verbs_ = fabric_.VerbsOf(0);
  }
  void Start() {
    device_ = std::move(verbs_->Open("fake00")).value();
    watch_ = std::make_unique<DeviceWatch>(device_);
    ASSERT_TRUE(watch_->Start(poller_).ok());
  }
  // Instead of the descriptor: one that is broken once the other end has gone.
  static UniqueFd BreakWith(UniqueFd& descriptor) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    descriptor = UniqueFd(ends[0]);
    return UniqueFd(ends[1]);
  }
  bool Awake() {
    pollfd events = {poller_.fd(), POLLIN, 0};
    return poll(&events, 1, 0) == 1;
  }

  FakeFabric fabric_;
  FakeDeviceState* state_ = nullptr;
  std::unique_ptr<Verbs> verbs_;
  Poller poller_;
  std::shared_ptr<Device> device_;
  std::unique_ptr<DeviceWatch> watch_;
};

TEST_F(DeviceWatchTest, EventsAreTakenOnce) {
  Start();
  EXPECT_FALSE(Awake());
  state_->Raise({.kind = AsyncKind::kPortError, .text = "port error", .port = 1});
  state_->Raise({.kind = AsyncKind::kPortActive, .text = "port active", .port = 1});
  ASSERT_TRUE(Awake());
  poller_.Dispatch();
  EXPECT_EQ(watch_->TakeAsyncEvents().size(), 2u);
  EXPECT_FALSE(watch_->TakeCompletionEvents());
  poller_.Dispatch();
  EXPECT_TRUE(watch_->TakeAsyncEvents().empty());
  EXPECT_FALSE(Awake());
}

// Nothing else tells that they are there.
TEST_F(DeviceWatchTest, EventsThatWereReadAheadAreStillToBeTaken) {
  Start();
  EXPECT_FALSE(watch_->has_events());
  state_->Raise({.kind = AsyncKind::kPortError, .text = "port error", .port = 1});
  EXPECT_EQ(watch_->LookAhead().size(), 1u);
  EXPECT_FALSE(Awake());
  EXPECT_TRUE(watch_->has_events());
  EXPECT_EQ(watch_->TakeAsyncEvents().size(), 1u);
  EXPECT_FALSE(watch_->has_events());
}

TEST_F(DeviceWatchTest, ADeviceThatHasGoneIsToldOnceAndWakesNobodyAgain) {
  for (UniqueFd FakeDeviceState::*descriptor :
       {&FakeDeviceState::async_event, &FakeDeviceState::completion_event}) {
    const UniqueFd before = std::exchange(state_->*descriptor, UniqueFd());
    UniqueFd other = BreakWith(state_->*descriptor);
    Start();
    poller_.Dispatch();
    EXPECT_TRUE(watch_->TakeAsyncEvents().empty());
    other.Reset();
    ASSERT_TRUE(Awake());
    poller_.Dispatch();
    const std::vector<AsyncEvent> events = watch_->TakeAsyncEvents();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].kind, AsyncKind::kDeviceFatal);
    EXPECT_EQ(events[0].text, "the device has gone");
    EXPECT_FALSE(Awake()) << "a worker would spin";
    poller_.Dispatch();
    EXPECT_TRUE(watch_->TakeAsyncEvents().empty());
    watch_.reset();
    device_.reset();
    state_->*descriptor = UniqueFd(dup(before.get()));
  }
}

}  // namespace
}  // namespace reigen::transport::rdma
