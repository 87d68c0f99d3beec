#include "client/cli/reigenrun/output_queue.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "runtime/base/unique_fd.h"

namespace reigen::run {
namespace {

struct Pipe {
  Pipe() {
    int fds[2];
    EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
    read_end.Reset(fds[0]);
    write_end.Reset(fds[1]);
  }
  UniqueFd read_end, write_end;
};

TEST(OutputQueueTest, WritesInOrderAndPushNeverWaitsForASlowReader) {
  Pipe pipe;
  OutputQueue queue;
  std::string expected;
  for (int i = 0; i < 20000; ++i) {
    const std::string line = std::to_string(i) + std::string(100, 'x') + "\n";
    expected += line;
    queue.Push(pipe.write_end.get(), line);  // 2 MB, and nobody reads yet
  }
  EXPECT_FALSE(queue.Idle());
  std::string got;
  char data[8192];
  while (got.size() < expected.size()) {
    const ssize_t n = read(pipe.read_end.get(), data, sizeof data);
    ASSERT_GT(n, 0);
    got.append(data, static_cast<size_t>(n));
  }
  EXPECT_TRUE(got == expected);
  while (!queue.Idle()) poll(nullptr, 0, 1);
}

TEST(OutputQueueTest, AReaderThatIsGoneIsToldOnceAndStopsNothing) {
  signal(SIGPIPE, SIG_IGN);
  Pipe gone, here;
  gone.read_end.Reset();
  OutputQueue queue;
  for (int i = 0; i < 3; ++i) queue.Push(gone.write_end.get(), "x");
  queue.Push(here.write_end.get(), "y");
  char c = 0;
  EXPECT_EQ(read(here.read_end.get(), &c, 1), 1);
  EXPECT_EQ(c, 'y');
  while (!queue.Idle()) poll(nullptr, 0, 1);
  EXPECT_EQ(queue.TakeFailures().size(), 1u);
  EXPECT_TRUE(queue.TakeFailures().empty());
}

TEST(OutputQueueTest, AFileThatTakesNothingIsNamedByItsPath) {
  UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full.valid());
  OutputQueue queue;
  queue.Push(full.get(), "x");
  while (!queue.Idle()) poll(nullptr, 0, 1);
  EXPECT_EQ(queue.TakeFailures(),
            (std::vector<std::string>{"/dev/full: No space left on device"}));
}

TEST(OutputQueueTest, CanBeEndedWhileAReaderIsStuck) {
  Pipe pipe;
  OutputQueue queue;
  queue.Push(pipe.write_end.get(), std::string(1 << 20, 'x'));
}

}  // namespace
}  // namespace reigen::run
