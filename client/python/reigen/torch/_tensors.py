"""torch tensors as views of memory."""

import functools

import torch

from .. import _library
from .._views import View

_DTYPES = {getattr(torch, name): number for name, number in _library.DTYPES.items()}


def _checked(tensor):
    if not isinstance(tensor, torch.Tensor):
        raise ValueError("expected a torch tensor, got %s" % type(tensor).__name__)
    if tensor.layout != torch.strided:
        raise ValueError("sparse tensors are not supported: use to_dense()")
    if tensor.device.type not in ("cpu", "cuda"):
        raise ValueError("tensors on %s are not supported: use cpu()" % tensor.device)
    if tensor.dtype not in _DTYPES:
        raise ValueError("tensors of %s are not supported" % tensor.dtype)
    return tensor


def _view(tensor):
    shape = tuple(tensor.shape)
    strides = None
    if not tensor.is_contiguous():
        item = tensor.element_size()
        strides = tuple(stride * item for stride in tensor.stride())
    view = View(tensor.data_ptr(), _DTYPES[tensor.dtype], shape, strides, False, tensor)
    if tensor.device.type == "cpu":
        return view
    stream = torch.cuda.current_stream(tensor.device)
    view.follow = functools.partial(_follow, tensor, stream)
    return view.on_cuda(tensor.device.index, stream.cuda_stream)


def _follow(tensor, stream, followed):
    """Once the result is there for the stream that was current at the start: so for the one
    that is current now. The allocator is told, which would give the memory to the former."""
    current = torch.cuda.current_stream(tensor.device)
    if current.cuda_stream == stream.cuda_stream:
        return
    if (tensor.device, stream.cuda_stream) not in followed:
        followed.add((tensor.device, stream.cuda_stream))
        current.wait_stream(stream)
    tensor.record_stream(current)


def input_view(tensor):
    """To be read. A lazily negated view is resolved first."""
    tensor = _checked(tensor)
    return _view(tensor.resolve_neg() if tensor.is_neg() else tensor)


def inplace_view(tensor):
    """To be read and written."""
    if _checked(tensor).is_neg():
        raise ValueError("a lazily negated view cannot hold a result")
    return _view(tensor)


def new_like(tensor):
    """A contiguous tensor for a result."""
    return torch.empty_like(
        tensor.detach(), memory_format=torch.contiguous_format, requires_grad=False
    )
