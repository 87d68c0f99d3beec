"""Broadcast of torch tensors, and of a model's parameters."""

import collections.abc

import torch

from .. import _life, _start
from .._handles import synchronize
from .._start import Average
from ._allreduce import allreduce
from ._tensors import inplace_view, input_view, new_like


def broadcast_async(tensor, root_rank, name=None):
    """Starts a broadcast; synchronize() of the handle returns a new tensor."""
    source = input_view(tensor)
    result = new_like(tensor)
    pair = (source, input_view(result))
    return _start.start_broadcast(name, [pair], root_rank, lambda: result)


def broadcast_async_(tensor, root_rank, name=None):
    """Starts a broadcast that replaces the tensor's elements."""
    view = inplace_view(tensor)
    return _start.start_broadcast(name, [(view, view)], root_rank, lambda: tensor)


def broadcast_(tensor, root_rank, name=None):
    """Replaces the tensor's elements by root_rank's; returns the tensor."""
    return synchronize(broadcast_async_(tensor, root_rank, name))


class _Broadcast(torch.autograd.Function):
    """As in Horovod: the root's gradient is the average, the others' are zero."""

    @staticmethod
    def forward(ctx, tensor, root_rank, name):
        ctx.root_rank = root_rank
        return synchronize(broadcast_async(tensor, root_rank, name))

    @staticmethod
    def backward(ctx, *grads):
        grad = allreduce(grads[0], op=Average)
        if _life.rank() != ctx.root_rank:
            grad = grad * 0
        return grad, None, None


def broadcast(tensor, root_rank, name=None):
    """root_rank's tensor, as a new one on every rank. Differentiable."""
    return _Broadcast.apply(tensor, root_rank, name)


def _named(params):
    if isinstance(params, collections.abc.Mapping):
        return sorted(params.items())
    if isinstance(params, (list, tuple)) or isinstance(params, collections.abc.Iterator):
        return [
            item if isinstance(item, tuple) else (str(number), item)
            for number, item in enumerate(params)
        ]
    raise ValueError("expected a dict or a list of parameters, got %s" % type(params).__name__)


def broadcast_parameters(params, root_rank):
    """Gives all ranks root_rank's parameters, in place.

    params: model.state_dict(), or a list of (name, tensor) or of tensors, as
    model.named_parameters() gives. Entries that are None are left out.
    """
    handles = []
    for name, tensor in _named(params):
        if tensor is None:
            continue
        if not isinstance(tensor, torch.Tensor):
            raise ValueError("parameter %s is no tensor but %s" % (name, type(tensor).__name__))
        handles.append(broadcast_async_(tensor.detach(), root_rank, name))
    for handle in handles:
        synchronize(handle)
