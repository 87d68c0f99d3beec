"""Arrays on the fake GPU of client/cuda/testing, as CuPy and torch would show them."""

import ctypes

import numpy as np
import torch

cuda = ctypes.CDLL("libcuda.so.1")
for function in (cuda.reigen_fake_cuda_write, cuda.cuMemcpyDtoHAsync_v2):
    function.restype = ctypes.c_int
cuda.cuMemAlloc_v2.argtypes = [ctypes.POINTER(ctypes.c_uint64), ctypes.c_size_t]
cuda.reigen_fake_cuda_write.argtypes = [
    ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p,
]
cuda.cuMemcpyDtoHAsync_v2.argtypes = [
    ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p,
]
cuda.cuStreamSynchronize.argtypes = [ctypes.c_void_p]
cuda.cuStreamWaitEvent.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint]
cuda.cuEventRecord.argtypes = [ctypes.c_void_p, ctypes.c_void_p]


def call(code):
    assert code == 0, code


def begin(device=0):
    """This thread uses the device from now on, as a framework's would."""
    context = ctypes.c_void_p()
    call(cuda.cuInit(0))
    call(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    call(cuda.cuCtxPushCurrent_v2(context))


def new_stream():
    stream = ctypes.c_void_p()
    # Like torch's, it does not wait for the default stream.
    call(cuda.cuStreamCreateWithPriority(ctypes.byref(stream), 1, 0))
    return stream.value


def put(pointer, array, stream):
    """What a kernel does later: nothing has happened when this returns."""
    array = np.ascontiguousarray(array)
    call(cuda.reigen_fake_cuda_write(pointer, array.ctypes.data, array.nbytes, stream))


def get(pointer, shape, dtype, stream):
    """What a kernel on the stream would see now."""
    array = np.empty(shape, dtype)
    call(cuda.cuMemcpyDtoHAsync_v2(array.ctypes.data, pointer, array.nbytes, stream))
    call(cuda.cuStreamSynchronize(stream))
    return array


def allocate(nbytes):
    pointer = ctypes.c_uint64()
    call(cuda.cuMemAlloc_v2(ctypes.byref(pointer), max(nbytes, 1)))
    return pointer.value


class Array:
    """A CUDA array: values are there once the stream has got to them."""

    def __init__(self, values, stream, strides=None, shape=None, tells_stream=True):
        self.tells_stream = tells_stream
        self.dtype = values.dtype
        self.stored = values.shape
        self.shape = shape or values.shape
        self.strides = strides
        self.stream = stream
        self.pointer = allocate(values.nbytes)
        put(self.pointer, values, stream)

    @property
    def __cuda_array_interface__(self):
        interface = {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.pointer, False),
            "strides": self.strides,
            "version": 3,
            "stream": self.stream,
        }
        if not self.tells_stream:
            del interface["stream"]
            interface["version"] = 2
        return interface

    def values(self, stream=None):
        return get(self.pointer, self.stored, self.dtype, stream or self.stream)


class _Tensor(ctypes.Structure):
    """DLTensor and the rest of a DLManagedTensor"""

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
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class DlpackArray:
    """A float32 array that knows DLPack alone."""

    CUDA = 2

    def __init__(self, values, stream):
        self.array = Array(values, stream)

    def __dlpack_device__(self):
        return self.CUDA, 0

    def __dlpack__(self, stream):
        """The values are to be ready on that stream: 1 is the legacy one."""
        event = ctypes.c_void_p()
        call(cuda.cuEventCreate(ctypes.byref(event), 0))
        call(cuda.cuEventRecord(event, self.array.stream))
        call(cuda.cuStreamWaitEvent(stream, event, 0))
        shape = self.array.shape
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.tensor = _Tensor(
            data=self.array.pointer, device_type=self.CUDA, ndim=len(shape), code=2, bits=32,
            lanes=1, shape=self.shape,
        )
        new = ctypes.pythonapi.PyCapsule_New
        new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        new.restype = ctypes.py_object
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


def empty_like(array):
    return Array(np.zeros(array.shape, array.dtype), array.stream)


class FakeStream:
    """torch.cuda.Stream, as far as reigen.torch uses it."""

    def __init__(self, handle):
        self.cuda_stream = handle

    def wait_stream(self, other):
        event = ctypes.c_void_p()
        call(cuda.cuEventCreate(ctypes.byref(event), 0))
        call(cuda.cuEventRecord(event, other.cuda_stream))
        call(cuda.cuStreamWaitEvent(self.cuda_stream, event, 0))


class Streams:
    """In place of torch.cuda's: what is current."""

    current = None

    @classmethod
    def install(cls):
        torch.cuda.current_stream = lambda device=None: cls.current
        torch.cuda.default_stream = lambda device=None: FakeStream(0)


class CudaTensor(torch.Tensor):
    """A torch tensor that says it lies on cuda:0. Its memory there is made, with its
    elements, when its address is first asked for."""

    @staticmethod
    def make(values):
        return torch.Tensor._make_subclass(CudaTensor, values)

    @property
    def device(self):
        return torch.device("cuda", 0)

    def detach(self):
        return self

    def data_ptr(self):
        if not hasattr(self, "memory"):
            elements = self.as_subclass(torch.Tensor).reshape(-1).view(torch.uint8).numpy()
            self.memory = allocate(elements.nbytes)
            put(self.memory, elements, Streams.current.cuda_stream)
        return self.memory

    def record_stream(self, stream):
        self.recorded = stream.cuda_stream

    def on_device(self, stream):
        """What the stream sees, as a tensor in host memory."""
        nbytes = self.numel() * self.element_size()
        elements = torch.from_numpy(get(self.memory, nbytes, "uint8", stream.cuda_stream))
        return elements.view(self.dtype).reshape(tuple(self.shape))
