// Goal: a close that hangs holds up neither its caller nor the end.
// Method: work that waits for the test, in place of a close.
#include "worker/session/closer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <future>
#include <memory>

#include "runtime/base/unique_fd.h"
#include "worker/session/trainer_fd.h"

namespace reigen::worker {
namespace {

TEST(CloserTest, ClosesWhatItIsGiven) {
  Closer closer;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd reading(ends[0]);
  TrainerFd(UniqueFd(ends[1]), &closer).Reset();
  char byte = 0;
  EXPECT_EQ(read(reading.get(), &byte, 1), 0) << "the end, once the other side is closed";
}

TEST(CloserTest, WhatHangsHoldsUpNeitherTheCallerNorTheEndAndTheRestIsStillDone) {
  const auto go_on = std::make_shared<std::promise<void>>();
  const auto last = std::make_shared<std::promise<void>>();
  auto closer = std::make_unique<Closer>();
  closer->Submit([future = go_on->get_future().share()] { future.wait(); }, [] {});
  closer->Submit([last] { last->set_value(); }, [] {});
  closer.reset();
  go_on->set_value();
  last->get_future().wait();
}

}  // namespace
}  // namespace reigen::worker
