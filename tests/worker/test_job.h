// A whole job for tests: the real coordinator, guards and workers, trainers by script;
// the test is the launcher.
#ifndef REIGEN_TESTS_WORKER_TEST_JOB_H_
#define REIGEN_TESTS_WORKER_TEST_JOB_H_

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/testing/coordinator_child.h"
#include "proto/launch/launch.pb.h"
#include "runtime/base/child_process.h"
#include "runtime/base/clock.h"
#include "runtime/base/frame_io.h"
#include "runtime/base/unique_fd.h"

namespace reigen::testing {

// Threads: one. Every wait has a deadline.
class TestJob {
 public:
  struct Options {
    int hosts = 1;
    int slots = 2;
    std::vector<std::string> argv;  // of a trainer; the first is a mode of trainer_script
    std::string gpu_direct = "off";
    double timeout_scale = 1;
  };
  struct Outcome {
    bool ended = false;  // the coordinator and all guards, in time
    launch::Verdict verdict;
    std::map<int, std::string> output;  // by rank, both streams
    std::string log;                    // of the hosts
    std::vector<bool> worker_lost;      // by host
    double seconds = 0;
  };

  explicit TestJob(const Options& options);
  ~TestJob();

  // To the end of the job.
  Outcome Wait(Duration limit = seconds(30));
  // Until every rank has written `text`; false: too late.
  bool WaitForOutput(const std::string& text, Duration limit = seconds(20));
  pid_t worker_pid(int host) const { return guards_[host]->worker_pid; }
  void LoseCoordinator() { coordinator_.reset(); }

 private:
  struct Guard {
    Child child;
    UniqueFd input;
    UniqueFd output;
    std::unique_ptr<FrameReader> reader;
    pid_t worker_pid = 0;
    bool done = false;
    bool worker_lost = false;
  };

  void StartCoordinator();
  void StartGuard(int host);
  void Pump();
  void Lose(int host);
  void Take(int host, const launch::FromGuard& message);

  const Options options_;
  std::string folder_;
  std::vector<std::string> addresses_;
  std::unique_ptr<coordinator::CoordinatorChild> coordinator_;
  std::vector<std::unique_ptr<Guard>> guards_;
  Outcome outcome_;
};

}  // namespace reigen::testing

#endif  // REIGEN_TESTS_WORKER_TEST_JOB_H_
