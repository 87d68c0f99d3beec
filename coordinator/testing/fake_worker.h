// A worker by script: speaks control.proto over gRPC, does nothing by itself.
//
// Threads: one test thread; a thread of its own reads the stream.
// Errors:  every wait has a deadline; what did not come is nullopt.
#ifndef REIGEN_COORDINATOR_TESTING_FAKE_WORKER_H_
#define REIGEN_COORDINATOR_TESTING_FAKE_WORKER_H_

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "proto/control/control.grpc.pb.h"

namespace reigen::coordinator {

class FakeWorker {
 public:
  FakeWorker(const std::string& address, int host);
  ~FakeWorker();

  // The whole handshake. The first message that is no Challenge, or nullopt when the
  // stream ended before one came.
  std::optional<control::CoordinatorMessage> Prove(const std::string& secret);
  void Send(const control::WorkerMessage& message);
  // The next message within thirty seconds.
  std::optional<control::CoordinatorMessage> Receive();
  // The next entry of the plan stream.
  std::optional<control::Entry> ReceiveEntry();
  uint64_t entries_seen() const { return entries_seen_; }
  // Ends the stream as a dead process would.
  void Die();

 private:
  void ReadAll();

  const int host_;
  std::unique_ptr<control::Coordinator::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<control::WorkerMessage, control::CoordinatorMessage>>
      stream_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<control::CoordinatorMessage> messages_;
  bool ended_ = false;
  std::deque<control::Entry> entries_;
  uint64_t entries_seen_ = 0;
  std::thread reader_;
};

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_TESTING_FAKE_WORKER_H_
