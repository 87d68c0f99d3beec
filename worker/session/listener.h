// Where trainers knock.
#ifndef REIGEN_WORKER_SESSION_LISTENER_H_
#define REIGEN_WORKER_SESSION_LISTENER_H_

#include <functional>
#include <map>
#include <string>

#include "proto/local/local.h"
#include "runtime/base/status.h"
#include "runtime/base/unique_fd.h"
#include "runtime/collective/executor.h"
#include "worker/event_loop.h"
#include "worker/session/packets.h"
#include "worker/session/trainer_fd.h"

namespace reigen::worker {

// Accepts connections and waits for their Hello.
//
// Threads: one owner, that of the loop.
// Errors:  a connection of another user, or whose first packet is no Hello, is closed
//          and logged; more than kMaxStrangers that say nothing: the oldest goes.
class Listener {
 public:
  using OnHello =
      std::function<void(TrainerFd socket, const PeerIdentity& peer, const local::Hello& hello)>;

  // Both outlive it.
  Listener(EventLoop* loop, collective::WorkExecutor* executor, OnHello on_hello)
      : loop_(loop), executor_(executor), on_hello_(std::move(on_hello)) {}
  ~Listener();

  Status Listen(const std::string& path);

 private:
  struct Stranger {
    TrainerFd socket;
    PeerIdentity peer;
    uint64_t number = 0;  // in order of arrival
  };

  void OnConnection();
  void OnPacket(int fd);
  void Drop(int fd);

  EventLoop* const loop_;
  collective::WorkExecutor* const executor_;
  const OnHello on_hello_;
  UniqueFd socket_;
  std::map<int, Stranger> strangers_;  // by descriptor
  uint64_t arrivals_ = 0;
};

}  // namespace reigen::worker

#endif  // REIGEN_WORKER_SESSION_LISTENER_H_
