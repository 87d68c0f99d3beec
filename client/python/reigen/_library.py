"""libreigen.so: where it lies, and its functions as ctypes sees them."""

import ctypes
import os

OK = 0
INVALID_ARGUMENT = 1
FAILED_PRECONDITION = 2
ABORTED = 3
RESOURCE_EXHAUSTED = 4
UNAVAILABLE = 5
INTERNAL = 6
INTERRUPTED = 7
TIMEOUT = 8

# reigen_dtype
DTYPES = {
    "uint8": 0,
    "int8": 1,
    "int16": 2,
    "int32": 3,
    "int64": 4,
    "float16": 5,
    "bfloat16": 6,
    "float32": 7,
    "float64": 8,
    "bool": 9,
}

_int64_p = ctypes.POINTER(ctypes.c_int64)


class Tensor(ctypes.Structure):
    """reigen_tensor"""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("input", ctypes.c_void_p),
        ("output", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("shape", _int64_p),
        ("input_strides", _int64_p),
        ("output_strides", _int64_p),
        ("device_kind", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("stream", ctypes.c_size_t),
    ]


class AllreduceOptions(ctypes.Structure):
    """reigen_allreduce_options"""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("op", ctypes.c_int32),
        ("process_set", ctypes.c_int32),
        ("prescale", ctypes.c_double),
        ("postscale", ctypes.c_double),
    ]


class BroadcastOptions(ctypes.Structure):
    """reigen_broadcast_options"""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("root_rank", ctypes.c_int32),
        ("process_set", ctypes.c_int32),
    ]


def candidates():
    """Where the library may lie, in the order in which it is looked for."""
    given = os.environ.get("REIGEN_LIBRARY")
    if given:
        return [given]
    package = os.path.dirname(os.path.realpath(__file__))
    up = os.path.dirname
    return [
        os.path.join(package, "libreigen.so"),
        # PREFIX/python/reigen, PREFIX/lib
        os.path.join(up(up(package)), "lib", "libreigen.so"),
        # PREFIX/lib/pythonX.Y/site-packages/reigen, PREFIX/lib
        os.path.join(up(up(up(package))), "libreigen.so"),
        # client/python/reigen of the source tree
        os.path.join(up(up(up(package))), ".bazel", "bin", "client", "c", "libreigen.so"),
    ]


def _load():
    tried = candidates()
    for path in tried:
        if os.path.exists(path):
            try:
                return ctypes.CDLL(path)
            except OSError as error:
                raise ImportError("cannot load %s: %s" % (path, error)) from error
    raise ImportError(
        "libreigen.so was not found; REIGEN_LIBRARY can name it. Looked at: " + ", ".join(tried)
    )


def _declare(library):
    handle = ctypes.c_uint64
    tensors = ctypes.POINTER(Tensor)
    signatures = {
        "reigen_init": (ctypes.c_int, []),
        "reigen_shutdown": (ctypes.c_int, []),
        "reigen_is_initialized": (ctypes.c_int32, []),
        "reigen_rank": (ctypes.c_int32, []),
        "reigen_size": (ctypes.c_int32, []),
        "reigen_local_rank": (ctypes.c_int32, []),
        "reigen_local_size": (ctypes.c_int32, []),
        "reigen_cross_rank": (ctypes.c_int32, []),
        "reigen_cross_size": (ctypes.c_int32, []),
        "reigen_last_error": (ctypes.c_char_p, []),
        "reigen_version": (ctypes.c_char_p, []),
        "reigen_allreduce_async": (
            ctypes.c_int,
            [
                ctypes.c_char_p,
                tensors,
                ctypes.c_size_t,
                ctypes.POINTER(AllreduceOptions),
                ctypes.POINTER(handle),
            ],
        ),
        "reigen_broadcast_async": (
            ctypes.c_int,
            [
                ctypes.c_char_p,
                tensors,
                ctypes.c_size_t,
                ctypes.POINTER(BroadcastOptions),
                ctypes.POINTER(handle),
            ],
        ),
        "reigen_barrier_async": (ctypes.c_int, [ctypes.c_int32, ctypes.POINTER(handle)]),
        "reigen_poll": (ctypes.c_int, [handle, ctypes.POINTER(ctypes.c_int32)]),
        "reigen_wait": (ctypes.c_int, [handle, ctypes.c_double]),
        "reigen_wait_delivered": (ctypes.c_int, [handle, ctypes.c_double]),
        "reigen_release": (ctypes.c_int, [handle]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


# Every call releases the GIL (ctypes.CDLL).
lib = _declare(_load())


def last_error():
    """The text of this thread's last failure."""
    return lib.reigen_last_error().decode("utf-8", "replace")
