// The launcher's CoordinatorStart, checked once.
#ifndef REIGEN_COORDINATOR_CONFIG_H_
#define REIGEN_COORDINATOR_CONFIG_H_

#include "coordinator/service/coordinator.h"
#include "proto/launch/launch.pb.h"
#include "runtime/base/status.h"

namespace reigen::coordinator {

// Fields that are zero and must not be get their defaults.
StatusOr<Coordinator::Options> OptionsFrom(const launch::CoordinatorStart& start);

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_CONFIG_H_
