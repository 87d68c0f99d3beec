"""Where the elements of an object lie: NumPy arrays, objects with __dlpack__,
objects with the buffer protocol. NumPy itself is not needed."""

import ctypes

from . import _library


class View:
    """A tensor in host memory. Strides are in bytes; None: C-contiguous."""

    __slots__ = ("pointer", "dtype", "shape", "strides", "readonly", "owner")

    def __init__(self, pointer, dtype, shape, strides, readonly, owner):
        self.pointer = pointer
        self.dtype = dtype  # reigen_dtype
        self.shape = shape
        self.strides = strides
        self.readonly = readonly
        self.owner = owner  # keeps the memory alive


def view_of(obj):
    """The view of an object; TypeError names what is not understood."""
    interface = getattr(obj, "__array_interface__", None)
    if interface is not None and hasattr(obj, "dtype"):
        return _of_array(obj, interface)
    if hasattr(obj, "__dlpack__"):
        return _of_dlpack(obj)
    return _of_buffer(obj)


def _of_array(array, interface):
    dtype = _library.DTYPES.get(array.dtype.name)
    if dtype is None:
        raise ValueError("arrays of %s are not supported" % array.dtype)
    if not array.dtype.isnative:
        raise ValueError("arrays of another byte order are not supported: %s" % array.dtype.str)
    pointer, readonly = interface["data"]
    return View(pointer, dtype, array.shape, interface["strides"], readonly, array)


# --- the buffer protocol --------------------------------------------------------


class _PyBuffer(ctypes.Structure):
    """Py_buffer"""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    ]


_PYBUF_RECORDS_RO = 0x0018 | 0x0004  # strided, with format

_KINDS = {"?": "bool", "e": "float", "f": "float", "d": "float"}
_KINDS.update({c: "int" for c in "bhilqn"})
_KINDS.update({c: "uint" for c in "BHILQN"})


class _HeldBuffer:
    """A Py_buffer until it is dropped."""

    def __init__(self, obj):
        self.buffer = _PyBuffer()
        get = ctypes.pythonapi.PyObject_GetBuffer
        get.argtypes = [ctypes.py_object, ctypes.POINTER(_PyBuffer), ctypes.c_int]
        get.restype = ctypes.c_int
        self.release = ctypes.pythonapi.PyBuffer_Release
        self.release.argtypes = [ctypes.POINTER(_PyBuffer)]
        self.release.restype = None
        self.held = False
        get(obj, ctypes.byref(self.buffer), _PYBUF_RECORDS_RO)  # raises what it meets
        self.held = True

    def __del__(self):
        if self.held:
            self.release(ctypes.byref(self.buffer))


def _of_buffer(obj):
    try:
        held = _HeldBuffer(obj)
    except (TypeError, BufferError):
        raise TypeError(
            "%s is no tensor: neither an array, nor __dlpack__, nor a buffer" % type(obj).__name__
        ) from None
    buffer = held.buffer
    code = (buffer.format or b"B").decode().lstrip("@=")
    kind = _KINDS.get(code)
    name = kind if kind == "bool" else "%s%d" % (kind, 8 * buffer.itemsize)
    if kind is None or name not in _library.DTYPES:
        raise ValueError("buffers of format %r are not supported" % code)
    shape = tuple(buffer.shape[d] for d in range(buffer.ndim))
    strides = tuple(buffer.strides[d] for d in range(buffer.ndim))
    return View(
        buffer.buf, _library.DTYPES[name], shape, strides, bool(buffer.readonly), (held, obj)
    )


# --- DLPack -----------------------------------------------------------------------


class _DLTensor(ctypes.Structure):
    """DLTensor, the first member of DLManagedTensor"""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_DL_HOST_DEVICES = (1, 3)  # kDLCPU, kDLCUDAHost
_DL_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "bool"}


def _of_dlpack(obj):
    capsule = obj.__dlpack__()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.argtypes = [ctypes.py_object, ctypes.c_char_p]
    get.restype = ctypes.c_void_p
    # The capsule stays ours: unconsumed, it frees the tensor when it is dropped.
    tensor = _DLTensor.from_address(get(capsule, b"dltensor"))
    if tensor.device_type not in _DL_HOST_DEVICES:
        raise ValueError("only tensors in host memory are supported")
    kind = _DL_KINDS.get(tensor.code)
    name = kind if kind == "bool" else "%s%d" % (kind, tensor.bits)
    if tensor.lanes != 1 or name not in _library.DTYPES:
        raise ValueError("tensors of DLPack type %s are not supported" % name)
    item = tensor.bits // 8
    shape = tuple(tensor.shape[d] for d in range(tensor.ndim))
    strides = None
    if tensor.strides:
        strides = tuple(tensor.strides[d] * item for d in range(tensor.ndim))
    pointer = (tensor.data or 0) + tensor.byte_offset
    return View(pointer, _library.DTYPES[name], shape, strides, False, (capsule, obj))
