#include "runtime/transport/rdma/real/destroyed.h"

#include <cerrno>
#include <cstring>

#include "runtime/base/check.h"
#include "runtime/base/log.h"

namespace reigen::transport::rdma {

void CheckDestroyed(int error, const char* call) {
  if (error == EIO) {
    REIGEN_WARN("rdma: {}: the device has gone", call);
    return;
  }
  if (error != 0) REIGEN_ERROR("rdma: {}: {}", call, std::strerror(error));
  REIGEN_CHECK(error != EBUSY, "something still uses it");
  // It may still move bytes; the end of the process takes all from it.
  REIGEN_CHECK(error == 0, "the device does not give it back");
}

}  // namespace reigen::transport::rdma
