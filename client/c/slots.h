// An operation as the records of the submission queue.
#ifndef REIGEN_CLIENT_C_SLOTS_H_
#define REIGEN_CLIENT_C_SLOTS_H_

#include <vector>

#include "client/c/operation.h"
#include "proto/local/local.h"

namespace reigen::sdk {

// Its names have ids and its payloads are in place.
std::vector<local::Slot> MakeSlots(Operation& operation);

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_SLOTS_H_
