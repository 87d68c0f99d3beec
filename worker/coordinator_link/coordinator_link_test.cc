// Goal: the stream opens only between two that know the secret, keeps order, and its
// end comes with a reason.
// Method: a small coordinator in the same process, over loopback.
#include "worker/coordinator_link/coordinator_link.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "proto/control/control.grpc.pb.h"
#include "proto/control/handshake.h"

namespace reigen::worker {
namespace {

// Welcomes one that knows `secret`; answers each heartbeat with an Entries of the
// number seen, and ends at Finished.
class SmallCoordinator : public control::Coordinator::Service {
 public:
  explicit SmallCoordinator(std::string secret) : secret_(std::move(secret)) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
  }
  ~SmallCoordinator() override { server_->Shutdown(std::chrono::system_clock::now()); }

  const std::string& address() const { return address_; }

  grpc::Status Attach(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<control::CoordinatorMessage, control::WorkerMessage>* stream)
      override {
    control::WorkerMessage in;
    control::CoordinatorMessage out;
    if (!stream->Read(&in)) return grpc::Status::OK;
    const control::Hello hello = in.hello();
    const std::string nonce = control::MakeNonce();
    out.mutable_challenge()->set_nonce(nonce);
    out.mutable_challenge()->set_mac(
        control::CoordinatorMac(secret_, hello.role(), hello.host(), hello.nonce(), nonce));
    stream->Write(out);
    if (!stream->Read(&in)) return grpc::Status::OK;
    if (!control::SameMac(in.proof().mac(), control::ClientMac(secret_, hello.role(), hello.host(),
                                                               hello.nonce(), nonce))) {
      out.mutable_refused()->set_reason("wrong proof");
      stream->Write(out);
      return grpc::Status::OK;
    }
    out.mutable_welcome()->set_incarnation(1);
    stream->Write(out);
    while (stream->Read(&in) && !in.has_finished()) {
      out.mutable_entries()->set_first_entry(in.heartbeat().entries_seen());
      stream->Write(out);
    }
    return grpc::Status::OK;
  }

 private:
  const std::string secret_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

class CoordinatorLinkTest : public testing::Test {
 protected:
  // The next events; none: too late.
  static std::vector<LinkEvent> Take(CoordinatorLink& link) {
    pollfd ready{link.event_fd(), POLLIN, 0};
    poll(&ready, 1, 10000);
    return link.Take();
  }
  static std::string ReasonOfEnd(CoordinatorLink& link) {
    while (true) {
      const auto events = Take(link);
      if (events.empty()) return "too late";
      for (const LinkEvent& event : events) {
        if (const auto* broken = std::get_if<LinkBroken>(&event)) return broken->reason;
      }
    }
  }
};

TEST_F(CoordinatorLinkTest, OpensAndKeepsTheOrderOfMessages) {
  SmallCoordinator coordinator("secret");
  CoordinatorLink link({.address = coordinator.address(), .secret = "secret", .host = 3});
  auto events = Take(link);
  ASSERT_EQ(events.size(), 1u);
  ASSERT_TRUE(std::holds_alternative<LinkWelcome>(events[0]));
  for (uint64_t i = 0; i < 100; ++i) {
    control::WorkerMessage message;
    message.mutable_heartbeat()->set_entries_seen(i);
    link.Send(std::move(message));
  }
  bool idle = link.idle();
  uint64_t next = 0;
  while (next < 100 || !idle) {
    events = Take(link);
    ASSERT_FALSE(events.empty());
    for (const LinkEvent& event : events) {
      if (std::holds_alternative<LinkIdle>(event)) {
        idle = true;
        continue;
      }
      ASSERT_TRUE(std::holds_alternative<LinkMessage>(event));
      EXPECT_EQ(std::get<LinkMessage>(event).message.entries().first_entry(), next++);
    }
  }
  EXPECT_TRUE(link.idle());
  control::WorkerMessage finished;
  finished.mutable_finished();
  link.Send(std::move(finished));
  EXPECT_EQ(ReasonOfEnd(link), "the stream to the coordinator ended");
}

TEST_F(CoordinatorLinkTest, DoesNotTalkToWhoDoesNotKnowTheSecret) {
  SmallCoordinator coordinator("another");
  CoordinatorLink link({.address = coordinator.address(), .secret = "secret", .host = 3});
  EXPECT_NE(ReasonOfEnd(link).find("does not know the job's secret"), std::string::npos);
}

TEST_F(CoordinatorLinkTest, NobodyThereIsTheEndWithAReason) {
  CoordinatorLink link({.address = "127.0.0.1:1", .secret = "secret", .host = 3});
  EXPECT_NE(ReasonOfEnd(link).find("the stream to the coordinator ended"), std::string::npos);
}

TEST_F(CoordinatorLinkTest, CanBeDroppedAtAnyTime) {
  SmallCoordinator coordinator("secret");
  for (int i = 0; i < 20; ++i) {
    CoordinatorLink link({.address = coordinator.address(), .secret = "secret", .host = 3});
    if (i % 2 == 0) Take(link);
  }
}

}  // namespace
}  // namespace reigen::worker
