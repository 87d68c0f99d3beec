"""Starting operations: views in, a handle out, one call of the library each."""

import ctypes
import functools

from . import _handles, _library
from ._errors import check

Average = 0
Sum = 1
Min = 3
Max = 4
Product = 5

_NAMES = {Average: "Average", Sum: "Sum", Min: "Min", Max: "Max", Product: "Product"}


@functools.lru_cache(maxsize=None)
def _int64s(count):
    return ctypes.c_int64 * count


@functools.lru_cache(maxsize=256)
def _tensors(count):
    return _library.Tensor * count


def _strides(view, int64s):
    return None if view.strides is None else int64s(*view.strides)


def _fill(tensor, source, target):
    """source and target: views of one shape and dtype."""
    if target.readonly:
        raise ValueError("the tensor is read-only: it cannot hold a result")
    if source.device_kind != target.device_kind:
        raise ValueError("input and output are not both in host memory, or on a CUDA device")
    tensor.device_kind = target.device_kind
    tensor.device = target.device
    tensor.stream = target.stream
    ndim = len(source.shape)
    tensor.struct_size = ctypes.sizeof(_library.Tensor)
    tensor.dtype = source.dtype
    tensor.ndim = ndim
    tensor.input = source.pointer
    tensor.output = target.pointer
    if ndim > 0:
        int64s = _int64s(ndim)
        tensor.shape = int64s(*source.shape)
        tensor.input_strides = _strides(source, int64s)
        tensor.output_strides = _strides(target, int64s)


def _array(pairs):
    array = _tensors(len(pairs))()
    for tensor, (source, target) in zip(array, pairs):
        _fill(tensor, source, target)
    return array


def _following(pairs, finish):
    """finish, after what the results' views have to do before."""
    follow = [target.follow for _, target in pairs if target.follow is not None]
    if not follow:
        return finish

    def follow_and_finish():
        followed = set()
        for each in follow:
            each(followed)
        return finish()

    return follow_and_finish


def _register(handle, pairs, finish):
    assumed = any(target.stream_assumed for _, target in pairs)
    return _handles.register(handle, pairs, _following(pairs, finish), delivered=assumed)


def _encoded(name):
    return None if name is None else str(name).encode()


def start_allreduce(name, pairs, op, prescale, postscale, finish):
    """pairs: (input view, output view) of each tensor of the group."""
    if op not in _NAMES:
        raise ValueError("unknown reduction %r" % (op,))
    options = _library.AllreduceOptions(
        ctypes.sizeof(_library.AllreduceOptions), op, 0, float(prescale), float(postscale)
    )
    array = _array(pairs)
    handle = ctypes.c_uint64(0)
    check(
        _library.lib.reigen_allreduce_async(
            _encoded(name), array, len(pairs), ctypes.byref(options), ctypes.byref(handle)
        )
    )
    return _register(handle.value, pairs, finish)


def start_broadcast(name, pairs, root_rank, finish):
    """pairs: (input view, output view); the input is read on the root."""
    options = _library.BroadcastOptions(
        ctypes.sizeof(_library.BroadcastOptions), int(root_rank), 0
    )
    array = _array(pairs)
    handle = ctypes.c_uint64(0)
    check(
        _library.lib.reigen_broadcast_async(
            _encoded(name), array, len(pairs), ctypes.byref(options), ctypes.byref(handle)
        )
    )
    return _register(handle.value, pairs, finish)


def barrier():
    """Returns once every rank has called it."""
    handle = ctypes.c_uint64(0)
    check(_library.lib.reigen_barrier_async(0, ctypes.byref(handle)))
    _handles.synchronize(_handles.register(handle.value, None, None))


def chosen_op(average, op):
    """The reduction, from Horovod's old `average` flag and `op`."""
    if average is not None:
        if op is not None:
            raise ValueError("give op or average, not both (average is the old form)")
        return Average if average else Sum
    return Average if op is None else op
