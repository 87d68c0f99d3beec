// What every transport must do: one suite, run over each by its own test.
//
//   INSTANTIATE_TEST_SUITE_P(Tcp, LinkConformance, testing::Values(FabricCase{...}));
#ifndef REIGEN_RUNTIME_TRANSPORT_CONFORMANCE_CONFORMANCE_H_
#define REIGEN_RUNTIME_TRANSPORT_CONFORMANCE_CONFORMANCE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/transport/conformance/fabric.h"
#include "runtime/transport/link.h"

namespace reigen::transport {

struct FabricCase {
  std::string name;
  std::function<std::unique_ptr<Fabric>()> make;
  bool eager = true;  // short sends may end without a receive
};
std::string FabricName(const testing::TestParamInfo<FabricCase>& info);

class LinkConformance : public testing::TestWithParam<FabricCase> {
 protected:
  static constexpr int kStepsAtMost = 200000;

  void SetUp() override;
  void TearDown() override;

  void ConnectBoth();
  void ConnectAndUseBoth();  // until a message has passed
  // Memory of the test, registered with both hosts.
  std::span<std::byte> Buffer(size_t bytes);
  std::span<std::byte> Filled(size_t bytes, uint64_t seed);
  static void ExpectFilled(std::span<const std::byte> data, uint64_t seed);

  // Steps until `done`; false if it never is.
  bool StepUntil(const std::function<bool()>& done);
  // Takes completions of `host` into results_, and checks that each comes once.
  void PollAll(int host);
  // How the post with this cookie ended; waits for it.
  std::optional<OpResult> Result(int host, uint64_t cookie);
  // Nothing more comes, for a while.
  void ExpectQuiet();

  std::unique_ptr<Fabric> fabric_;
  std::unique_ptr<Link> links_[2];
  std::map<uint64_t, OpResult> results_[2];

 private:
  std::vector<std::vector<std::byte>> memory_;
  std::vector<std::unique_ptr<Region>> regions_;
};

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_CONFORMANCE_CONFORMANCE_H_
