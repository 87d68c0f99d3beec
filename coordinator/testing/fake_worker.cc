#include "coordinator/testing/fake_worker.h"

#include <grpcpp/grpcpp.h>

#include "proto/control/handshake.h"

namespace reigen::coordinator {
namespace {

constexpr std::chrono::seconds kPatience{30};

}  // namespace

FakeWorker::FakeWorker(const std::string& address, int host) : host_(host) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  stub_ = control::Coordinator::NewStub(
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  stream_ = stub_->Attach(&context_);
  reader_ = std::thread([this] { ReadAll(); });
}

FakeWorker::~FakeWorker() {
  Die();
  reader_.join();
}

void FakeWorker::Die() { context_.TryCancel(); }

void FakeWorker::ReadAll() {
  control::CoordinatorMessage message;
  while (stream_->Read(&message)) {
    std::lock_guard lock(mutex_);
    messages_.push_back(message);
    arrived_.notify_all();
  }
  std::lock_guard lock(mutex_);
  ended_ = true;
  arrived_.notify_all();
}

std::optional<control::CoordinatorMessage> FakeWorker::Receive() {
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, kPatience, [&] { return !messages_.empty() || ended_; });
  if (messages_.empty()) return std::nullopt;
  control::CoordinatorMessage message = std::move(messages_.front());
  messages_.pop_front();
  return message;
}

std::optional<control::Entry> FakeWorker::ReceiveEntry() {
  while (entries_.empty()) {
    const auto message = Receive();
    if (!message || !message->has_entries()) return std::nullopt;
    for (const control::Entry& entry : message->entries().entry()) entries_.push_back(entry);
  }
  control::Entry entry = std::move(entries_.front());
  entries_.pop_front();
  entries_seen_ = entry.has_epoch_begin() ? 1 : entries_seen_ + 1;
  return entry;
}

void FakeWorker::Send(const control::WorkerMessage& message) { (void)stream_->Write(message); }

std::optional<control::CoordinatorMessage> FakeWorker::Prove(const std::string& secret) {
  const std::string nonce = control::MakeNonce();
  control::WorkerMessage message;
  control::Hello& hello = *message.mutable_hello();
  hello.set_version(control::kVersion);
  hello.set_role(std::string(control::kWorkerRole));
  hello.set_host(host_);
  hello.set_nonce(nonce);
  Send(message);
  const auto reply = Receive();
  if (!reply || !reply->has_challenge()) return reply;
  control::WorkerMessage proof;
  proof.mutable_proof()->set_mac(control::ClientMac(secret, control::kWorkerRole, host_, nonce,
                                                    reply->challenge().nonce()));
  Send(proof);
  return Receive();
}

}  // namespace reigen::coordinator
