"""Reigen for PyTorch, with Horovod's names: ``import reigen.torch as hvd``.

CPU and CUDA tensors of every dtype that Reigen knows, bool and bfloat16 included;
CUDA tensors in the order of the current stream. Needs no compiler; torch 1.13 and
later.
"""

from .._errors import HorovodInternalError
from .._handles import poll, synchronize
from .._life import (
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
from .._objects import broadcast_object
from .._start import Average, Max, Min, Product, Sum, barrier
from ._broadcast import (
    broadcast,
    broadcast_,
    broadcast_async,
    broadcast_async_,
    broadcast_parameters,
)
from ._allreduce import (
    allreduce,
    allreduce_,
    allreduce_async,
    allreduce_async_,
    grouped_allreduce,
    grouped_allreduce_,
    grouped_allreduce_async,
    grouped_allreduce_async_,
)
from ._optimizer import DistributedOptimizer
from .compression import Compression

__all__ = [
    "Average",
    "Compression",
    "DistributedOptimizer",
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
    "broadcast_parameters",
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
