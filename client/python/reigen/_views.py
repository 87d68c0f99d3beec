"""Where the elements of an object lie: NumPy arrays, objects with
__cuda_array_interface__ (CuPy, Numba) or __dlpack__, objects with the buffer
protocol. NumPy itself is not needed."""

import ctypes
import sys

from . import _library


# reigen_device_kind
HOST = 0
CUDA = 1
ANY_DEVICE = -1
_LEGACY_STREAM = 1  # CUDA's handle of the default stream that others wait for


class View:
    """A tensor. Strides are in bytes; None: C-contiguous.

    device_kind HOST, or CUDA: then device is its number (ANY_DEVICE: the memory tells)
    and stream the CUstream that its contents are ready on. If that is an assumption,
    who waits for a result waits until it is in memory. follow(followed) is called once an
    operation that wrote it has succeeded, by who waited for it; `followed` is a set that
    all views of the operation share.
    """

    __slots__ = (
        "pointer", "dtype", "shape", "strides", "readonly", "owner",
        "device_kind", "device", "stream", "stream_assumed", "follow",
    )

    def __init__(self, pointer, dtype, shape, strides, readonly, owner):
        self.pointer = pointer
        self.dtype = dtype  # reigen_dtype
        self.shape = shape
        self.strides = strides
        self.readonly = readonly
        self.owner = owner  # keeps the memory alive
        self.device_kind = HOST
        self.device = 0
        self.stream = 0
        self.stream_assumed = False
        self.follow = None

    def on_cuda(self, device, stream):
        """The same, its pointer being one of a CUDA device; stream None: nobody told."""
        self.device_kind = CUDA
        self.device = device
        self.stream = stream if stream is not None else _LEGACY_STREAM
        self.stream_assumed = stream is None
        return self


def torch_tensors(obj):
    """The module for torch's tensors if the object is one, without an import of torch."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(obj, getattr(torch, "Tensor", ())):
        return None
    from .torch import _tensors  # pylint: disable=import-outside-toplevel

    return _tensors


def view_of(obj, written=False):
    """The view of an object, also to be written; TypeError names what is not understood."""
    tensors = torch_tensors(obj)
    if tensors is not None:
        # Its interfaces below do not tell which stream its contents are ready on.
        return tensors.inplace_view(obj) if written else tensors.input_view(obj)
    interface = getattr(obj, "__array_interface__", None)
    if interface is not None and hasattr(obj, "dtype"):
        return _of_array(obj, interface)
    interface = getattr(obj, "__cuda_array_interface__", None)
    if interface is not None:
        return _of_cuda_array(obj, interface)
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


def _of_cuda_array(obj, interface):
    typestr = interface["typestr"]
    kind = {"b": "bool", "i": "int", "u": "uint", "f": "float"}.get(typestr[1])
    name = kind if kind == "bool" else "%s%d" % (kind, 8 * int(typestr[2:]))
    if typestr[0] == ">" or name not in _library.DTYPES:
        raise ValueError("CUDA arrays of type %s are not supported" % typestr)
    if interface.get("mask") is not None:
        raise ValueError("masked CUDA arrays are not supported")
    pointer, readonly = interface["data"]
    view = View(
        pointer,
        _library.DTYPES[name],
        tuple(interface["shape"]),
        interface.get("strides"),
        readonly,
        obj,
    )
    return view.on_cuda(ANY_DEVICE, interface.get("stream"))


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
_DL_CUDA_DEVICES = (2, 13)  # kDLCUDA, kDLCUDAManaged
_DL_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "bool"}


def _of_dlpack(obj):
    device_type = obj.__dlpack_device__()[0] if hasattr(obj, "__dlpack_device__") else 1
    on_cuda = int(device_type) in _DL_CUDA_DEVICES
    capsule = obj.__dlpack__(stream=_LEGACY_STREAM) if on_cuda else obj.__dlpack__()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.argtypes = [ctypes.py_object, ctypes.c_char_p]
    get.restype = ctypes.c_void_p
    # The capsule stays ours: unconsumed, it frees the tensor when it is dropped.
    tensor = _DLTensor.from_address(get(capsule, b"dltensor"))
    if tensor.device_type not in _DL_HOST_DEVICES + _DL_CUDA_DEVICES:
        raise ValueError("only tensors in host memory and on CUDA devices are supported")
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
    view = View(pointer, _library.DTYPES[name], shape, strides, False, (capsule, obj))
    return view.on_cuda(tensor.device_id, None) if on_cuda else view
