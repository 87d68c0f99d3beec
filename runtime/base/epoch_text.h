// An epoch as people read it, in errors, logs and status.
#ifndef REIGEN_RUNTIME_BASE_EPOCH_TEXT_H_
#define REIGEN_RUNTIME_BASE_EPOCH_TEXT_H_

#include <string>

#include "runtime/base/collective_id.h"

namespace reigen {

// "1.2": the coordinator's incarnation, then the counter.
std::string EpochText(Epoch epoch);

}  // namespace reigen

#endif  // REIGEN_RUNTIME_BASE_EPOCH_TEXT_H_
