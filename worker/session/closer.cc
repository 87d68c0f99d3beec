#include "worker/session/closer.h"

#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace reigen::worker {

struct Closer::Shared {
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> queue;  // by mutex
  bool ending = false;                      // by mutex

  void Run() {
    for (;;) {
      std::function<void()> work;
      {
        std::unique_lock lock(mutex);
        wake.wait(lock, [this] { return ending || !queue.empty(); });
        if (queue.empty()) return;
        work = std::move(queue.front());
        queue.pop_front();
      }
      work();
    }
  }
};

Closer::Closer() : shared_(std::make_shared<Shared>()) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the thread inherits the mask
  std::thread thread([shared = shared_] { shared->Run(); });
  pthread_setname_np(thread.native_handle(), "reigen-closer");
  thread.detach();  // NOLINT: one that hangs cannot be joined, and must not be waited for
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Closer::~Closer() {
  {
    std::lock_guard lock(shared_->mutex);
    shared_->ending = true;
  }
  shared_->wake.notify_one();
}

void Closer::Submit(std::function<void()> work, std::function<void()>) {
  {
    std::lock_guard lock(shared_->mutex);
    shared_->queue.push_back(std::move(work));
  }
  shared_->wake.notify_one();
}

}  // namespace reigen::worker
