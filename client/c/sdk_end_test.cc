// Goal: whatever ends a session, every wait ends with it, with a text that says
// why; and nothing is left behind.
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "client/c/fake_worker.h"
#include "client/c/reigen.h"
#include "gtest/gtest.h"

namespace reigen::sdk {
namespace {

using Clock = std::chrono::steady_clock;

class SdkEndTest : public testing::Test {
 protected:
  ~SdkEndTest() override {
    reigen_shutdown();
    for (const char* name : {"REIGEN_SOCKET", "REIGEN_RANK", "REIGEN_TIMEOUT_SCALE",
                             "REIGEN_CUDA_KERNELS", "REIGEN_CUDA_ARENA_MB"}) {
      unsetenv(name);
    }
  }

  void Make(FakeScript script) {
    worker_ = std::make_unique<FakeWorker>(std::move(script));
    worker_->SetEnvironment();
  }
  void Begin(FakeScript script) {
    Make(std::move(script));
    ASSERT_EQ(reigen_init(), REIGEN_OK) << reigen_last_error();
  }

  std::unique_ptr<FakeWorker> worker_;
};

reigen_handle StartBarrier() {
  reigen_handle handle = 0;
  EXPECT_EQ(reigen_barrier_async(0, &handle), REIGEN_OK) << reigen_last_error();
  return handle;
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(SdkEndTest, AWorkersDeathEndsEveryWaitWithinASecondAndNamesIt) {
  Begin({});
  const reigen_handle handles[] = {StartBarrier(), StartBarrier()};
  std::vector<std::string> texts(2);
  std::vector<std::thread> waiters;
  for (int i = 0; i < 2; ++i) {
    waiters.emplace_back([&, i] {
      EXPECT_EQ(reigen_wait(handles[i], -1), REIGEN_UNAVAILABLE);
      texts[i] = reigen_last_error();
    });
  }
  worker_->WaitForRequests(2);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const auto before = Clock::now();
  worker_->Die();
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_LT(Clock::now() - before, std::chrono::seconds(1));
  EXPECT_TRUE(Contains(texts[0], "barrier.noname.1: the worker of this host is gone")) << texts[0];
  EXPECT_TRUE(Contains(texts[1], "4711")) << texts[1];
  reigen_handle handle = 0;
  EXPECT_EQ(reigen_barrier_async(0, &handle), REIGEN_UNAVAILABLE);
  EXPECT_EQ(reigen_alloc(1 << 30), nullptr);
}

TEST_F(SdkEndTest, TheReasonThatTheWorkerGaveIsTheText) {
  Begin({});
  const reigen_handle handle = StartBarrier();
  worker_->SendRefused(local::ResultCode::kUnavailable, "host b was lost");
  EXPECT_EQ(reigen_wait(handle, 10), REIGEN_UNAVAILABLE);
  EXPECT_TRUE(Contains(reigen_last_error(), "host b was lost")) << reigen_last_error();
}

TEST_F(SdkEndTest, ResultsThatCameBeforeTheDeathCount) {
  Begin({});
  const reigen_handle handle = StartBarrier();
  worker_->Complete(worker_->WaitForRequests(1)[0].head.request);
  worker_->Die();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(reigen_wait(handle, 10), REIGEN_OK);
}

TEST_F(SdkEndTest, ARefusedHelloFailsInitWithTheWorkersText) {
  FakeScript script;
  script.refuse_hello = "rank 0 is held by process 12";
  Make(script);
  EXPECT_EQ(reigen_init(), REIGEN_FAILED_PRECONDITION);
  EXPECT_TRUE(Contains(reigen_last_error(), "rank 0 is held by process 12"));
  EXPECT_EQ(reigen_is_initialized(), 0);
}

TEST_F(SdkEndTest, AWorkerThatDoesNotAnswerHelloFailsInit) {
  FakeScript script;
  script.answer_hello = false;
  Make(script);
  setenv("REIGEN_TIMEOUT_SCALE", "0.01", 1);
  EXPECT_EQ(reigen_init(), REIGEN_UNAVAILABLE);
  EXPECT_TRUE(Contains(reigen_last_error(), "does not answer")) << reigen_last_error();
}

TEST_F(SdkEndTest, NobodyAtTheSocketFailsInitAndNamesIt) {
  setenv("REIGEN_SOCKET", "/nowhere/worker.sock", 1);
  EXPECT_EQ(reigen_init(), REIGEN_INVALID_ARGUMENT);  // no REIGEN_RANK
  setenv("REIGEN_RANK", "0", 1);
  EXPECT_EQ(reigen_init(), REIGEN_UNAVAILABLE);
  EXPECT_TRUE(Contains(reigen_last_error(), "/nowhere/worker.sock: No such file"));
  setenv("REIGEN_RANK", "1x", 1);
  EXPECT_EQ(reigen_init(), REIGEN_INVALID_ARGUMENT);
}

TEST_F(SdkEndTest, VariablesOfCudaThatSayNothingKnownFailInitByName) {
  for (const char* bad : {"99999999", "-1", "many", "2x"}) {
    setenv("REIGEN_CUDA_ARENA_MB", bad, 1);
    EXPECT_EQ(reigen_init(), REIGEN_INVALID_ARGUMENT) << bad;
    EXPECT_EQ(std::string(reigen_last_error()),
              "REIGEN_CUDA_ARENA_MB is no number of MiB from 0 to 16777216: " + std::string(bad));
  }
  setenv("REIGEN_CUDA_ARENA_MB", "", 1);
  for (const char* bad : {"0", "of", "OFF", "off "}) {
    setenv("REIGEN_CUDA_KERNELS", bad, 1);
    EXPECT_EQ(reigen_init(), REIGEN_INVALID_ARGUMENT) << bad;
    EXPECT_EQ(std::string(reigen_last_error()),
              "REIGEN_CUDA_KERNELS is neither on nor off: " + std::string(bad));
  }
  for (const char* good : {"", "on", "off"}) {
    setenv("REIGEN_CUDA_KERNELS", good, 1);
    EXPECT_EQ(reigen_init(), REIGEN_OK) << good << ": " << reigen_last_error();
    reigen_shutdown();
  }
}

// As daemons and os.closerange do.
TEST_F(SdkEndTest, AProgramThatClosesForeignDescriptorsIsToldAndCanShutDown) {
  Begin({});
  int closed = 0;
  for (int fd = 3; fd < 1024; ++fd) {
    sockaddr_un peer = {};
    socklen_t bytes = sizeof(peer);
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &bytes) != 0) continue;
    if (peer.sun_family != AF_UNIX || std::string(peer.sun_path) != getenv("REIGEN_SOCKET")) continue;
    closed += close(fd) == 0;
  }
  EXPECT_EQ(closed, 1);
  // Either the watcher sees it, where it was not asleep yet, or the request's sending does.
  reigen_handle handle = 0;
  if (reigen_barrier_async(0, &handle) == REIGEN_OK) {
    EXPECT_EQ(reigen_wait(handle, 60), REIGEN_UNAVAILABLE);
  }
  EXPECT_TRUE(Contains(reigen_last_error(), "this program has closed the library's socket"))
      << reigen_last_error();
  EXPECT_EQ(reigen_shutdown(), REIGEN_OK) << reigen_last_error();
}

void IgnoreSignal(int) {}

class Interruptible {
 public:
  Interruptible() {
    struct sigaction action = {};
    action.sa_handler = IgnoreSignal;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, &before_);
  }
  ~Interruptible() { sigaction(SIGUSR1, &before_, nullptr); }

