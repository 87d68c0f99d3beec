// The list of hosts, from -H or a hostfile, and who gets which ranks. Pure.
#ifndef REIGEN_CLIENT_CLI_REIGENRUN_HOSTS_H_
#define REIGEN_CLIENT_CLI_REIGENRUN_HOSTS_H_

#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace reigen::run {

struct HostEntry {
  std::string name;  // without brackets; may be USER@NAME
  int slots = 1;
};

// Most ranks of one host: beyond it a number is a typing error.
inline constexpr int kMaxSlots = 4096;

// "a:2,b,[fe80::1%eth0]:2". A host without a number has one slot. A part that is
// no host is InvalidArgument and shown.
StatusOr<std::vector<HostEntry>> ParseHostList(const std::string& text);

// One host a line: "a", "a:2" or "a slots=2"; blank lines and comments (#) are
// skipped. Errors name the line.
StatusOr<std::vector<HostEntry>> ParseHostfile(const std::string& text);

// A host with its ranks. The numbers in the job count the hosts that got any.
struct PlacedHost {
  std::string name;
  int slots = 0;
  std::vector<int> ranks;
  std::vector<int> cross_ranks;  // per local rank: among the hosts that have it
  std::vector<int> cross_sizes;
};

// Fills the hosts in order. np = 0: as many ranks as there are slots. No hosts:
// `np` ranks (or one) on localhost.
StatusOr<std::vector<PlacedHost>> PlaceRanks(const std::vector<HostEntry>& hosts, int np);

}  // namespace reigen::run

#endif  // REIGEN_CLIENT_CLI_REIGENRUN_HOSTS_H_
