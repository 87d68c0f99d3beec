// Goal: the address that answers is found, and the one of this host that it was from.
// Method: listeners on loopback.
#include "worker/coordinator_link/reach.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <string>

#include "runtime/base/unique_fd.h"

namespace reigen::worker {
namespace {

struct Bound {
  UniqueFd socket;
  std::string address;
};

// 127.0.0.1 and a free port; with `listening`, one that answers.
Bound Bind(bool listening) {
  Bound bound{UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), ""};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(bind(bound.socket.get(), generic, size), 0);
  EXPECT_EQ(getsockname(bound.socket.get(), generic, &size), 0);
  if (listening) {
    EXPECT_EQ(listen(bound.socket.get(), 8), 0);
  }
  bound.address = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  return bound;
}

TEST(ReachTest, TheFirstAddressThatAnswersIsTaken) {
  const Bound dead = Bind(false), alive = Bind(true);
  const auto reached = ReachCoordinator(
      {.coordinator_addresses = {dead.address, alive.address}, .networks = {}, .host_name = "h"},
      Now() + seconds(10));
  ASSERT_TRUE(reached.ok()) << Message(reached.status());
  EXPECT_EQ(reached->coordinator, alive.address);
  EXPECT_EQ(reached->local_address, "127.0.0.1");
  EXPECT_NE(reached->reason.find("lo (127.0.0.1)"), std::string::npos) << reached->reason;
}

TEST(ReachTest, AChosenNetworkIsWhereTheConnectionComesFrom) {
  const Bound alive = Bind(true);
  const auto reached = ReachCoordinator(
      {.coordinator_addresses = {alive.address}, .networks = {"127.0.0.0/8"}, .host_name = "h"},
      Now() + seconds(10));
  ASSERT_TRUE(reached.ok()) << Message(reached.status());
  EXPECT_EQ(reached->local_address, "127.0.0.1");
}

TEST(ReachTest, ANetworkThatTheHostLacksIsNamed) {
  const auto reached = ReachCoordinator({.coordinator_addresses = {"127.0.0.1:1"},
                                         .networks = {"nosuch0"},
                                         .host_name = "node7"},
                                        Now() + seconds(10));
  ASSERT_FALSE(reached.ok());
  EXPECT_NE(Message(reached.status()).find("nosuch0"), std::string::npos);
  EXPECT_NE(Message(reached.status()).find("node7"), std::string::npos);
}

TEST(ReachTest, SilenceEndsAtTheDeadlineAndNamesTheAddresses) {
  const Bound dead = Bind(false);
  const auto reached = ReachCoordinator(
      {.coordinator_addresses = {dead.address}, .networks = {}, .host_name = "h"},
      Now() + milliseconds(250));
  EXPECT_EQ(reached.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_NE(Message(reached.status()).find(dead.address), std::string::npos);
}

TEST(ReachTest, GivesUpWhenTold) {
  const Bound dead = Bind(false);
  const UniqueFd stop(eventfd(1, EFD_CLOEXEC));
  const auto reached = ReachCoordinator({.coordinator_addresses = {dead.address},
                                         .networks = {},
                                         .host_name = "h",
                                         .stop_fd = stop.get()},
                                        Now() + seconds(60));
  EXPECT_EQ(reached.status().code(), StatusCode::kAborted);
}

}  // namespace
}  // namespace reigen::worker
