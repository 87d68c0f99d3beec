// Which transport the links between hosts take, for people. Pure.
#ifndef REIGEN_COORDINATOR_CORE_LINK_TABLE_H_
#define REIGEN_COORDINATOR_CORE_LINK_TABLE_H_

#include <string>
#include <vector>

#include "coordinator/core/membership.h"

namespace reigen::coordinator {

struct LinkTable {
  // A link takes TCP, or there is none, though RDMA was to be taken where possible.
  bool warning = false;
  // A line for each pair of hosts, at most kMaxLinkLines: then those of hosts without RDMA
  // first, so that each of these (and why) is there.
  std::string text;
  // The first two that want RDMA and nothing else and cannot talk over it, and why; else
  // empty. A job of such hosts is refused.
  std::string refusal;
  int refused_host = -1;  // the later of them
};

// Of attached hosts, which say what they can and, if that is TCP alone against the
// job's wish, why: so a job falls back to TCP with one warning, not one on each host.
LinkTable DescribeLinks(const std::vector<HostMember>& hosts);

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_CORE_LINK_TABLE_H_
