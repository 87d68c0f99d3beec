// Variables of the environment that say what RDMA is to use. Pure: `lookup` knows them.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_VARIABLES_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_VARIABLES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/transport/rdma/choice.h"

namespace reigen::transport::rdma {

// The variable's value; none: it is not set.
using Lookup = std::function<std::optional<std::string>(const std::string& name)>;

// How links are run, beyond what they use.
struct Settings {
  uint8_t service_level = 0;
  uint8_t traffic_class = 0;
  std::optional<int> queues;  // none: the job's
  bool relaxed_ordering = true;
};

// The names of all variables that ReadVariables() asks for.
std::vector<std::string> VariableNames();

// All variables. Fills in what `wish` does not say yet:
//   REIGEN_RDMA_DEVICES     "mlx5_0,mlx5_1:2"
//   REIGEN_RDMA_GID_INDEX
//   REIGEN_RDMA_PKEY        partition, 0x8001 or 32769
//   REIGEN_RDMA_MTU         path MTU, 256-4096, at most the port's
// and `settings`:
//   REIGEN_RDMA_SERVICE_LEVEL     0-15
//   REIGEN_RDMA_TRAFFIC_CLASS     0-255
//   REIGEN_RDMA_QUEUES            queue pairs for data of a link, 1-15
//   REIGEN_RDMA_RELAXED_ORDERING  0: writes into memory are never reordered
// Numbers also as 0x...; an empty value says nothing.
// Errors: InvalidArgument: a value that is none, named with its variable.
Status ReadVariables(const Lookup& lookup, Wish* wish, Settings* settings);

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_VARIABLES_H_
