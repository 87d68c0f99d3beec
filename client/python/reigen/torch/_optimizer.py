"""DistributedOptimizer: gradients are all-reduced while backward still runs."""

import contextlib
import warnings
import weakref

import torch

from .. import _life
from .._errors import HorovodInternalError
from .._handles import synchronize
from .._start import Average
from . import _gradients
from .compression import Compression


class _DistributedOptimizer:
    """The methods that a wrapped optimizer gets besides those of its class.

    Each parameter counts down its backward passes; at zero its gradient's
    all-reduce starts. step() waits for all of them, then does the base class's.
    """

    def _prepare(self, names, groups, settings):
        self._given_names = names
        self._names = {}  # parameter that is trained -> name
        self._settings = settings
        self._delay = {}
        self._handles = {}  # first parameter of a unit -> (handle, unit, contexts)
        self._started = set()
        self._units = {}
        self._synchronized = False
        self._should_synchronize = True
        self._hooks = []
        trained = {p: name for p, name in names.items() if p.requires_grad}
        self._take_in(trained, _gradients.units(trained, groups))

    def _take_in(self, names, units):
        self._names.update(names)
        self._units.update(units)
        self._delay.update({p: self._settings.passes for p in names})
        if _life.size() > 1:
            # Parameters outlive an optimizer that is dropped: another may follow.
            on_gradient = weakref.WeakMethod(self._on_gradient)
            for parameter in names:
                self._hooks.append(_gradients.on_gradient(parameter, on_gradient))

    def _take_in_newcomers(self):
        """Those of add_param_group(), and those that were frozen until now."""
        found = _gradients.newcomers(self.param_groups, self._names)
        if found:
            names = {p: self._given_names.get(p, name) for p, name in found}
            self._take_in(names, _gradients.units(names, []))

    def add_param_group(self, param_group):
        """As the base class's. All ranks add the same."""
        super().add_param_group(param_group)
        self._take_in_newcomers()

    def set_backward_passes_per_step(self, passes):
        """From now on step() follows that many backward passes."""
        if passes <= 0:
            raise ValueError("backward_passes_per_step must be > 0")
        self._settings.passes = passes
        self._reset_delays()

    def _reset_delays(self):
        for parameter in self._delay:
            self._delay[parameter] = self._settings.passes

    def _forget(self):
        """Begins anew: nothing is being reduced."""
        self._handles = {}
        self._started = set()
        self._reset_delays()

    def load_state_dict(self, *args, **kwargs):
        """As the base class's; forgets reductions that have begun."""
        self._forget()
        self._synchronized = False
        return super().load_state_dict(*args, **kwargs)

    def _on_gradient(self, parameter):
        if self._delay[parameter] <= 0:
            raise AssertionError(
                "gradients were computed more than backward_passes_per_step times "
                "before a call of step(): raise backward_passes_per_step to add them up "
                "locally (parameter %s)" % self._names[parameter]
            )
        self._delay[parameter] -= 1
        unit = self._units[parameter]
        if all(self._delay[member] == 0 for member in unit):
            self._start(unit)

    def _start(self, unit):
        """Starts the all-reduce of a group of parameters, or of one."""
        settings = self._settings
        views, contexts = [], []
        for parameter in unit:
            compressed, ctx = settings.compression.compress(
                _gradients.dense(parameter, self._names[parameter], settings.sparse_as_dense)
            )
            views.append(compressed)
            contexts.append((compressed, ctx))
        factor = settings.predivide
        handle = _gradients.start(
            views, [self._names[p] for p in unit], settings.op, 1.0 / factor, factor
        )
        self._handles[unit[0]] = (handle, unit, contexts)
        self._started.update(unit)

    def synchronize(self):
        """Waits until all gradients are reduced.

        A parameter without a gradient takes part with zeros, so that ranks whose
        passes used other parameters do not wait for each other. To change the
        reduced gradients before the step (clipping)::

            optimizer.synchronize()
            clip_grad_norm_(model.parameters(), 1.0)
            with optimizer.skip_synchronize():
                optimizer.step()
        """
        self._take_in_newcomers()
        if _life.size() > 1:
            for unit in dict.fromkeys(self._units.values()):
                trained = any(parameter.requires_grad for parameter in unit)
                if trained and unit[0] not in self._started:
                    self._start(unit)
        for handle, unit, contexts in self._handles.values():
            try:
                synchronize(handle)
            except HorovodInternalError:
                self._forget()
                raise
            for parameter, (compressed, ctx) in zip(unit, contexts):
                output = self._settings.compression.decompress(compressed, ctx)
                if output is not parameter.grad:
                    parameter.grad.copy_(output)
        self._forget()
        self._synchronized = True

    @contextlib.contextmanager
    def skip_synchronize(self):
        """step() inside does not synchronize: synchronize() was called."""
        self._should_synchronize = False
        try:
            yield
        finally:
            self._should_synchronize = True

    def step(self, closure=None):
        """synchronize(), then the base class's step."""
        if closure is not None:
            inner = closure

            def closure():
                loss = inner()
                self.synchronize()
                return loss

        elif self._should_synchronize:
            if self._synchronized and not self._handles:
                # The gradients are reduced already: once more would be too much.
                warnings.warn(
                    "step() after synchronize(): use `with optimizer.skip_synchronize()` "
                    "around step() to say that this is meant"
                )
            else:
                self.synchronize()
        self._synchronized = False
        return super().step(closure)

    def zero_grad(self, *args, **kwargs):
        """As the base class's. Gradients of fewer passes than a step takes are
        dropped: the count begins anew."""
        if self._handles:
            raise AssertionError(
                "zero_grad() was called after backward() and before step() or "
                "synchronize(): gradients are being reduced"
            )
        self._reset_delays()
        return super().zero_grad(*args, **kwargs)


