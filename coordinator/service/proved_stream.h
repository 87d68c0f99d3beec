// One gRPC stream of a client, which proves the job's secret before anything else
// that it says is looked at.
//
//   kHandshake --Proof--> kOpen --Close, end, error--> kClosing --> done
//         \--refused, late, end, error--------------------^
//
// Threads: gRPC's call the On... functions; the owner calls Send, Close, Processed
//          and Expire. State is under a leaf mutex; the sink only queues.
// Buffers: messages are shared, not copied; what a client does not read is bounded
//          (kMaxQueuedBytes), as is what the owner has not processed: reading
//          pauses then.
// Errors:  a stranger is refused with a reason and logged with its address; the
//          sink hears of a stream only once it is proved, then of its end once.
#ifndef REIGEN_COORDINATOR_SERVICE_PROVED_STREAM_H_
#define REIGEN_COORDINATOR_SERVICE_PROVED_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "coordinator/limits.h"
#include "coordinator/service/handshake.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"

namespace reigen::coordinator {

// What the list of all streams needs of one.
class ExpiringStream {
 public:
  virtual ~ExpiringStream() = default;
  // Ends what has not proved itself, or has not closed, in time.
  virtual void Expire(Time now) = 0;
  virtual bool proved() const = 0;
};

template <typename Request, typename Reply>
class ProvedStream final : public grpc::ServerBidiReactor<Request, Reply>,
                           public ExpiringStream,
                           public std::enable_shared_from_this<ProvedStream<Request, Reply>> {
 public:
  using Ptr = std::shared_ptr<ProvedStream>;
  // Called on gRPC's threads; must only queue.
  struct Sink {
    std::function<void(Ptr)> proved;
    std::function<void(Ptr, Request)> message;
    std::function<void(Ptr, std::string reason)> closed;
  };

  ProvedStream(grpc::CallbackServerContext* context, Handshake handshake, Sink sink,
               Time handshake_deadline)
      : context_(context),
        peer_(context->peer()),
        sink_(std::move(sink)),
        deadline_(handshake_deadline),
        handshake_(std::move(handshake)) {}

  // gRPC holds a reference from here until OnDone.
  void Start() {
    self_ = this->shared_from_this();
    this->StartRead(&request_);
  }

  int host() const { return handshake_.host(); }  // once proved
  const std::string& peer() const { return peer_; }

  void Send(std::shared_ptr<const Reply> reply) {
    std::lock_guard lock(mutex_);
    SendLocked(std::move(reply));
  }

  // After what is queued. The reason goes to the client in the stream's status.
  void Close(grpc::StatusCode code, const std::string& reason, Time now) {
    std::lock_guard lock(mutex_);
    if (phase_ != Phase::kClosing) deadline_ = now + kCloseTime;
    CloseLocked(code, reason);
  }

  // The owner is done with one message.
  void Processed() {
    std::lock_guard lock(mutex_);
    --unprocessed_;
    if (!paused_ || phase_ != Phase::kOpen) return;
    paused_ = false;
    this->StartRead(&request_);
  }

  void Expire(Time now) override {
    std::lock_guard lock(mutex_);
    if (done_ || phase_ == Phase::kOpen || now < deadline_) return;
    if (phase_ == Phase::kHandshake) {
      REIGEN_WARN("peer={} dropped: has not proved the job's secret in time", peer_);
    }
    CloseLocked(grpc::StatusCode::DEADLINE_EXCEEDED, "too late");
    context_->TryCancel();
    deadline_ = Time::max();
  }

  bool proved() const override {
    std::lock_guard lock(mutex_);
    return handshake_.proved();
  }

  void OnReadDone(bool ok) override {
    std::lock_guard lock(mutex_);
    if (!ok) {
      EndLocked("the stream ended");
      return;
    }
    if (phase_ == Phase::kHandshake) {
      HandshakeLocked();
    } else if (phase_ == Phase::kOpen) {
      PassOnLocked();
    }
    if (phase_ == Phase::kClosing) return;
    paused_ = unprocessed_ >= kMaxUnprocessedMessages;
    if (!paused_) this->StartRead(&request_);
  }

  void OnWriteDone(bool ok) override {
    std::lock_guard lock(mutex_);
    writing_.reset();
    if (!ok) {
      DropQueueLocked();
      EndLocked("writing failed");
    }
    WriteLocked();
  }

  void OnCancel() override {
    std::lock_guard lock(mutex_);
    DropQueueLocked();
    EndLocked("the connection is gone");
  }

  void OnDone() override {
    Ptr self;
    std::lock_guard lock(mutex_);
    done_ = true;
    self = std::move(self_);  // outlives the lock
  }

 private:
  enum class Phase { kHandshake, kOpen, kClosing };
  // Until what is queued before a Close is read; then it is cut off.
  static constexpr seconds kCloseTime{2};

  void HandshakeLocked() {
    if (request_.has_hello()) {
      auto challenge = handshake_.OnHello(request_.hello());
      if (!challenge.ok()) return RefuseLocked(challenge.status());
      auto reply = std::make_shared<Reply>();
      *reply->mutable_challenge() = *std::move(challenge);
      return SendLocked(std::move(reply));
    }
    if (!request_.has_proof()) return RefuseLocked(Unauthenticated("no proof of the secret"));
    const reigen::Status status = handshake_.OnProof(request_.proof());
    if (!status.ok()) return RefuseLocked(status);
    phase_ = Phase::kOpen;
    sink_.proved(this->shared_from_this());
  }

  void RefuseLocked(const reigen::Status& status) {
    REIGEN_WARN("peer={} refused: {}", peer_, Message(status));
    auto reply = std::make_shared<Reply>();
    reply->mutable_refused()->set_reason(Message(status));
    SendLocked(std::move(reply));
    CloseLocked(grpc::StatusCode::UNAUTHENTICATED, Message(status));
  }

  void PassOnLocked() {
    ++unprocessed_;
    sink_.message(this->shared_from_this(), std::exchange(request_, Request()));
  }

  // Nothing more will come from the client.
  void EndLocked(const std::string& reason) {
    if (handshake_.proved() && !std::exchange(closed_told_, true)) {
      sink_.closed(this->shared_from_this(), reason);
    }
    CloseLocked(grpc::StatusCode::OK, "");
  }

  void CloseLocked(grpc::StatusCode code, const std::string& reason) {
    if (phase_ == Phase::kClosing) return;
    phase_ = Phase::kClosing;
    final_status_ = grpc::Status(code, reason);
    WriteLocked();
  }

  void SendLocked(std::shared_ptr<const Reply> reply) {
    if (phase_ == Phase::kClosing) return;
    queued_bytes_ += reply->ByteSizeLong();
    queue_.push_back(std::move(reply));
    if (queued_bytes_ > kMaxQueuedBytes) {
      DropQueueLocked();
      EndLocked("it does not read what it is sent");
      context_->TryCancel();
      return;
    }
    WriteLocked();
  }

  void DropQueueLocked() {
    queue_.clear();
    queued_bytes_ = 0;
  }

  // The next write, or the end when nothing is left to write.
  void WriteLocked() {
    if (writing_ != nullptr || finished_) return;
    if (!queue_.empty()) {
      writing_ = std::move(queue_.front());
      queue_.pop_front();
      queued_bytes_ -= writing_->ByteSizeLong();
      this->StartWrite(writing_.get());
    } else if (phase_ == Phase::kClosing) {
      finished_ = true;
      this->Finish(final_status_);
    }
  }

  grpc::CallbackServerContext* const context_;
  const std::string peer_;
  const Sink sink_;

  mutable std::mutex mutex_;
  Ptr self_;
  Phase phase_ = Phase::kHandshake;
  Time deadline_;  // of the handshake, or of closing
  Handshake handshake_;
  Request request_;  // gRPC's while a read is under way
  size_t unprocessed_ = 0;
  bool paused_ = false;
  std::deque<std::shared_ptr<const Reply>> queue_;
  size_t queued_bytes_ = 0;
  std::shared_ptr<const Reply> writing_;
  grpc::Status final_status_;
  bool closed_told_ = false;
  bool finished_ = false;
  bool done_ = false;
};

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_SERVICE_PROVED_STREAM_H_
