// Runs a fuzz target without libFuzzer: seeds, then mutations of seeds and of what
// came of them.
//
// usage: x_fuzz_test [ITERATIONS [SEED]]     replays exactly; a fault prints its input
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <unistd.h>

#include "tests/fuzz/fuzz.h"

namespace {

constexpr uint64_t kIterations = 30000;
constexpr size_t kInputBytesAtMost = 4096;
constexpr size_t kPoolAtMost = 256;

std::string current;  // for the signal handler: the process has one thread

void ShowInput(int signal_number) {
  static const char kDigits[] = "0123456789abcdef";
  (void)!write(2, "\nfault on input ", 16);
  for (const char c : current) {
    const auto byte = static_cast<unsigned char>(c);
    const char hex[2] = {kDigits[byte >> 4], kDigits[byte & 15]};
    (void)!write(2, hex, 2);
  }
  (void)!write(2, "\n", 1);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

void Run(const std::string& input) {
  current = input;
  // A copy of exactly its size: a sanitizer sees a read past the end.
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

std::string Mutated(const std::vector<std::string>& pool, std::mt19937_64& random) {
  const auto below = [&random](size_t limit) { return limit == 0 ? 0 : random() % limit; };
  std::string input = pool[below(pool.size())];
  for (size_t i = 1 + below(4); i > 0; --i) {
    const size_t at = below(input.size());
    const size_t gap = below(input.size() + 1);  // where something may come in
    switch (below(7)) {
      case 0:  // one bit
        if (!input.empty()) input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
        break;
      case 1:  // one byte
        if (!input.empty()) input[at] = static_cast<char>(random());
        break;
      case 2:  // an extreme value
        if (!input.empty()) input[at] = below(2) == 0 ? '\0' : '\xff';
        break;
      case 3:
        input.insert(gap, 1 + below(8), static_cast<char>(random()));
        break;
      case 4:
        if (!input.empty()) input.erase(at, 1 + below(8));
        break;
      case 5: {  // a part of another
        const std::string& other = pool[below(pool.size())];
        input.insert(gap, other.substr(below(other.size()), below(64)));
        break;
      }
      default:  // something again
        input.insert(gap, input.substr(at, below(64)));
    }
  }
  return input.substr(0, kInputBytesAtMost);
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t iterations = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : kIterations;
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  for (int fault : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) signal(fault, ShowInput);
  std::mt19937_64 random(seed);

  std::vector<std::string> pool = reigen::FuzzSeeds();
  pool.emplace_back();
  for (const std::string& input : pool) Run(input);
  const size_t seeds = pool.size();
  for (uint64_t i = 0; i < iterations; ++i) {
    std::string input = Mutated(pool, random);
    Run(input);
    // Some are kept, so that mutations add up; the seeds stay.
    if (random() % 16 != 0) continue;
    if (pool.size() < kPoolAtMost) {
      pool.push_back(std::move(input));
    } else if (seeds < kPoolAtMost) {
      pool[seeds + random() % (kPoolAtMost - seeds)] = std::move(input);
    }
  }
  std::printf("%zu seeds and %llu mutations of them (seed %llu): no fault\n", seeds,
              static_cast<unsigned long long>(iterations), static_cast<unsigned long long>(seed));
}
