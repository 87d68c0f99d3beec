/* Reigen's client SDK, C interface (libreigen.so).
 *
 * Conventions
 *  1. Functions return a reigen_status; 0 is success. reigen_last_error() has the
 *     text of the calling thread's last failure, which names tensor, ranks, values.
 *  2. All functions may be called from any thread. None of them throws.
 *  3. A tensor's memory is the library's from the start of an operation until its
 *     handle is done (reigen_wait or reigen_poll said so): it must stay valid and
 *     unchanged. `input` and `output` may be the same pointer (in place).
 *  4. Every handle is released once: by reigen_release, also after a failure.
 *  5. Structs begin with struct_size = sizeof(struct): fields may be added at the
 *     end in later versions, none is moved. Enum values never change.
 *  6. In a child after fork() every call fails with REIGEN_FAILED_PRECONDITION
 *     ("forked process") and does the parent no harm.
 *  7. Names: ranks meet by name, and a name may be pending once per rank. What the
 *     worker sees is "<op>.<name>" (allreduce.x), "<op>.noname.<n>" where there is
 *     none (n counts per op from init on, so ranks must start such operations in
 *     one order), and "<group>_<i>of<n>" for nameless members of a group. At most
 *     4096 bytes, UTF-8.
 *  8. An output whose elements overlap in memory (a stride of 0, sliding windows)
 *     is REIGEN_INVALID_ARGUMENT. Every other layout is handled, by a copy.
 *  9. CUDA tensors: input and output are device addresses, all tensors of a group lie
 *     on one device and have one stream. What was put on the stream before the
 *     operation is waited for, without blocking the caller. When reigen_wait or
 *     reigen_poll saw the end, work put on the stream from then on sees the result;
 *     other streams have to wait for that one, or the caller takes
 *     reigen_wait_delivered. The stream must live until reigen_wait or reigen_poll
 *     saw the end: reigen_wait_delivered and reigen_release do not use it. 2 (the
 *     per-thread default stream) is in each call that of the calling thread. Strides:
 *     any to be read; an output has its elements without gaps (dimensions in any order).
 *     Memory and streams are those of the device's primary context.
 *
 * Outside a launcher (no REIGEN_SOCKET in the environment) init makes a job of
 * size 1 without daemons.
 */
#ifndef REIGEN_H_
#define REIGEN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REIGEN_API __attribute__((visibility("default")))

typedef enum reigen_status {
  REIGEN_OK = 0,
  REIGEN_INVALID_ARGUMENT = 1,
  REIGEN_FAILED_PRECONDITION = 2, /* ranks disagree, a rank has left, not initialised */
  REIGEN_ABORTED = 3,             /* the job ended, or shutdown came first */
  REIGEN_RESOURCE_EXHAUSTED = 4,
  REIGEN_UNAVAILABLE = 5,         /* worker or coordinator lost */
  REIGEN_INTERNAL = 6,
  REIGEN_INTERRUPTED = 7,         /* reigen_wait: a signal came; call again */
  REIGEN_TIMEOUT = 8              /* reigen_wait: not done yet; call again */
} reigen_status;

typedef enum reigen_dtype {
  REIGEN_UINT8 = 0,
  REIGEN_INT8 = 1,
  REIGEN_INT16 = 2,
  REIGEN_INT32 = 3,
  REIGEN_INT64 = 4,
  REIGEN_FLOAT16 = 5,
  REIGEN_BFLOAT16 = 6,
  REIGEN_FLOAT32 = 7,
  REIGEN_FLOAT64 = 8,
  REIGEN_BOOL = 9
} reigen_dtype;

typedef enum reigen_device_kind { REIGEN_HOST = 0, REIGEN_CUDA = 1 } reigen_device_kind;

typedef enum reigen_op {
  REIGEN_AVERAGE = 0,
  REIGEN_SUM = 1,
  REIGEN_MIN = 3,
  REIGEN_MAX = 4,
  REIGEN_PRODUCT = 5
} reigen_op;

/* One started operation; 0 is none. Opaque. */
typedef uint64_t reigen_handle;

/* One tensor of an operation. */
typedef struct reigen_tensor {
  size_t struct_size;
  const char* name;             /* see "Names"; NULL: it has none of its own */
  const void* input;            /* may be NULL when it has no elements */
  void* output;                 /* where the result goes; may be == input */
  int32_t dtype;                /* reigen_dtype */
  int32_t ndim;                 /* 0: a scalar */
  const int64_t* shape;         /* ndim entries, >= 0 */
  const int64_t* input_strides; /* ndim entries, in bytes, any sign; NULL: C-contiguous */
  const int64_t* output_strides;
  int32_t device_kind;          /* reigen_device_kind */
  int32_t device;               /* CUDA: ordinal among the visible ones; -1: whose memory it is */
  uintptr_t stream;             /* CUDA: a CUstream; 0: the legacy default stream. See 9 */
} reigen_tensor;

