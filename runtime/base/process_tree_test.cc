#include "runtime/base/process_tree.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <string>

namespace reigen {
namespace {

TEST(ProcessTreeTest, ParsesAStatLineWhateverTheNameHolds) {
  const auto info = ParseProcessStat(
      "42 (a) R 1 (b) S 7 42 40 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 998877 0 0");
  ASSERT_TRUE(info);
  EXPECT_EQ(info->pid, 42);
  EXPECT_EQ(info->parent, 7);
  EXPECT_EQ(info->session, 40);
  EXPECT_EQ(info->state, 'S');
  EXPECT_EQ(info->start_ticks, 998877u);
  EXPECT_FALSE(ParseProcessStat("42 (a"));
  EXPECT_FALSE(ParseProcessStat(""));
}

TEST(ProcessTreeTest, FindsAllGenerationsAndNoneThatHasEnded) {
  const std::vector<ProcessInfo> all = {
      {.pid = 10, .parent = 1},  {.pid = 11, .parent = 10, .state = 'S'},
      {.pid = 12, .parent = 11, .state = 'R'}, {.pid = 13, .parent = 11, .state = 'Z'},
      {.pid = 20, .parent = 1, .state = 'S'},
      {.pid = 30, .parent = 31}, {.pid = 31, .parent = 30}};
  std::set<pid_t> pids;
  for (const auto& p : DescendantsIn(all, 10)) pids.insert(p.pid);
  EXPECT_EQ(pids, (std::set<pid_t>{11, 12}));
  EXPECT_EQ(DescendantsIn(all, 30).size(), 1u);
}

TEST(ProcessTreeTest, SignalsOnlyTheProcessThatWasSeen) {
  const pid_t pid = fork();
  if (pid == 0) {
    for (;;) pause();
  }
  auto seen = ReadProcess(pid);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->parent, getpid());
  ProcessInfo other = *seen;
  other.start_ticks += 1;
  EXPECT_FALSE(SignalProcess(other, SIGKILL));
  EXPECT_TRUE(SignalProcess(*seen, SIGKILL));
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(SignalProcess(*seen, SIGKILL));
}

}  // namespace
}  // namespace reigen
