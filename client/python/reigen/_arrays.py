"""Operations on NumPy arrays, CUDA arrays, DLPack objects and buffers.

The result of a form without a final ``_`` is a NumPy array, or, where NumPy is
not installed, a memoryview of the same shape; of an array on a CUDA device, an
array of the same library (its ``empty_like``).
"""

import ctypes
import sys

from . import _library, _start
from ._handles import synchronize
from ._views import CUDA, View, torch_tensors, view_of

_FORMATS = {
    "uint8": "B",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "float16": "e",
    "float32": "f",
    "float64": "d",
    "bool": "?",
}
_NAME_OF_DTYPE = {number: name for name, number in _library.DTYPES.items()}


def _numpy():
    try:
        import numpy
    except ImportError:
        return None
    return numpy


def _input(obj):
    """The view of what a caller gave; numbers become 0-dimensional arrays."""
    if isinstance(obj, (bool, int, float)):
        numpy = _numpy()
        if numpy is not None:
            return view_of(numpy.asarray(obj))
    return view_of(obj)


def _new_on_device(view):
    tensors = torch_tensors(view.owner)
    if tensors is not None:
        result = tensors.new_like(view.owner)
        return result, tensors.input_view(result)
    library = sys.modules.get(type(view.owner).__module__.split(".")[0])
    if not hasattr(library, "empty_like"):
        raise ValueError("the library of this CUDA array has no empty_like: use the in-place form")
    array = library.empty_like(view.owner)
    return array, view_of(array)


def _new_like(view):
    """A new object for a result, and its view."""
    if view.device_kind == CUDA:
        return _new_on_device(view)
    name = _NAME_OF_DTYPE[view.dtype]
    if name not in _FORMATS:
        raise ValueError("%s has no NumPy type: use the in-place form" % name)
    numpy = _numpy()
    if numpy is not None:
        array = numpy.empty(view.shape, dtype=name)
        return array, view_of(array)
    count = 1
    for extent in view.shape:
        count *= extent
    code = _FORMATS[name]
    memory = bytearray(max(count, 1) * _item_bytes(name))
    target = View(
        ctypes.addressof((ctypes.c_char * len(memory)).from_buffer(memory)),
        view.dtype,
        view.shape,
        None,
        False,
        memory,
    )
    result = memoryview(memory)[: count * _item_bytes(name)].cast(code)
    if count > 0 and len(view.shape) != 1:
        result = result.cast("B").cast(code, list(view.shape))
    return result, target


def _item_bytes(name):
    return {"bool": 1, "uint8": 1, "int8": 1}.get(name) or int(name.lstrip("uintfloat")) // 8


def allreduce_async(tensor, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0):
    """Starts an all-reduce; synchronize() of the handle returns the result."""
    source = _input(tensor)
    result, target = _new_like(source)
    return _start.start_allreduce(
        name,
        [(source, target)],
        _start.chosen_op(None, op),
        prescale_factor,
        postscale_factor,
        lambda: result,
    )


def allreduce(tensor, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0):
    """The element-wise reduction of the tensor over all ranks (default: Average).

    prescale_factor multiplies each rank's input, postscale_factor the result.
    """
    return synchronize(allreduce_async(tensor, name, op, prescale_factor, postscale_factor))


def allreduce_async_(tensor, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0):
    """As allreduce_async; the result replaces the tensor's elements."""
    view = view_of(tensor, written=True)
    return _start.start_allreduce(
        name,
        [(view, view)],
        _start.chosen_op(None, op),
        prescale_factor,
        postscale_factor,
        lambda: tensor,
    )


def allreduce_(tensor, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0):
    """As allreduce; the result replaces the tensor's elements. Returns the tensor."""
    return synchronize(allreduce_async_(tensor, name, op, prescale_factor, postscale_factor))


def grouped_allreduce_async(
    tensors, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0
):
    """Starts an all-reduce of a list that runs, or fails, as one."""
    sources = [_input(tensor) for tensor in tensors]
    made = [_new_like(source) for source in sources]
    results = [result for result, _ in made]
    return _start.start_allreduce(
        name,
        [(source, target) for source, (_, target) in zip(sources, made)],
        _start.chosen_op(None, op),
        prescale_factor,
        postscale_factor,
        lambda: results,
    )


def grouped_allreduce(tensors, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0):
    """The reductions of a list of tensors, as a list."""
    if not tensors:
        return []
    return synchronize(
        grouped_allreduce_async(tensors, name, op, prescale_factor, postscale_factor)
    )


def grouped_allreduce_async_(
    tensors, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0
):
    """As grouped_allreduce_async; the results replace the tensors' elements."""
    views = [view_of(tensor, written=True) for tensor in tensors]
    return _start.start_allreduce(
        name,
        [(view, view) for view in views],
        _start.chosen_op(None, op),
        prescale_factor,
        postscale_factor,
        lambda: tensors,
    )


def grouped_allreduce_(tensors, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0):
    """As grouped_allreduce; the results replace the tensors' elements."""
    if not tensors:
        return tensors
    return synchronize(
        grouped_allreduce_async_(tensors, name, op, prescale_factor, postscale_factor)
    )


def broadcast_async(tensor, root_rank, name=None):
    """Starts a broadcast; synchronize() of the handle returns the result."""
    source = _input(tensor)
    result, target = _new_like(source)
    return _start.start_broadcast(name, [(source, target)], root_rank, lambda: result)


def broadcast(tensor, root_rank, name=None):
    """root_rank's tensor, on every rank. Shapes and dtypes must be equal."""
    return synchronize(broadcast_async(tensor, root_rank, name))


def broadcast_async_(tensor, root_rank, name=None):
    """As broadcast_async; the result replaces the tensor's elements."""
    view = view_of(tensor, written=True)
    return _start.start_broadcast(name, [(view, view)], root_rank, lambda: tensor)


def broadcast_(tensor, root_rank, name=None):
    """As broadcast; the result replaces the tensor's elements."""
    return synchronize(broadcast_async_(tensor, root_rank, name))
