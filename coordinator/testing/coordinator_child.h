// reigen-coordinator as a child process of a test, which plays the launcher.
//
// Threads: one. Every wait has a deadline.
#ifndef REIGEN_COORDINATOR_TESTING_COORDINATOR_CHILD_H_
#define REIGEN_COORDINATOR_TESTING_COORDINATOR_CHILD_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "proto/launch/launch.pb.h"
#include "runtime/base/frame_io.h"
#include "runtime/base/unique_fd.h"

namespace reigen::coordinator {

class CoordinatorChild {
 public:
  explicit CoordinatorChild(const std::string& program);
  ~CoordinatorChild();

  void Tell(const launch::ToCoordinator& message);
  // The next message within thirty seconds.
  std::optional<launch::FromCoordinator> Receive();
  // Skips notices.
  std::optional<launch::FromCoordinator> ReceiveNoNotice();
  // As if the launcher died.
  void CloseInput() { input_.Reset(); }
  // Its exit code within thirty seconds.
  std::optional<int> WaitForExit();

 private:
  pid_t pid_ = -1;
  UniqueFd input_;
  UniqueFd output_;
  std::unique_ptr<FrameReader> reader_;
};

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_TESTING_COORDINATOR_CHILD_H_
