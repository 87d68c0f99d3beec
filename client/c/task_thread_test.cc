// Goal: the library's threads do tasks in order, and their pauses are as short as asked for.
#include "client/c/task_thread.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <vector>

namespace reigen::sdk {
namespace {

TEST(TaskThreadTest, TasksAreDoneInOrderAndNoneAfterTheStop) {
  TaskThread thread;
  std::vector<int> done;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(thread.Post([&done, i] { done.push_back(i); }));
  }
  thread.Stop();
  ASSERT_EQ(done.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<size_t>(i)], i);
  EXPECT_FALSE(thread.Post([] {}));
}

TEST(TaskThreadTest, ItsTimersAreExactAndTheCallersAreItsOwn) {
  const int callers = prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL);
  TaskThread thread;
  int slack = 0;
  ASSERT_TRUE(thread.Post([&] { slack = prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL); }));
  thread.Stop();
  EXPECT_EQ(slack, 1);
  EXPECT_EQ(prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL), callers);
}

}  // namespace
}  // namespace reigen::sdk
