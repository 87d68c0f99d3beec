#include "runtime/collective/executor.h"

#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/mailbox.h"

namespace reigen::collective {
namespace {

using Callback = std::function<void()>;

class InlineExecutor final : public WorkExecutor {
 public:
  void Submit(Callback work, Callback done) override {
    work();
    done_.Push(std::move(done));
  }
  int event_fd() const override { return done_.fd(); }
  void Progress() override {
    for (Callback& done : done_.Drain()) done();
  }

 private:
  Mailbox<Callback> done_;
};

class PoolExecutor final : public WorkExecutor {
 public:
  explicit PoolExecutor(int threads) {
    REIGEN_CHECK(threads > 0);
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // threads inherit the mask
    threads_.reserve(threads);
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this] { Run(); });
      pthread_setname_np(threads_.back().native_handle(), ("reigen-pool-" + std::to_string(i)).c_str());
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  ~PoolExecutor() override {
    {
      std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void Submit(Callback work, Callback done) override {
    {
      std::lock_guard lock(mutex_);
      queue_.push_back({std::move(work), std::move(done)});
    }
    wake_.notify_one();
  }

  int event_fd() const override { return done_.fd(); }

  void Progress() override {
    for (Callback& done : done_.Drain()) done();
  }

 private:
  struct Item {
    Callback work;
    Callback done;
  };

  void Run() {
    for (;;) {
      Item item;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return ending_ || !queue_.empty(); });
        if (queue_.empty()) return;
        item = std::move(queue_.front());
        queue_.pop_front();
      }
      item.work();
      item.work = nullptr;  // what it holds is freed before its end is told
      done_.Push(std::move(item.done));
    }
  }

  Mailbox<Callback> done_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Item> queue_;  // by mutex_
  bool ending_ = false;     // by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<WorkExecutor> MakeInlineExecutor() { return std::make_unique<InlineExecutor>(); }

std::unique_ptr<WorkExecutor> MakePoolExecutor(int threads) {
  return std::make_unique<PoolExecutor>(threads);
}

}  // namespace reigen::collective