class _Settings:
    def __init__(self, compression, passes, op, predivide, sparse_as_dense):
        self.compression = compression
        self.passes = passes
        self.op = op
        self.predivide = predivide
        self.sparse_as_dense = sparse_as_dense


def DistributedOptimizer(  # pylint: disable=invalid-name
    optimizer,
    named_parameters=None,
    compression=Compression.none,
    backward_passes_per_step=1,
    op=Average,
    gradient_predivide_factor=1.0,
    num_groups=0,
    groups=None,
    sparse_as_dense=False,
):
    """An optimizer that all-reduces gradients before each step.

    It is of a subclass of the given optimizer's class and takes over its state
    and parameter groups; use it in its place.

    named_parameters: model.named_parameters(); without, parameters are named by
    their position. backward_passes_per_step: gradients of so many passes are
    added up locally first. gradient_predivide_factor: splits the averaging into
    1/factor before and the rest after the sum. groups: a number of groups, or
    lists of parameters, whose gradients are reduced together.
    """
    if gradient_predivide_factor != 1.0 and op != Average:
        raise ValueError("gradient_predivide_factor goes with op=Average only")
    if gradient_predivide_factor <= 0:
        raise ValueError("gradient_predivide_factor must be > 0")
    if backward_passes_per_step <= 0:
        raise ValueError("backward_passes_per_step must be > 0")
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise ValueError("expected a torch optimizer, got %s" % type(optimizer).__name__)
    if isinstance(optimizer, _DistributedOptimizer):
        raise ValueError("the optimizer is a DistributedOptimizer already")
    if groups is None and num_groups:
        groups = num_groups
    names = _gradients.checked_names(optimizer.param_groups, named_parameters)
    base = type(optimizer)
    cls = type(base.__name__, (_DistributedOptimizer, base), {"__module__": base.__module__})
    wrapped = cls.__new__(cls)
    wrapped.__dict__.update(
        # A learning-rate scheduler may have put a `step` into the instance.
        {key: value for key, value in optimizer.__dict__.items() if key != "step"}
    )
    wrapped._prepare(
        names,
        _gradients.checked_groups(groups, names),
        _Settings(
            compression,
            backward_passes_per_step,
            op,
            gradient_predivide_factor,
            sparse_as_dense,
        ),
    )
    return wrapped
