// What the peers' programs share, so that all of them measure as reigen-perf does:
// in place, float32 sum, the median over iterations of the slowest rank's time.
#ifndef REIGEN_TESTS_BENCH_TIMING_H_
#define REIGEN_TESTS_BENCH_TIMING_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace reigen::bench {

struct Point {
  size_t bytes = 0;
  int iterations = 0;
};

// "4:1000,65536:200": sizes and how often each is timed.
inline std::vector<Point> ParsePoints(const std::string& text) {
  std::vector<Point> points;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const size_t colon = word.find(':');
    points.push_back({std::stoul(word.substr(0, colon)), std::stoi(word.substr(colon + 1))});
    begin = end + 1;
  }
  return points;
}

inline int WarmupIterations(const Point& point) { return std::max(2, point.iterations / 10); }

template <typename Run>
double SecondsOf(Run run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// One line of JSON; `seconds` is already the maximum over ranks.
inline void Print(const Point& point, std::vector<double> seconds, bool right) {
  std::sort(seconds.begin(), seconds.end());
  std::printf("{\"bytes\": %zu, \"seconds\": %.9f, \"right\": %s}\n", point.bytes,
              seconds[seconds.size() / 2], right ? "true" : "false");
  std::fflush(stdout);
}

}  // namespace reigen::bench

#endif  // REIGEN_TESTS_BENCH_TIMING_H_
