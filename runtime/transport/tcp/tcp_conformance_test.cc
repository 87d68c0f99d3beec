// Goal: TCP links keep the contract of Link.
// Method: the conformance suite over loopback, IPv4 and IPv6, both hosts in one
// thread, sleeping on event_fd() and NextDeadline() as the worker does.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "runtime/transport/conformance/conformance.h"
#include "runtime/transport/conformance/door.h"
#include "runtime/transport/conformance/wait.h"
#include "runtime/transport/tcp/tcp_transport.h"

namespace reigen::transport {
namespace {

class TcpFabric : public Fabric {
 public:
  TcpFabric(const std::string& address, int channels) {
    for (int host : {0, 1}) {
      TcpOptions options;
      options.job = "job";
      options.secret = "secret";
      options.host = host;
      options.name = Name(host);
      options.bind_addresses = {address};
      options.channels = channels;
      auto transport = TcpTransport::Create(options);
      EXPECT_TRUE(transport.ok()) << transport.status().ToString();
      hosts_[host] = std::move(transport).value();
      addresses_[host] = hosts_[host]->addresses();
    }
  }
  Transport& transport(int host) override { return *hosts_[host]; }
  Peer peer(int host) override { return {host, Name(host), addresses_[host]}; }

  void Step() override {
    WaitAndProgress({hosts_[0].get(), hosts_[1].get()});
  }
  void KillHost(int host) override { hosts_[host].reset(); }

 private:
  static std::string Name(int host) { return host == 0 ? "anna" : "bert"; }

  std::unique_ptr<TcpTransport> hosts_[2];
  std::vector<std::string> addresses_[2];
};

FabricCase Case(const std::string& name, const std::string& address, int channels) {
  return {name, [=] { return std::make_unique<TcpFabric>(address, channels); }};
}

INSTANTIATE_TEST_SUITE_P(Tcp, LinkConformance,
                         testing::Values(Case("one_socket", "127.0.0.1", 1),
                                         Case("four_sockets", "127.0.0.1", 4),
                                         Case("v6", "::1", 2)),
                         FabricName);

std::unique_ptr<Transport> MakeHost(int host, const std::string& secret, Duration connect_deadline) {
  TcpOptions options;
  options.job = "job";
  options.secret = secret;
  options.host = host;
  options.name = host == 0 ? "anna" : "bert";
  options.bind_addresses = {"127.0.0.1"};
  options.connect_deadline = connect_deadline;
  return std::move(TcpTransport::Create(options)).value();
}

INSTANTIATE_TEST_SUITE_P(Tcp, DoorConformance,
                         testing::Values(DoorCase{"tcp", [] { return DoorCase::MakeHost(MakeHost); }}),
                         DoorName);

}  // namespace
}  // namespace reigen::transport
