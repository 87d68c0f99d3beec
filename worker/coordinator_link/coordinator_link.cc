#include "worker/coordinator_link/coordinator_link.h"

#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "proto/control/control.grpc.pb.h"
#include "proto/control/handshake.h"
#include "runtime/base/mailbox.h"
#include "worker/limits.h"

namespace reigen::worker {
namespace {

// gRPC's name of a literal address.
std::string TargetOf(const std::string& address) {
  if (address.empty() || address[0] != '[') return "ipv4:" + address;
  std::string target = "ipv6:";
  for (char c : address) target += c == '%' ? std::string("%25") : std::string(1, c);
  return target;
}

// The library is never shut down: the last stream may end on one of its own threads,
// and a shutdown begun there destroys what that thread still uses (gRPC 1.51: "prior
// > 0").
void KeepLibrary() {
  static const bool kept = [] {
    grpc_init();
    return true;
  }();
  (void)kept;
}

std::shared_ptr<grpc::Channel> MakeChannel(const CoordinatorLink::Options& options) {
  KeepLibrary();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(limits::kMaxControlMessageBytes);
  arguments.SetMaxSendMessageSize(limits::kMaxControlMessageBytes);
  // No pings (once in a day): heartbeats are data, and this bounds how long data may
  // stay unacknowledged (TCP_USER_TIMEOUT).
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 24 * 3600 * 1000);
  const auto silence_ms = std::chrono::duration_cast<milliseconds>(options.silence).count();
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(silence_ms));
  // Its pings would wake both ends of an idle job as often as the heartbeats do.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  return grpc::CreateCustomChannel(TargetOf(options.address),
                                   grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

// Threads: callbacks on gRPC's threads; the rest from the owner; `mutex_` between
// them. No call into gRPC or the mailbox's other side is made that could come back.
class CoordinatorLink::Stream
    : public grpc::ClientBidiReactor<control::WorkerMessage, control::CoordinatorMessage> {
 public:
  explicit Stream(const Options& options)
      : secret_(options.secret),
        host_(options.host),
        nonce_(control::MakeNonce()),
        channel_(MakeChannel(options)),
        stub_(control::Coordinator::NewStub(channel_)) {}

  void Begin() {
    stub_->async()->Attach(&context_, this);
    AddHold();  // writes also come from the owner's thread
    StartRead(&incoming_);
    control::WorkerMessage message;
    control::Hello& hello = *message.mutable_hello();
    hello.set_version(control::kVersion);
    hello.set_role(std::string(control::kWorkerRole));
    hello.set_host(host_);
    hello.set_nonce(nonce_);
    Send(std::move(message));
    StartCall();
  }

  void Send(control::WorkerMessage message) {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    queue_.push_back(std::move(message));
    if (queue_.size() == 1) StartWrite(&queue_.front());
  }

  bool Idle() {
    const std::lock_guard lock(mutex_);
    idle_wanted_ = !queue_.empty();
    return !idle_wanted_;
  }

  // Returns once gRPC is done with this: a channel that dies on a thread of gRPC's
  // makes that thread wait for itself.
  void Cancel() {
    context_.TryCancel();
    std::unique_lock lock(mutex_);
    if (!std::exchange(ended_, true)) RemoveHold();
    done_changed_.wait(lock, [this] { return done_; });
  }

  int event_fd() const { return events_.fd(); }
  std::vector<LinkEvent> Take() { return events_.Drain(); }

 private:
  enum class Stage { kChallenge, kWelcome, kOpen };

  void OnWriteDone(bool ok) override {
    bool tell = false;
    {
      const std::lock_guard lock(mutex_);
      queue_.pop_front();
      if (!ok) queue_.clear();
      if (!queue_.empty()) {
        StartWrite(&queue_.front());
      } else if (ok) {
        tell = std::exchange(idle_wanted_, false);
      }
    }
    if (tell) events_.Push(LinkIdle{});
  }

  void OnReadDone(bool ok) override {
    if (!ok) return End();
    if (!Handle()) {
      context_.TryCancel();
      return End();
    }
    StartRead(&incoming_);
  }

  // False: the stream is over; why_ says why.
  bool Handle() {
    if (incoming_.has_refused()) {
      why_ = "the coordinator refused this host: " + incoming_.refused().reason();
      return false;
    }
    switch (stage_) {
      case Stage::kChallenge: return HandleChallenge();
      case Stage::kWelcome:
        if (!incoming_.has_welcome()) {
          why_ = "the coordinator did not welcome this host";
          return false;
        }
        stage_ = Stage::kOpen;
        events_.Push(LinkWelcome{incoming_.welcome()});
        return true;
      case Stage::kOpen:
        events_.Push(LinkMessage{std::exchange(incoming_, {})});
        return true;
    }
    return false;
  }

  bool HandleChallenge() {
    const control::Challenge& challenge = incoming_.challenge();
    const std::string expected = control::CoordinatorMac(secret_, control::kWorkerRole, host_,
                                                         nonce_, challenge.nonce());
    if (challenge.nonce().size() != control::kNonceBytes ||
        !control::SameMac(challenge.mac(), expected)) {
      why_ = "what answers in the coordinator's place does not know the job's secret";
      return false;
    }
    control::WorkerMessage message;
    message.mutable_proof()->set_mac(control::ClientMac(secret_, control::kWorkerRole, host_,
                                                        nonce_, challenge.nonce()));
    stage_ = Stage::kWelcome;
    Send(std::move(message));
    return true;
  }

  void End() {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(ended_, true)) RemoveHold();
  }

  void OnDone(const grpc::Status& status) override {
    // The first callback of a call that never got anywhere: what the constructor wrote is
    // seen by the lock, which Begin() took.
    const std::lock_guard lock(mutex_);
    if (why_.empty()) {
      why_ = "the stream to the coordinator ended";
      if (!status.ok()) why_ += ": " + status.error_message();
    }
    events_.Push(LinkBroken{why_});
    done_ = true;
    done_changed_.notify_all();
  }

  const std::string secret_;
  const int host_;
  const std::string nonce_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<control::Coordinator::Stub> stub_;
  grpc::ClientContext context_;
  Mailbox<LinkEvent> events_;
  control::CoordinatorMessage incoming_;
  Stage stage_ = Stage::kChallenge;
  std::string why_;

  std::mutex mutex_;
  std::deque<control::WorkerMessage> queue_;  // the front is being written
  bool idle_wanted_ = false;
  bool ended_ = false;  // the hold is given up
  bool done_ = false;
  std::condition_variable done_changed_;
};

CoordinatorLink::CoordinatorLink(const Options& options)
    : stream_(std::make_unique<Stream>(options)) {
  stream_->Begin();
}

CoordinatorLink::~CoordinatorLink() { stream_->Cancel(); }

int CoordinatorLink::event_fd() const { return stream_->event_fd(); }
std::vector<LinkEvent> CoordinatorLink::Take() { return stream_->Take(); }
void CoordinatorLink::Send(control::WorkerMessage message) { stream_->Send(std::move(message)); }
bool CoordinatorLink::idle() { return stream_->Idle(); }

}  // namespace reigen::worker
