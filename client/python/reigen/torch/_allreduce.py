"""All-reduce of torch tensors, alone and in groups."""

import torch

from .. import _start
from .._handles import synchronize
from .._start import Average, Sum, chosen_op
from ._tensors import inplace_view, input_view, new_like
from .compression import Compression


def _start_new(tensors, name, op, prescale, postscale, single):
    inputs = [input_view(tensor) for tensor in tensors]
    results = [new_like(tensor) for tensor in tensors]
    pairs = [(source, input_view(out)) for source, out in zip(inputs, results)]
    result = results[0] if single else results
    return _start.start_allreduce(name, pairs, op, prescale, postscale, lambda: result)


def _start_inplace(tensors, name, op, prescale, postscale, result):
    views = [inplace_view(tensor) for tensor in tensors]
    pairs = [(view, view) for view in views]
    return _start.start_allreduce(name, pairs, op, prescale, postscale, lambda: result)


def allreduce_async(
    tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0
):
    """Starts an all-reduce; synchronize() of the handle returns a new tensor."""
    op = chosen_op(average, op)
    return _start_new([tensor], name, op, prescale_factor, postscale_factor, True)


def allreduce_async_(
    tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0
):
    """Starts an all-reduce whose result replaces the tensor's elements."""
    op = chosen_op(average, op)
    return _start_inplace([tensor], name, op, prescale_factor, postscale_factor, tensor)


def allreduce_(
    tensor, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0
):
    """All-reduces in place and returns the tensor. Not differentiable."""
    return synchronize(
        allreduce_async_(tensor, average, name, op, prescale_factor, postscale_factor)
    )


def _check_differentiable(op):
    if op not in (Average, Sum):
        raise RuntimeError("the gradient of an all-reduce exists for Average and Sum only")


class _Allreduce(torch.autograd.Function):
    """The gradient of a sum over ranks is the sum of the ranks' gradients."""

    @staticmethod
    def forward(ctx, tensor, name, op, prescale, postscale):
        ctx.arguments = (op, prescale, postscale)
        return synchronize(_start_new([tensor], name, op, prescale, postscale, True))

    @staticmethod
    def backward(ctx, *grads):
        op, prescale, postscale = ctx.arguments
        _check_differentiable(op)
        grad = allreduce(grads[0], op=op, prescale_factor=prescale, postscale_factor=postscale)
        return grad, None, None, None, None


def allreduce(
    tensor,
    average=None,
    name=None,
    compression=Compression.none,
    op=None,
    prescale_factor=1.0,
    postscale_factor=1.0,
):
    """The reduction of the tensor over all ranks (default: Average), as a new tensor.

    Differentiable (Average, Sum). prescale_factor multiplies each rank's input,
    postscale_factor the result.
    """
    op = chosen_op(average, op)
    compressed, ctx = compression.compress(tensor)
    reduced = _Allreduce.apply(compressed, name, op, prescale_factor, postscale_factor)
    return compression.decompress(reduced, ctx)


def grouped_allreduce_async(
    tensors, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0
):
    """Starts an all-reduce of a list that runs, or fails, as one."""
    op = chosen_op(average, op)
    return _start_new(list(tensors), name, op, prescale_factor, postscale_factor, False)


def grouped_allreduce_async_(
    tensors, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0
):
    """As grouped_allreduce_async; the results replace the tensors' elements."""
    op = chosen_op(average, op)
    tensors = list(tensors)
    return _start_inplace(tensors, name, op, prescale_factor, postscale_factor, tensors)


def grouped_allreduce_(
    tensors, average=None, name=None, op=None, prescale_factor=1.0, postscale_factor=1.0
):
    """All-reduces a list in place and returns it. Not differentiable."""
    tensors = list(tensors)
    if not tensors:
        return tensors
    return synchronize(
        grouped_allreduce_async_(tensors, average, name, op, prescale_factor, postscale_factor)
    )


class _GroupedAllreduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, name, op, prescale, postscale, *tensors):
        ctx.arguments = (op, prescale, postscale)
        return tuple(
            synchronize(_start_new(tensors, name, op, prescale, postscale, False))
        )

    @staticmethod
    def backward(ctx, *grads):
        op, prescale, postscale = ctx.arguments
        _check_differentiable(op)
        reduced = grouped_allreduce(
            grads, op=op, prescale_factor=prescale, postscale_factor=postscale
        )
        return (None, None, None, None, *reduced)


def grouped_allreduce(
    tensors,
    average=None,
    name=None,
    compression=Compression.none,
    op=None,
    prescale_factor=1.0,
    postscale_factor=1.0,
):
    """The reductions of a list of tensors, as a list of new ones. Differentiable."""
    tensors = list(tensors)
    op = chosen_op(average, op)
    if not tensors:
        return []
    compressed, contexts = zip(*(compression.compress(tensor) for tensor in tensors))
    reduced = _GroupedAllreduce.apply(name, op, prescale_factor, postscale_factor, *compressed)
    return [compression.decompress(out, ctx) for out, ctx in zip(reduced, contexts)]
