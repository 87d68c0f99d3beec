// Writes to descriptors that may be slow, from a thread of its own, so that the
// launcher goes on reading what the hosts send.
//
// Threads: everything from the owner.
// Buffers: unbounded by itself: the owner stops reading from the hosts when
//          pending_bytes() passes kMaxPendingBytes, and then trainers that print
//          wait. A stdout that stands still costs no trainer time until then.
// Errors:  a descriptor that fails (its reader is gone, the disk is full) gets
//          nothing more; failures() tells, once each.
#ifndef REIGEN_CLIENT_CLI_REIGENRUN_OUTPUT_QUEUE_H_
#define REIGEN_CLIENT_CLI_REIGENRUN_OUTPUT_QUEUE_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace reigen::run {

class OutputQueue {
 public:
  // 256 MiB: a minute of four ranks that print a MiB a second each.
  static constexpr size_t kMaxPendingBytes = size_t{256} << 20;

  OutputQueue();
  ~OutputQueue();  // what is still queued is lost: wait for Idle() first

  void Push(int fd, std::string bytes);
  size_t pending_bytes() const { return pending_bytes_.load(std::memory_order_relaxed); }
  // Descriptors that failed since the last call: "stdout: Broken pipe", "DIR/rank.0/stdout: No
  // space left on device".
  std::vector<std::string> TakeFailures();
  // Whether everything is written. Never blocks.
  bool Idle() const { return pending_bytes() == 0; }

 private:
  struct Item {
    int fd;
    std::string bytes;
  };

  void Run();
  void Write(const Item& item);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Item> items_;
  std::vector<std::string> failures_;
  std::atomic<size_t> pending_bytes_{0};
  std::atomic<bool> stop_{false};
  std::set<int> failed_;  // the thread's own
  std::thread thread_;
};

}  // namespace reigen::run

#endif  // REIGEN_CLIENT_CLI_REIGENRUN_OUTPUT_QUEUE_H_
