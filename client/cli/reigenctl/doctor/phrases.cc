#include "client/cli/reigenctl/doctor/phrases.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <iterator>

namespace reigen::ctl {
namespace {

std::string Short(double value, const char* unit) {
  char text[64];
  const bool whole = value >= 100 || value == static_cast<double>(static_cast<int64_t>(value));
  std::snprintf(text, sizeof text, whole ? "%.0f %s" : "%.1f %s", value, unit);
  return text;
}

}  // namespace

bool Contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

std::string Join(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

std::string Bytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return Short(value, kUnits[unit]);
}

std::string Gbits(double gbits_per_s) {
  return gbits_per_s >= 1 ? Short(gbits_per_s, "Gbit/s") : Short(gbits_per_s * 1000, "Mbit/s");
}

}  // namespace reigen::ctl
