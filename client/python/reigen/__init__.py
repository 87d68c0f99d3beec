"""Reigen: data-parallel training through one daemon per host.

Tensors here are NumPy arrays, objects with ``__dlpack__`` and objects with the
buffer protocol, in host memory, and what lies on a GPU and has ``__dlpack__`` or
``__cuda_array_interface__``. ``reigen.torch`` has the same for PyTorch, with
Horovod's names::

    import numpy as np
    import reigen

    reigen.init()
    mean = reigen.allreduce(np.full(4, reigen.rank(), np.float32), name="x")

Every rank must start the same operations under the same names. Operations with
``_async`` return a handle for ``poll`` and ``synchronize``; those that end in
``_`` write the result into the tensor given. ``grouped_`` ones run as a unit.

On a GPU, operations are ordered with torch's current stream, or the stream that an
array's ``__cuda_array_interface__`` tells. Of others inputs are taken to be ready on the
legacy default stream, and results are there for every stream once they are waited for.
"""

from ._arrays import (
    allreduce,
    allreduce_,
    allreduce_async,
    allreduce_async_,
    broadcast,
    broadcast_,
    broadcast_async,
    broadcast_async_,
    grouped_allreduce,
    grouped_allreduce_,
    grouped_allreduce_async,
    grouped_allreduce_async_,
)
from ._errors import HorovodInternalError
from ._handles import poll, synchronize
from ._life import (
    cross_rank,
    cross_size,
    init,
    is_initialized,
    local_rank,
    local_size,
    rank,
    shutdown,
    size,
)
from ._objects import broadcast_object
from ._start import Average, Max, Min, Product, Sum, barrier

__version__ = "0.1.0"

__all__ = [
    "Average",
    "HorovodInternalError",
    "Max",
    "Min",
    "Product",
    "Sum",
    "allreduce",
    "allreduce_",
    "allreduce_async",
    "allreduce_async_",
    "barrier",
    "broadcast",
    "broadcast_",
    "broadcast_async",
    "broadcast_async_",
    "broadcast_object",
    "cross_rank",
    "cross_size",
    "grouped_allreduce",
    "grouped_allreduce_",
    "grouped_allreduce_async",
    "grouped_allreduce_async_",
    "init",
    "is_initialized",
    "local_rank",
    "local_size",
    "poll",
    "rank",
    "shutdown",
    "size",
    "synchronize",
]
