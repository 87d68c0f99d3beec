"""Python objects from one rank to all."""

import ctypes
import pickle

from . import _handles, _library, _life, _start
from ._views import View

# Instead of a size: the root could not pickle its object.
_FAILED = -1


def _broadcast_bytes(buffer, dtype, name, root_rank):
    count = ctypes.sizeof(buffer) // (8 if dtype == "int64" else 1)
    view = View(
        ctypes.addressof(buffer), _library.DTYPES[dtype], (count,), None, False, buffer
    )
    _handles.synchronize(_start.start_broadcast(name, [(view, view)], root_rank, None))


def _pickled(obj):
    try:
        return pickle.dumps(obj, protocol=4)  # the oldest supported Python reads it
    except Exception:
        try:
            import cloudpickle  # takes functions and classes of __main__ too
        except ImportError:
            pass
        else:
            return cloudpickle.dumps(obj, protocol=4)
        raise


def broadcast_object(obj, root_rank=0, name=None):
    """root_rank's object on every rank (pickled; on the root `obj` itself).

    Other ranks' `obj` is ignored. If the root cannot pickle it, all ranks raise.
    """
    is_root = _life.rank() == root_rank
    failure = None
    data = b""
    if is_root:
        try:
            data = _pickled(obj)
        except Exception as error:  # told to the others first  # pylint: disable=broad-except
            failure = error
    size = (ctypes.c_int64 * 1)(_FAILED if failure is not None else len(data))
    _broadcast_bytes(size, "int64", None if name is None else "%s.size" % name, root_rank)
    if failure is not None:
        raise failure
    if size[0] == _FAILED:
        raise ValueError("broadcast_object: rank %d could not pickle its object" % root_rank)
    buffer = (ctypes.c_uint8 * size[0])()
    if is_root:
        ctypes.memmove(buffer, data, len(data))
    _broadcast_bytes(buffer, "uint8", None if name is None else "%s.bytes" % name, root_rank)
    return obj if is_root else pickle.loads(memoryview(buffer))
