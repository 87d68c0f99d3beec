// Variables of the environment that say what RDMA is to use. Pure: `lookup` knows them.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_VARIABLES_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_VARIABLES_H_

#include <functional>
#include <optional>
#include <string>

#include "runtime/base/status.h"
#include "runtime/transport/rdma/choice.h"

namespace reigen::transport::rdma {

// The variable's value; none: it is not set.
using Lookup = std::function<std::optional<std::string>(const std::string& name)>;

// Fills in what `wish` does not say yet:
//   REIGEN_RDMA_DEVICES     "mlx5_0,mlx5_1:2"
//   REIGEN_RDMA_GID_INDEX
//   REIGEN_RDMA_PKEY        partition, 0x8001 or 32769
//   REIGEN_RDMA_MTU         path MTU, 256-4096, at most the port's
// Errors: InvalidArgument: a value that is none, named with its variable.
Status ReadWish(const Lookup& lookup, Wish* wish);

// A number from 0 to `most`, also as 0x...; `fallback` if the variable is not set.
StatusOr<int> ReadNumber(const Lookup& lookup, const std::string& name, int most, int fallback);

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_VARIABLES_H_
