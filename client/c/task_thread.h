// A thread of the library's own that does tasks in order, started with the first one.
//
// Threads: any. Signals are blocked in it.
// Waits:   Stop, until all tasks are done; it is not called from a task.
#ifndef REIGEN_CLIENT_C_TASK_THREAD_H_
#define REIGEN_CLIENT_C_TASK_THREAD_H_

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace reigen::sdk {

class TaskThread {
 public:
  // `name` is a literal, as ps shows it.
  explicit TaskThread(const char* name = "reigen-device") : name_(name) {}
  ~TaskThread() { Stop(); }
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  // False: stopped, or no thread can be had; the task was not taken.
  bool Post(std::function<void()> task);
  void Stop();

 private:
  bool StartLocked();
  void Run();

  const char* const name_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool started_ = false;
  bool stopping_ = false;
  pthread_t thread_{};
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_TASK_THREAD_H_
