"""What DistributedOptimizer needs to know of parameters and their gradients."""

import torch

from . import _allreduce


def checked_names(param_groups, named_parameters):
    """Parameter -> name, in the optimizer's order; frozen ones too."""
    parameters = [p for group in param_groups for p in group["params"]]
    if named_parameters is None:
        named = [
            ("%d.%d" % (g, i), p)
            for g, group in enumerate(param_groups)
            for i, p in enumerate(group["params"])
        ]
    else:
        named = list(named_parameters)
    if not all(isinstance(item, tuple) and len(item) == 2 for item in named):
        raise ValueError("named_parameters must be a sequence of tuples (name, parameter)")
    seen, repeated = set(), set()
    for name, _ in named:
        (repeated if name in seen else seen).add(name)
    if repeated:
        raise ValueError("names are not unique: %s" % ", ".join(sorted(map(str, repeated))))
    names = {p: name for name, p in named}
    unnamed = sum(1 for p in parameters if p not in names)
    if unnamed:
        raise ValueError("named_parameters lacks %d of the optimizer's parameters" % unnamed)
    return {p: str(names[p]) for p in parameters}


def newcomers(param_groups, known):
    """(parameter, name for it) of those to be trained that are not in `known`."""
    return [
        (p, "group%d.%d" % (g, i))
        for g, group in enumerate(param_groups)
        for i, p in enumerate(group["params"])
        if p.requires_grad and p not in known
    ]


def checked_groups(groups, names):
    """Lists of parameters, from a number of groups or the user's lists."""
    if groups is None:
        return []
    parameters = list(names)
    if isinstance(groups, int):
        if groups < 0:
            raise ValueError("groups must not be negative")
        count = min(groups, len(parameters))
        return [
            parameters[i * len(parameters) // count : (i + 1) * len(parameters) // count]
            for i in range(count)
        ]
    members = [p for group in groups for p in group]
    if not all(isinstance(p, torch.Tensor) for p in members):
        raise ValueError("groups must be lists of parameters")
    if len(set(members)) != len(members):
        raise ValueError("a parameter is in several groups")
    return [[p for p in group if p in names] for group in groups]


def units(names, groups):
    """Parameter -> the tuple of parameters that are reduced together."""
    result = {}
    for group in groups:
        # An all-reduce has one dtype on one device: a mixed group becomes one of each.
        by_kind = {}
        for parameter in group:
            by_kind.setdefault((parameter.dtype, parameter.device), []).append(parameter)
        for members in by_kind.values():
            unit = tuple(members)
            result.update({parameter: unit for parameter in unit})
    return {parameter: result.get(parameter, (parameter,)) for parameter in names}


def on_gradient(parameter, callback):
    """Calls callback()(parameter) whenever a backward pass has added its gradient.

    callback is a weak reference. Returns what has to live as long as the hook.
    """

    def hook(*_):
        function = callback()
        if function is not None:
            function(parameter)

    if hasattr(parameter, "register_post_accumulate_grad_hook"):  # torch 2.1 and later
        return parameter.register_post_accumulate_grad_hook(hook)
    accumulator = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
    accumulator.register_hook(hook)
    return accumulator


def dense(parameter, name, sparse_as_dense):
    """The gradient to reduce; zeros where the passes made none."""
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    if parameter.grad.layout != torch.strided:
        if not sparse_as_dense:
            raise ValueError(
                "the gradient of %s is sparse: give sparse_as_dense=True" % name
            )
        parameter.grad = parameter.grad.to_dense()
    return parameter.grad.detach() if parameter.grad.requires_grad else parameter.grad


def start(gradients, names, op, prescale, postscale):
    """The in-place all-reduce of a unit; named after its first parameter."""
    if len(gradients) == 1:
        return _allreduce.allreduce_async_(
            gradients[0],
            name=names[0],
            op=op,
            prescale_factor=prescale,
            postscale_factor=postscale,
        )
    return _allreduce.grouped_allreduce_async_(
        gradients,
        name=names[0],
        op=op,
        prescale_factor=prescale,
        postscale_factor=postscale,
    )
