// A target with a planted fault: three bytes that only mutations of the seed reach.
// canary_test.py demands that the driver finds it.
#include "runtime/base/check.h"
#include "tests/fuzz/fuzz.h"

namespace reigen {

std::vector<std::string> FuzzSeeds() { return {"canary a", "canary b"}; }

}  // namespace reigen

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 8 && data[0] == 'c' && data[7] == 'b' && data[8] >= 0xf0) {
    REIGEN_CHECK(false, "the planted fault");
  }
  return 0;
}
