#include "coordinator/core/text.h"

#include <charconv>
#include <cstdio>

#include "runtime/base/number_list.h"

namespace reigen::coordinator {

std::string RankText(const std::vector<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + NumberList(ranks);
}

std::string NumberText(double value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value);
  return std::string(text, end.ptr);
}

std::string SecondsText(Duration duration) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f s", ToSeconds(duration));
  return text;
}

std::string Shortened(std::string text, size_t bytes) {
  if (text.size() > bytes) {
    text.resize(bytes - 3);
    text += "...";
  }
  return text;
}

}  // namespace reigen::coordinator
