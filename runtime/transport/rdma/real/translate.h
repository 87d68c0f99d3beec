// Between libibverbs' types and ours.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_REAL_TRANSLATE_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_REAL_TRANSLATE_H_

#include <infiniband/verbs.h>

#include "runtime/base/status.h"
#include "runtime/transport/rdma/verbs_types.h"

namespace reigen::transport::rdma {

// FailedPrecondition: what it speaks is neither InfiniBand nor RoCE. Devices of EFA have no
// reliable connections; those of iWARP are connected in another way.
Status CheckProtocol(const ibv_device& device);

StatusOr<DeviceInfo> QueryDevice(ibv_context* context);
// Without its GIDs and PKeys.
PortInfo FromPort(uint8_t number, const ibv_port_attr& attributes);

WorkCompletion FromWorkCompletion(const ibv_wc& wc);
ibv_wr_opcode ToOpcode(Opcode opcode);
StatusOr<ibv_mtu> ToMtu(uint32_t bytes);
AsyncKind ToAsyncKind(ibv_event_type type);
int ToAccessFlags(Access access);

// Of a thing that could not be made.
StatusCode ToCode(int error);

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_REAL_TRANSLATE_H_
