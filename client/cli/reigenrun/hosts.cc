#include "client/cli/reigenrun/hosts.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cctype>
#include <map>
#include <sstream>
#include <system_error>

namespace reigen::run {
namespace {

bool IsIpv6(const std::string& text) {
  in6_addr address;
  return inet_pton(AF_INET6, text.substr(0, text.find('%')).c_str(), &address) == 1;
}

Status Bad(const std::string& part, const std::string& why) {
  return InvalidArgument("\"" + part + "\" is not a host: " + why);
}

StatusOr<int> ParseSlots(const std::string& part, const std::string& text) {
  int slots = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, slots);
  if (text.empty() || result.ec != std::errc() || result.ptr != end || slots < 1 ||
      slots > kMaxSlots) {
    return Bad(part, "\"" + text + "\" is not a number of slots (1 to " +
                         std::to_string(kMaxSlots) + ")");
  }
  return slots;
}

// A name that is safe as an argument of ssh: it cannot be taken for an option.
Status CheckName(const std::string& part, const std::string& name) {
  if (name.empty()) return Bad(part, "it has no name");
  if (name.front() == '-') return Bad(part, "a name does not begin with \"-\"");
  for (unsigned char c : name) {
    if (std::isalnum(c) == 0 && std::string("._-@").find(static_cast<char>(c)) == std::string::npos) {
      return Bad(part, std::string("\"") + static_cast<char>(c) + "\" does not belong in a name");
    }
  }
  return OkStatus();
}

// "NAME", "NAME:SLOTS", "[V6]", "[V6]:SLOTS".
StatusOr<HostEntry> ParseEntry(const std::string& part) {
  HostEntry entry;
  size_t name_end;
  if (part.starts_with("[")) {
    const size_t close = part.find(']');
    if (close == std::string::npos) return Bad(part, "\"]\" is missing");
    entry.name = part.substr(1, close - 1);
    if (!IsIpv6(entry.name)) return Bad(part, "no IPv6 address in the brackets");
    name_end = close + 1;
    if (name_end < part.size() && part[name_end] != ':') return Bad(part, "\":\" expected after \"]\"");
  } else {
    name_end = std::min(part.find(':'), part.size());
    entry.name = part.substr(0, name_end);
    if (std::count(part.begin(), part.end(), ':') > 1) {
      return Bad(part, IsIpv6(part) ? "an IPv6 address goes in brackets, as in [" + part + "]:2"
                                    : "it has more than one \":\"");
    }
    REIGEN_RETURN_IF_ERROR(CheckName(part, entry.name));
  }
  if (name_end < part.size()) {
    REIGEN_ASSIGN_OR_RETURN(entry.slots, ParseSlots(part, part.substr(name_end + 1)));
  }
  return entry;
}

Status CheckNoneTwice(const std::vector<HostEntry>& hosts) {
  std::map<std::string, int> seen;
  for (const HostEntry& h : hosts) {
    if (++seen[h.name] > 1) {
      return InvalidArgument("host \"" + h.name + "\" is listed twice: give it once, with the sum"
                             " of its slots");
    }
  }
  return OkStatus();
}

// A line of a hostfile, already without its comment; `words` is not empty.
StatusOr<HostEntry> ParseLine(const std::vector<std::string>& words) {
  REIGEN_ASSIGN_OR_RETURN(HostEntry entry, ParseEntry(words[0]));
  for (size_t i = 1; i < words.size(); ++i) {
    if (!words[i].starts_with("slots=")) {
      return InvalidArgument("\"" + words[i] + "\" is not understood (after the host: slots=N)");
    }
    REIGEN_ASSIGN_OR_RETURN(entry.slots, ParseSlots(words[i], words[i].substr(6)));
  }
  return entry;
}

}  // namespace

StatusOr<std::vector<HostEntry>> ParseHostList(const std::string& text) {
  std::vector<HostEntry> hosts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    REIGEN_ASSIGN_OR_RETURN(const HostEntry entry, ParseEntry(text.substr(begin, end - begin)));
    hosts.push_back(entry);
    begin = end + 1;
  }
  REIGEN_RETURN_IF_ERROR(CheckNoneTwice(hosts));
  return hosts;
}

StatusOr<std::vector<HostEntry>> ParseHostfile(const std::string& text) {
  std::vector<HostEntry> hosts;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words_in(line.substr(0, line.find('#')));
    std::vector<std::string> words;
    for (std::string word; words_in >> word;) words.push_back(word);
    if (words.empty()) continue;
    StatusOr<HostEntry> entry = ParseLine(words);
    if (!entry.ok()) return Annotate(entry.status(), "line " + std::to_string(number));
    hosts.push_back(*entry);
  }
  if (hosts.empty()) return InvalidArgument("no host in it");
  REIGEN_RETURN_IF_ERROR(CheckNoneTwice(hosts));
  return hosts;
}

StatusOr<std::vector<PlacedHost>> PlaceRanks(const std::vector<HostEntry>& hosts, int np) {
  if (hosts.empty()) return PlaceRanks({{"localhost", std::max(np, 1)}}, np);
  int total = 0;
  std::string listed;
  for (const HostEntry& h : hosts) {
    total += h.slots;
    listed += (listed.empty() ? "" : ", ") + h.name + ": " + std::to_string(h.slots);
  }
  const int size = np == 0 ? total : np;
  if (size > total) {
    return InvalidArgument("-np " + std::to_string(np) + " needs as many slots; there are " +
                           std::to_string(total) + " (" + listed + ")");
  }
  std::vector<PlacedHost> placed;
  int rank = 0;
  for (const HostEntry& h : hosts) {
    if (rank == size) break;
    PlacedHost p{h.name, h.slots, {}, {}, {}};
    for (int i = 0; i < h.slots && rank < size; ++i) p.ranks.push_back(rank++);
    placed.push_back(p);
  }
  for (size_t h = 0; h < placed.size(); ++h) {
    for (size_t local = 0; local < placed[h].ranks.size(); ++local) {
      const auto has_it = [&](const PlacedHost& p) { return p.ranks.size() > local; };
      placed[h].cross_ranks.push_back(
          static_cast<int>(std::count_if(placed.begin(), placed.begin() + h, has_it)));
      placed[h].cross_sizes.push_back(
          static_cast<int>(std::count_if(placed.begin(), placed.end(), has_it)));
    }
  }
  return placed;
}

}  // namespace reigen::run
