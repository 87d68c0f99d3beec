"""init, shutdown and the caller's place in the job."""

import atexit

from . import _handles, _library
from ._errors import check

_registered = False


def init():
    """Joins the job; returns once every rank has called it.

    Does nothing when already initialised. Outside reigenrun it makes a job of
    size 1. Ctrl-C ends the wait.
    """
    global _registered
    if _library.lib.reigen_is_initialized():
        return
    if not _registered:
        # While the interpreter still works; the library's own handler comes later.
        atexit.register(shutdown)
        _registered = True
    # Handles of the job before would never be asked for again.
    _handles.forget_all()
    status = _library.INTERRUPTED
    while status == _library.INTERRUPTED:  # Python's signal handlers run in between
        status = _library.lib.reigen_init()
    check(status)


def shutdown():
    """Leaves the job; what is pending fails. init() may be called again."""
    _library.lib.reigen_shutdown()


def is_initialized():
    """Whether init() has returned and shutdown() was not called since."""
    return bool(_library.lib.reigen_is_initialized())


def _number(value):
    if value < 0:
        raise ValueError(_library.last_error())
    return value


def rank():
    """This process's number in the job, 0 ... size() - 1."""
    return _number(_library.lib.reigen_rank())


def size():
    """The number of training processes of the job."""
    return _number(_library.lib.reigen_size())


def local_rank():
    """This process's number on its host."""
    return _number(_library.lib.reigen_local_rank())


def local_size():
    """The number of training processes on this host."""
    return _number(_library.lib.reigen_local_size())


def cross_rank():
    """This host's number among those that have this local rank."""
    return _number(_library.lib.reigen_cross_rank())


def cross_size():
    """The number of hosts that have this local rank."""
    return _number(_library.lib.reigen_cross_size())
