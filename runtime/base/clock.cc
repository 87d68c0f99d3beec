#include "runtime/base/clock.h"

namespace reigen {

Time Now() { return Clock::now(); }

}  // namespace reigen
