"""torch tensors as views of memory."""

import torch

from .. import _library
from .._views import CUDA, View

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
    return view.on_cuda(tensor.device.index, stream.cuda_stream)


def input_view(tensor):
    """To be read. A lazily negated view is resolved first."""
    tensor = _checked(tensor)
    return _view(tensor.resolve_neg() if tensor.is_neg() else tensor)


def inplace_view(tensor):
    """To be read and written."""
    if _checked(tensor).is_neg():
        raise ValueError("a lazily negated view cannot hold a result")
    return _view(tensor)


def _stream(handle, device):
    # ExternalStream takes the default stream's handle, 0, for none given.
    if handle == 0:
        return torch.cuda.default_stream(device)
    return torch.cuda.ExternalStream(handle, device=device)


def after(views, result):
    """What synchronize() gives: the result, once the stream that is current by then
    waits for the one that was when the operation started. The allocator is told that
    the tensors are used there too: it would give their memory to the first stream's next."""

    def finish():
        waited = set()
        for view in views:
            if view.device_kind != CUDA:
                continue
            current = torch.cuda.current_stream(view.device)
            if current.cuda_stream == view.stream:
                continue
            if (view.device, view.stream) not in waited:
                waited.add((view.device, view.stream))
                current.wait_stream(_stream(view.stream, view.device))
            view.owner.record_stream(current)
        return result

    return finish


def new_like(tensor):
    """A contiguous tensor for a result."""
    return torch.empty_like(
        tensor.detach(), memory_format=torch.contiguous_format, requires_grad=False
    )