 private:
  struct sigaction before_ = {};
};

TEST_F(SdkEndTest, ASignalInterruptsInitAndASecondCallGoesOn) {
  const Interruptible interruptible;
  FakeScript script;
  script.begin_epoch = false;
  Make(script);
  const pthread_t self = pthread_self();
  std::atomic<bool> interrupted{false};
  std::thread sender([&] {
    while (!interrupted) {
      pthread_kill(self, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  EXPECT_EQ(reigen_init(), REIGEN_INTERRUPTED);
  interrupted = true;
  sender.join();
  std::thread other([] { EXPECT_EQ(reigen_rank(), -REIGEN_FAILED_PRECONDITION); });
  other.join();
  std::thread begin([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    worker_->BeginEpoch();
  });
  reigen_status status = REIGEN_INTERRUPTED;
  while (status == REIGEN_INTERRUPTED) status = reigen_init();
  EXPECT_EQ(status, REIGEN_OK);
  begin.join();
}

TEST_F(SdkEndTest, ASignalInterruptsAWait) {
  const Interruptible interruptible;
  Begin({});
  const reigen_handle handle = StartBarrier();
  const pthread_t self = pthread_self();
  std::atomic<bool> interrupted{false};
  std::thread sender([&] {
    while (!interrupted) {
      pthread_kill(self, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  EXPECT_EQ(reigen_wait(handle, -1), REIGEN_INTERRUPTED);
  interrupted = true;
  sender.join();
}

TEST_F(SdkEndTest, ShutdownDuringInitEndsIt) {
  FakeScript script;
  script.begin_epoch = false;
  Make(script);
  std::thread initialising([] { EXPECT_EQ(reigen_init(), REIGEN_ABORTED) << reigen_last_error(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(reigen_shutdown(), REIGEN_OK);
  initialising.join();
}

TEST_F(SdkEndTest, ShutdownAbortsWhatIsPending) {
  Begin({});
  const reigen_handle handle = StartBarrier();
  std::thread waiter([&] { EXPECT_EQ(reigen_wait(handle, -1), REIGEN_ABORTED); });
  worker_->WaitForRequests(1);
  EXPECT_EQ(reigen_shutdown(), REIGEN_OK);
  waiter.join();
  EXPECT_EQ(reigen_wait(handle, 0), REIGEN_ABORTED);
  EXPECT_TRUE(Contains(reigen_last_error(), "shut down")) << reigen_last_error();
  EXPECT_EQ(reigen_release(handle), REIGEN_OK);
}

TEST_F(SdkEndTest, ShutdownEndsThoughTheWorkerDoesNotAnswer) {
  FakeScript script;
  script.answer_shutdown = false;
  setenv("REIGEN_TIMEOUT_SCALE", "0.01", 1);
  Begin(script);
  EXPECT_EQ(reigen_shutdown(), REIGEN_OK);
}

TEST_F(SdkEndTest, APacketOfAnotherVersionEndsTheSession) {
  Begin({});
  const reigen_handle handle = StartBarrier();
  local::ShutdownDone wrong;
  wrong.packet.version = 77;
  worker_->SendRaw(&wrong, sizeof(wrong));
  EXPECT_EQ(reigen_wait(handle, 10), REIGEN_INTERNAL);
  EXPECT_TRUE(Contains(reigen_last_error(), "version 77")) << reigen_last_error();
}

TEST_F(SdkEndTest, AWorkerThatTakesNothingFailsTheEnqueueInTheEnd) {
  setenv("REIGEN_TIMEOUT_SCALE", "0.01", 1);
  Begin({});
  worker_->TakeRequests(false);
  reigen_status status = REIGEN_OK;
  for (int i = 0; i < 10000 && status == REIGEN_OK; ++i) {
    reigen_handle handle = 0;
    status = reigen_barrier_async(0, &handle);
  }
  EXPECT_EQ(status, REIGEN_UNAVAILABLE);
  EXPECT_TRUE(Contains(reigen_last_error(), "takes no requests")) << reigen_last_error();
}

TEST_F(SdkEndTest, AForkedChildGetsAnErrorAndLetsGoOfTheSocket) {
  Begin({});
  const reigen_handle handle = StartBarrier();
  void* const shared = reigen_alloc(64);
  const pid_t child = fork();
  if (child == 0) {
    reigen_handle other = 0;
    const bool right = reigen_barrier_async(0, &other) == REIGEN_FAILED_PRECONDITION &&
                       Contains(reigen_last_error(), "forked process") &&
                       reigen_wait(handle, 0) == REIGEN_FAILED_PRECONDITION &&
                       reigen_shutdown() == REIGEN_FAILED_PRECONDITION &&
                       reigen_rank() < 0 && reigen_init() == REIGEN_FAILED_PRECONDITION;
    reigen_free(shared);
    static_cast<char*>(shared)[0] = 1;  // still mapped
    exit(right ? 0 : 1);                // runs the atexit handler too
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  worker_->Complete(worker_->WaitForRequests(1)[0].head.request);
  EXPECT_EQ(reigen_wait(handle, 10), REIGEN_OK);
  reigen_free(shared);
}

size_t OpenDescriptors() {
  size_t count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

size_t LinesOf(const char* path) {
  std::ifstream file(path);
  std::string line;
  size_t lines = 0;
  while (std::getline(file, line)) ++lines;
  return lines;
}

size_t Threads() {
  size_t count = 0;
  DIR* folder = opendir("/proc/self/task");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

TEST_F(SdkEndTest, TwoHundredRoundsLeaveNothing) {
  const auto round = [&] {
    FakeScript script;
    script.on_request = [](FakeWorker& worker, const SeenRequest& seen) { worker.Echo(seen); };
    Begin(script);
    const reigen_handle handle = StartBarrier();
    EXPECT_EQ(reigen_wait(handle, 10), REIGEN_OK);
    EXPECT_EQ(reigen_release(handle), REIGEN_OK);
    EXPECT_EQ(reigen_shutdown(), REIGEN_OK);
    worker_.reset();
  };
  constexpr size_t kRounds = 200;
  for (int i = 0; i < 20; ++i) round();
  const size_t descriptors = OpenDescriptors();
  const size_t mappings = LinesOf("/proc/self/maps");
  const size_t threads = Threads();
  for (size_t i = 0; i < kRounds; ++i) round();
  EXPECT_EQ(OpenDescriptors(), descriptors);
  // malloc's and a sanitizer's own come and go; one in four rounds would be a leak.
  EXPECT_LE(LinesOf("/proc/self/maps"), mappings + kRounds / 4);
  EXPECT_EQ(Threads(), threads);
}

}  // namespace
}  // namespace reigen::sdk
