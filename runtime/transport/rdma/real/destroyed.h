// What it means that an object of libibverbs could not be destroyed.
#ifndef REIGEN_RUNTIME_TRANSPORT_RDMA_REAL_DESTROYED_H_
#define REIGEN_RUNTIME_TRANSPORT_RDMA_REAL_DESTROYED_H_

namespace reigen::transport::rdma {

// `error`: what ibv_destroy_qp and its like returned. A device that was taken away (its
// driver unloaded, its card pulled) took its objects along, and says EIO for each: a
// warning, for nothing moves any more. All else ends the process: EBUSY is a bug of ours, for
// something still uses it; others are the device's (ETIMEDOUT: its firmware does not answer),
// which may still move bytes.
void CheckDestroyed(int error, const char* call);

}  // namespace reigen::transport::rdma

#endif  // REIGEN_RUNTIME_TRANSPORT_RDMA_REAL_DESTROYED_H_
