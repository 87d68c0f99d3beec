#include "client/cli/reigenrun/local_host.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reigen::run {
namespace {

const ThisMachine kMachine{{"localhost", "alpha", "alpha.lab"}, {"10.0.0.1", "fd00::1"}};

std::vector<std::string> Table(const std::string& name) {
  if (name == "alias") return {"fd00::1", "10.0.0.1"};
  if (name == "shared") return {"10.0.0.1", "10.0.0.2"};
  if (name == "beta") return {"10.0.0.2"};
  return {};
}

TEST(IsThisMachineTest, KnowsItsNamesAndAddresses) {
  for (const char* host : {"localhost", "alpha", "alpha.lab", "127.0.0.1", "127.0.0.7", "::1",
                           "10.0.0.1", "fd00::1", "alias"}) {
    EXPECT_TRUE(IsThisMachine(host, kMachine, Table)) << host;
  }
}

TEST(IsThisMachineTest, OthersAreNot) {
  for (const char* host : {"beta", "10.0.0.2", "fd00::2", "unknown", "shared", "me@localhost"}) {
    EXPECT_FALSE(IsThisMachine(host, kMachine, Table)) << host;
  }
}

}  // namespace
}  // namespace reigen::run