typedef struct reigen_allreduce_options {
  size_t struct_size;
  int32_t op;        /* reigen_op */
  int32_t process_set; /* 0: all ranks */
  double prescale;   /* each input times this, before the reduction */
  double postscale;  /* the result times this */
} reigen_allreduce_options;

typedef struct reigen_broadcast_options {
  size_t struct_size;
  int32_t root_rank;   /* global rank */
  int32_t process_set; /* 0: all ranks */
} reigen_broadcast_options;

/* --- life ---------------------------------------------------------------------- */

/* Joins the job; returns once every rank has called it. Does nothing when already
 * initialised. Reads the environment anew at each call. Returns REIGEN_INTERRUPTED
 * when a signal handler ran in this thread: call again to go on waiting. */
REIGEN_API reigen_status reigen_init(void);
/* Leaves the job; pending operations end with REIGEN_ABORTED. Idempotent. Also
 * registered with atexit. reigen_init may be called again. */
REIGEN_API reigen_status reigen_shutdown(void);
REIGEN_API int32_t reigen_is_initialized(void);

/* >= 0, or -REIGEN_FAILED_PRECONDITION when not initialised. */
REIGEN_API int32_t reigen_rank(void);
REIGEN_API int32_t reigen_size(void);
REIGEN_API int32_t reigen_local_rank(void);
REIGEN_API int32_t reigen_local_size(void);
REIGEN_API int32_t reigen_cross_rank(void);
REIGEN_API int32_t reigen_cross_size(void);

/* The calling thread's last failure; "" if none. Valid until its next call. */
REIGEN_API const char* reigen_last_error(void);
/* "0.1.0" */
REIGEN_API const char* reigen_version(void);

/* --- operations ------------------------------------------------------------------ */

/* Element-wise reduction over all ranks of `count` tensors that start, fail and end
 * together (a group of one is a single tensor). `name` is the group's; with count 1
 * NULL means the tensor's own. Shapes, dtypes, op and scales must agree between ranks
 * or all of them get REIGEN_FAILED_PRECONDITION. *handle is set on success only. */
REIGEN_API reigen_status reigen_allreduce_async(const char* name, const reigen_tensor* tensors,
                                                size_t count,
                                                const reigen_allreduce_options* options,
                                                reigen_handle* handle);
/* Copies root_rank's tensors to all ranks. On the root `input` is read; `output` is
 * written on every rank (may be == input on the root). */
REIGEN_API reigen_status reigen_broadcast_async(const char* name, const reigen_tensor* tensors,
                                                size_t count,
                                                const reigen_broadcast_options* options,
                                                reigen_handle* handle);
/* Done once every rank has started one. */
REIGEN_API reigen_status reigen_barrier_async(int32_t process_set, reigen_handle* handle);

/* --- handles ---------------------------------------------------------------------- */

/* *done = 1 once the operation has ended, well or not; its result, if any, is then
 * in `output`. Never blocks. */
REIGEN_API reigen_status reigen_poll(reigen_handle handle, int32_t* done);
/* Waits for the end; returns the operation's status. timeout_seconds < 0: no limit.
 * Returns REIGEN_INTERRUPTED when a signal handler ran in this thread. */
REIGEN_API reigen_status reigen_wait(reigen_handle handle, double timeout_seconds);
/* As reigen_wait, but when it returns the result is in `output`, whoever looks: of CUDA
 * tensors this thread itself waits for the GPU's copies, and no stream of the caller's is
 * used. Work put on any stream from then on sees the result. Also after a reigen_wait. */
REIGEN_API reigen_status reigen_wait_delivered(reigen_handle handle, double timeout_seconds);
/* Gives the handle up. Of an operation that has not ended: waits for its end. The
 * result of one that neither reigen_wait nor reigen_poll saw end may be in `output`
 * or not; it is not written after this. */
REIGEN_API reigen_status reigen_release(reigen_handle handle);

/* --- memory ------------------------------------------------------------------------ */

/* Memory shared with the worker, 64-byte aligned: contiguous tensors that lie in it
 * are reduced in place, without a copy. NULL on failure. Valid until reigen_free,
 * also after shutdown (as ordinary memory). Needs reigen_init. */
REIGEN_API void* reigen_alloc(size_t bytes);
REIGEN_API void reigen_free(void* memory);

#ifdef __cplusplus
}
#endif

#endif /* REIGEN_H_ */
