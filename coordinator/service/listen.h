// Binds the service to literal addresses, and to these only.
#ifndef REIGEN_COORDINATOR_SERVICE_LISTEN_H_
#define REIGEN_COORDINATOR_SERVICE_LISTEN_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace reigen::coordinator {

struct Listening {
  std::unique_ptr<grpc::Server> server;
  std::vector<std::string> addresses;  // "ADDRESS:PORT", "[V6]:PORT", in order
};

// `addresses` without port; the ports may differ. `port_range`: "FIRST-LAST", or
// empty for any port. An address that cannot be bound is an error that names it.
// The service outlives the server.
StatusOr<Listening> Listen(grpc::Service* service, const std::vector<std::string>& addresses,
                           const std::string& port_range);

// gRPC's own log lines become ours (debug).
void RouteGrpcLog();

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_SERVICE_LISTEN_H_
