// Numbers and lists as findings write them. Pure.
#ifndef REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_PHRASES_H_
#define REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_PHRASES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace reigen::ctl {

bool Contains(const std::vector<std::string>& all, const std::string& one);
std::string Join(const std::vector<std::string>& words, const std::string& between = ", ");
std::string Bytes(uint64_t bytes);     // "64 KiB", "79.6 GiB"
std::string Gbits(double gbits_per_s);  // "100 Gbit/s", "2.5 Gbit/s"

}  // namespace reigen::ctl

#endif  // REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_PHRASES_H_
