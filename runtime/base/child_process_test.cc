// Starts small shell programs and looks at what they were given.
#include "runtime/base/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace reigen {
namespace {

struct Result {
  std::string output;
  ExitStatus exit;
};

// Runs with stdout on a pipe; `more` are the child's descriptors from 2 on.
Result RunProgram(ChildSpec spec, std::vector<int> more = {-1}) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  spec.fds = {-1, write_end.get()};
  spec.fds.insert(spec.fds.end(), more.begin(), more.end());
  auto child = StartChild(spec);
  EXPECT_TRUE(child.ok()) << child.status();
  write_end.Reset();
  Result result;
  char data[4096];
  for (ssize_t n; (n = read(read_end.get(), data, sizeof data)) > 0;) {
    result.output.append(data, static_cast<size_t>(n));
  }
  int status = 0;
  EXPECT_EQ(waitpid(child->pid, &status, 0), child->pid);
  result.exit = DecodeWaitStatus(status);
  return result;
}

ChildSpec Shell(const std::string& script) {
  return ChildSpec{.path = "/bin/sh", .argv = {"sh", "-c", script}, .environment = {"PATH=/bin:/usr/bin"}};
}

TEST(ChildProcessTest, GetsArgumentsAndEnvironmentByteForByte) {
  ChildSpec spec{.path = "/usr/bin/env",
                 .argv = {"env", "printf", "%s|", "a b", "", "it's", "*", "$HOME", "\n"},
                 .environment = {"A.B=1", "PATH=/usr/bin:/bin"}};
  EXPECT_EQ(RunProgram(spec).output, "a b||it's|*|$HOME|\n|");
  spec.argv = {"env"};
  EXPECT_EQ(RunProgram(spec).output, "A.B=1\nPATH=/usr/bin:/bin\n");
}

TEST(ChildProcessTest, HasTheGivenDescriptorsAndNoOthers) {
  UniqueFd leaked(open("/dev/null", O_RDONLY));  // not CLOEXEC on purpose
  ChildSpec spec{.path = "/bin/ls", .argv = {"ls", "/proc/self/fd"}, .environment = {}};
  // 5 is the folder that ls itself opens.
  EXPECT_EQ(RunProgram(spec, {-1, leaked.get(), leaked.get()}).output, "0\n1\n2\n3\n4\n5\n");
}

TEST(ChildProcessTest, StartsWithDefaultSignals) {
  signal(SIGPIPE, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  const Result result = RunProgram(Shell("grep -E 'Sig(Blk|Ign)' /proc/self/status | cut -f2"));
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_DFL);
  const size_t cut = result.output.find('\n');
  ASSERT_NE(cut, std::string::npos);
  EXPECT_EQ(std::stoull(result.output.substr(0, cut), nullptr, 16), 0u);
  // Signals 32 and 33 are the C library's own: it lets nobody set them.
  EXPECT_EQ(std::stoull(result.output.substr(cut + 1), nullptr, 16) & ~0x180000000ull, 0u);
}

TEST(ChildProcessTest, ReportsExitCodeAndSignal) {
  EXPECT_EQ(ToString(RunProgram(Shell("exit 7")).exit), "exit 7");
  const Result killed = RunProgram(Shell("kill -9 $$"));
  EXPECT_EQ(killed.exit.code, 137);
  EXPECT_EQ(ToString(killed.exit), "signal 9 (Killed)");
}

TEST(ChildProcessTest, SaysWhichProgramOrFolderIsMissing) {
  auto program = StartChild({.path = "/no/such/program", .argv = {"x"}, .fds = {-1, -1, -1}});
  EXPECT_EQ(program.status().code(), StatusCode::kNotFound);
  EXPECT_NE(Message(program.status()).find("/no/such/program"), std::string::npos);
  ChildSpec spec = Shell("true");
  spec.working_directory = "/no/such/folder";
  auto folder = StartChild(spec);
  EXPECT_EQ(folder.status().code(), StatusCode::kNotFound);
  EXPECT_NE(Message(folder.status()).find("/no/such/folder"), std::string::npos);
}

TEST(ChildProcessTest, FindProgramLooksAlongThePath) {
  EXPECT_EQ(FindProgram("sh", "/no/such:/bin", "/"), "/bin/sh");
  EXPECT_EQ(FindProgram("sh", "/no/such", "/"), "");
  EXPECT_EQ(FindProgram("./sh", "/usr/bin", "/bin"), "/bin/./sh");
  EXPECT_EQ(FindProgram("", "/bin", "/"), "");
}

TEST(ChildProcessTest, WhyThereIsNoProgramIsSaid) {
  EXPECT_EQ(WhyNoProgram("sh", "/no/such", "/"), "no such program in PATH=/no/such");
  EXPECT_EQ(WhyNoProgram("./no-such", "/bin", "/bin"), "no such program");
  EXPECT_EQ(WhyNoProgram("/bin", "/bin", "/"), "it is a folder");
  EXPECT_EQ(WhyNoProgram("./passwd", "/bin", "/etc"), "it is not executable (chmod +x makes it so)");
  EXPECT_EQ(WhyNoProgram("/dev/null", "/bin", "/"), "it is no program");
}

}  // namespace
}  // namespace reigen
