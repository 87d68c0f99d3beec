// Goal: work runs, `done` comes only from Progress() on the caller's thread, and
// nothing is lost at the end. Method: wait on event_fd() as a loop would.
#include "runtime/collective/executor.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace reigen::collective {
namespace {

bool Readable(const WorkExecutor& executor, int timeout_ms) {
  pollfd p{executor.event_fd(), POLLIN, 0};
  return poll(&p, 1, timeout_ms) == 1;
}

TEST(InlineExecutorTest, RunsWorkAtOnceAndDoneFromProgress) {
  auto executor = MakeInlineExecutor();
  std::vector<int> order;
  executor->Submit([&] { order.push_back(1); }, [&] { order.push_back(3); });
  executor->Submit([&] { order.push_back(2); }, [&] { order.push_back(4); });
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_TRUE(Readable(*executor, 0));
  executor->Progress();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4}));
  EXPECT_FALSE(Readable(*executor, 0));
}

TEST(InlineExecutorTest, DoneMaySubmitMoreForTheNextProgress) {
  auto executor = MakeInlineExecutor();
  int rounds = 0;
  std::function<void()> again = [&] {
    if (++rounds < 3) executor->Submit([] {}, again);
  };
  executor->Submit([] {}, again);
  executor->Progress();
  EXPECT_EQ(rounds, 1);
  while (Readable(*executor, 0)) executor->Progress();
  EXPECT_EQ(rounds, 3);
}

TEST(PoolExecutorTest, RunsEverythingOnceAndCallsDoneOnTheOwner) {
  constexpr int kItems = 2000;
  auto executor = MakePoolExecutor(3);
  const std::thread::id owner = std::this_thread::get_id();
  std::vector<int> runs(kItems);  // each written by one thread, read after its done
  std::atomic<int> on_owner = 0;
  int done = 0;
  for (int i = 0; i < kItems; ++i) {
    executor->Submit(
        [&, i] {
          ++runs[i];
          if (std::this_thread::get_id() == owner) ++on_owner;
        },
        [&, i] {
          EXPECT_EQ(std::this_thread::get_id(), owner);
          EXPECT_EQ(runs[i], 1);
          ++done;
        });
    if (i % 7 == 0) executor->Progress();
  }
  while (done < kItems) {
    ASSERT_TRUE(Readable(*executor, 10'000)) << done;
    executor->Progress();
  }
  EXPECT_EQ(on_owner, 0);
}

TEST(PoolExecutorTest, DestructorRunsAllThatWasSubmittedAndCallsNoDone) {
  std::atomic<int> runs = 0;
  int done = 0;
  {
    auto executor = MakePoolExecutor(2);
    for (int i = 0; i < 500; ++i) executor->Submit([&] { ++runs; }, [&] { ++done; });
  }
  EXPECT_EQ(runs, 500);
  EXPECT_EQ(done, 0);
}

TEST(PoolExecutorTest, WorkIsFreedBeforeItsDone) {
  auto executor = MakePoolExecutor(1);
  auto held = std::make_shared<int>(1);
  bool done = false;
  executor->Submit([copy = held] { ++*copy; }, [&] {
    EXPECT_EQ(held.use_count(), 1);
    done = true;
  });
  while (!done) {
    ASSERT_TRUE(Readable(*executor, 10'000));
    executor->Progress();
  }
}

TEST(PoolExecutorTest, ThreadsHaveAllSignalsBlockedAndTheOwnersMaskStays) {
  sigset_t before;
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  auto executor = MakePoolExecutor(1);
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  sigset_t inside;
  bool done = false;
  executor->Submit([&] { pthread_sigmask(SIG_SETMASK, nullptr, &inside); }, [&] { done = true; });
  while (!done) {
    ASSERT_TRUE(Readable(*executor, 10'000));
    executor->Progress();
  }
  for (int s : {SIGINT, SIGTERM, SIGCHLD, SIGPIPE, SIGUSR1}) {
    EXPECT_TRUE(sigismember(&inside, s)) << s;
    EXPECT_EQ(sigismember(&before, s), sigismember(&after, s)) << s;
  }
}

}  // namespace
}  // namespace reigen::collective
