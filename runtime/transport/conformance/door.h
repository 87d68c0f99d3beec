// What every transport must do with those who call at its addresses: one suite, run over each
// by its own test (case C52).
#ifndef REIGEN_RUNTIME_TRANSPORT_CONFORMANCE_DOOR_H_
#define REIGEN_RUNTIME_TRANSPORT_CONFORMANCE_DOOR_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/transport/link.h"

namespace reigen::transport {

struct DoorCase {
  // Host 0 is "anna", host 1 "bert", of one job; its listeners are on loopback.
  using MakeHost = std::function<std::unique_ptr<Transport>(int host, const std::string& secret,
                                                            Duration connect_deadline)>;
  std::string scheme;
  std::function<MakeHost()> open;  // for each test
};
std::string DoorName(const testing::TestParamInfo<DoorCase>& info);

class DoorConformance : public testing::TestWithParam<DoorCase> {
 protected:
  void SetUp() override;
  void TearDown() override;

  const std::string& scheme() const { return GetParam().scheme; }
  void Create(int host, const std::string& secret = "secret",
              Duration connect_deadline = seconds(30));
  void KillHost(int host);
  void Connect(int host);
  void Step();
  bool StepUntil(const std::function<bool()>& done, Duration limit = seconds(10));
  std::optional<OpResult> Finish(int host);
  void ExpectWorks();  // a message passes between the two

  DoorCase::MakeHost make_;
  std::vector<std::byte> memory_[2] = {std::vector<std::byte>(5000), std::vector<std::byte>(5000)};
  std::unique_ptr<Transport> hosts_[2];
  std::unique_ptr<Region> regions_[2];
  std::unique_ptr<Link> links_[2];
  Duration ahead_{0};  // of the transports' clock
};

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_CONFORMANCE_DOOR_H_
