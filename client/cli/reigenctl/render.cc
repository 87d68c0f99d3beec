#include "client/cli/reigenctl/render.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/epoch_text.h"
#include "runtime/base/number_list.h"

namespace reigen::ctl {
namespace {

using Row = std::vector<std::string>;

std::string SecondsText(double seconds) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

std::string Ranks(const google::protobuf::RepeatedField<int32_t>& ranks) {
  return NumberList({ranks.begin(), ranks.end()});
}

// "3 hosts", "1 host".
std::string Count(uint64_t count, const std::string& thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

std::string EpochOrNone(uint64_t epoch) {
  return epoch == 0 ? "no epoch yet" : "epoch " + EpochText(epoch);
}

// Columns as wide as their longest cell, two spaces between.
std::string Table(const std::vector<Row>& rows) {
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line = " ";
    for (size_t i = 0; i < row.size(); ++i) {
      line += " " + row[i] + std::string(widths[i] - row[i].size() + 1, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string JoinStrings(const google::protobuf::RepeatedPtrField<std::string>& strings) {
  std::string text;
  for (const std::string& s : strings) text += (text.empty() ? "" : ", ") + s;
  return text;
}

std::string HostTable(const control::JobStatus& status) {
  std::vector<Row> rows = {{"host", "name", "ranks", "worker", "links", "network"}};
  for (const control::HostStatus& host : status.hosts()) {
    rows.push_back({std::to_string(host.host()), host.name(), Ranks(host.ranks()),
                    host.attached()
                        ? "heard of " + SecondsText(host.heartbeat_age_seconds()) + " ago"
                        : "not attached",
                    JoinStrings(host.link_addresses()), host.network_reason()});
  }
  return Table(rows);
}

// Ranks of a host in the same state stand in one line.
std::string RankTable(const control::JobStatus& status) {
  struct Line {
    std::vector<int> ranks;
    double least = 0;
  };
  std::map<std::pair<int, std::string>, Line> lines;
  for (const control::RankStatus& rank : status.ranks()) {
    std::string state = rank.state();
    if (state == "ended") state += " with code " + std::to_string(rank.code());
    Line& line = lines[{rank.host(), state}];
    line.least = line.ranks.empty() ? rank.state_seconds()
                                    : std::min(line.least, rank.state_seconds());
    line.ranks.push_back(rank.rank());
  }
  std::vector<Row> rows = {{"ranks", "host", "state", "since"}};
  for (const auto& [key, line] : lines) {
    rows.push_back({NumberList(line.ranks), std::to_string(key.first), key.second,
                    SecondsText(line.least) + " ago"});
  }
  return Table(rows);
}

// "rank 3", "ranks 1,2"
std::string CountedRanks(const google::protobuf::RepeatedField<int32_t>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + Ranks(ranks);
}

std::string AwaitedText(const control::JobStatus& status) {
  if (status.awaited_size() == 0) return "  nothing is awaited\n";
  std::string text;
  for (const control::AwaitedStatus& awaited : status.awaited()) {
    text += "  " + awaited.name() + ": awaited for " + SecondsText(awaited.seconds()) +
            " from " + CountedRanks(awaited.missing_ranks()) + " on " +
            JoinStrings(awaited.missing_hosts()) + " (" + awaited.why() + "); " +
            CountedRanks(awaited.have_ranks()) +
            (awaited.have_ranks_size() == 1 ? " has it\n" : " have it\n");
  }
  return text;
}

}  // namespace

std::string StatusText(const control::JobStatus& status) {
  return "job " + status.job() + ": " + status.state() + "\n  " + EpochOrNone(status.epoch()) +
         ", " + Count(status.hosts_size(), "host") + ", " + Count(status.ranks_size(), "rank") +
         ", " + Count(status.plans(), "plan") + ", " + Count(status.failures(), "failed request") +
         "\n\n" + HostTable(status) + "\n" + RankTable(status) + "\n" + AwaitedText(status);
}

nlohmann::ordered_json StatusJson(const control::JobStatus& status) {
  using Json = nlohmann::ordered_json;
  const auto list = [](const auto& values) { return Json(std::vector(values.begin(), values.end())); };
  Json hosts = Json::array(), ranks = Json::array(), awaited = Json::array();
  for (const control::HostStatus& host : status.hosts()) {
    hosts.push_back({{"host", host.host()},
                     {"name", host.name()},
                     {"attached", host.attached()},
                     {"heartbeat_age_seconds", host.heartbeat_age_seconds()},
                     {"ranks", list(host.ranks())},
                     {"link_addresses", list(host.link_addresses())},
                     {"network_reason", host.network_reason()}});
  }
  for (const control::RankStatus& rank : status.ranks()) {
    ranks.push_back({{"rank", rank.rank()},
                     {"host", rank.host()},
                     {"state", rank.state()},
                     {"state_seconds", rank.state_seconds()},
                     {"code", rank.code()}});
  }
  for (const control::AwaitedStatus& a : status.awaited()) {
    awaited.push_back({{"name", a.name()},
                       {"have_ranks", list(a.have_ranks())},
                       {"missing_ranks", list(a.missing_ranks())},
                       {"missing_hosts", list(a.missing_hosts())},
                       {"seconds", a.seconds()},
                       {"why", a.why()}});
  }
  const Json epoch = status.epoch() == 0 ? Json(nullptr) : Json(EpochText(status.epoch()));
  return {{"job", status.job()},     {"state", status.state()},       {"epoch", epoch},
          {"plans", status.plans()}, {"failures", status.failures()}, {"hosts", hosts},
          {"ranks", ranks},          {"awaited", awaited}};
}

}  // namespace reigen::ctl
