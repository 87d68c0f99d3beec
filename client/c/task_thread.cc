#include "client/c/task_thread.h"

#include <signal.h>
#include <sys/prctl.h>

#include <utility>

namespace reigen::sdk {

bool TaskThread::StartLocked() {
  // A signal is for the caller's threads, never for this one.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(
      &thread_, nullptr,
      [](void* self) -> void* {
        static_cast<TaskThread*>(self)->Run();
        return nullptr;
      },
      this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) return false;
  pthread_setname_np(thread_, name_);
  started_ = true;
  return true;
}

bool TaskThread::Post(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || (!started_ && !StartLocked())) return false;
  tasks_.push_back(std::move(task));
  changed_.notify_one();
  return true;
}

void TaskThread::Stop() {
  bool joins = false;
  {
    const std::lock_guard lock(mutex_);
    joins = started_ && !stopping_;
    stopping_ = true;
    changed_.notify_one();
  }
  if (joins) pthread_join(thread_, nullptr);
}

void TaskThread::Run() {
  // Else each pause of some microseconds lasts 50 more.
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  while (true) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace reigen::sdk
