#include "coordinator/core/text.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace reigen::coordinator {

std::string NumberList(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (last < i + 2) last = i;
    if (!text.empty()) text += ',';
    text += std::to_string(numbers[i]);
    if (last > i) text += '-' + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

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
