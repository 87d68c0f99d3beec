// What a fuzz target has in common: two functions, and a reader for its input.
//
// A target runs as an ordinary test (driver.cc: its seeds, then mutations of them,
// a fixed number from a fixed seed) and, with clang and --config=fuzz, under
// libFuzzer. It finds fault by REIGEN_CHECK, a sanitizer or a crash.
#ifndef REIGEN_TESTS_FUZZ_FUZZ_H_
#define REIGEN_TESTS_FUZZ_FUZZ_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace reigen {

// Inputs to begin with: well-formed ones reach deeper than random bytes.
std::vector<std::string> FuzzSeeds();

// Takes numbers from the input; zeros once it is used up.
class FuzzInput {
 public:
  FuzzInput(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  bool empty() const { return left_ == 0; }
  uint8_t Byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  uint32_t Below(uint32_t limit) { return Byte() % limit; }
  std::string Bytes(size_t count) {
    std::string bytes;
    for (size_t i = 0; i < count; ++i) bytes += static_cast<char>(Byte());
    return bytes;
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

}  // namespace reigen

#endif  // REIGEN_TESTS_FUZZ_FUZZ_H_
