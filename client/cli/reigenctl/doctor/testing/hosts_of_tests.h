// Facts of hosts for tests: one on which everything is well, to be changed.
#ifndef REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_TESTING_HOSTS_OF_TESTS_H_
#define REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_TESTING_HOSTS_OF_TESTS_H_

#include <string>
#include <vector>

#include "client/cli/reigenctl/doctor/findings.h"
#include "runtime/probe/facts.h"

namespace reigen::ctl {

// One network card, neither RDMA nor GPU.
probe::HostFacts PlainHost();

// Below one switch: an RDMA device with an address of the network, and a GPU.
probe::HostFacts GpuHost();

// An RDMA device with one port: active, 100 Gbit/s, RoCE v2 with the address.
probe::RdmaDeviceFacts GoodDevice(const std::string& name, const std::string& address);

Wishes PlainWishes();  // 64 MiB to be locked

// The last finding of that subject; null: there is none.
const Finding* FindFinding(const Report& report, const std::string& area,
                           const std::string& subject);
std::vector<std::string> SubjectsOf(const Report& report, Level level);

}  // namespace reigen::ctl

#endif  // REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_TESTING_HOSTS_OF_TESTS_H_
