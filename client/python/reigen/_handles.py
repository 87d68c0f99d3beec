"""Started operations: what keeps their tensors alive, and waiting for them.

No wait holds the GIL, and none is longer than a slice, so that Python's signal
handlers run (Ctrl-C is a KeyboardInterrupt within it).
"""

import collections
import ctypes

from . import _library
from ._errors import check

_WAIT_SLICE_SECONDS = 0.2

# handle -> what the operation needs (tensors, buffers) and gives (its result).
_entries = {}
# Handles that nobody holds any more. Their tensors live until the end.
_dropped = collections.deque()


class _Entry:
    __slots__ = ("keep", "finish", "wait")

    def __init__(self, keep, finish, wait):
        self.keep = keep
        self.finish = finish
        self.wait = wait


class Handle(int):
    """An int, as Horovod's handles are, that knows when it is dropped."""

    def __del__(self):
        try:
            number = int(self)
            if number in _entries:
                _dropped.append(number)
        except Exception:  # the interpreter is ending  # pylint: disable=broad-except
            pass


def register(number, keep, finish, delivered=False):
    """A new handle; finish() gives the result of a success. delivered: a wait is to end once
    the result is in memory, not when the tensors' streams know of it."""
    wait = _library.lib.reigen_wait_delivered if delivered else _library.lib.reigen_wait
    _entries[number] = _Entry(keep, finish, wait)
    if _dropped:
        _reap()
    return Handle(number)


def _reap():
    """Gives up dropped operations that have ended."""
    for _ in range(len(_dropped)):
        try:
            number = _dropped.popleft()
        except IndexError:  # another thread was here
            return
        if number not in _entries:
            continue
        if _has_ended(number):
            _release(number)
        else:
            _dropped.append(number)


def _has_ended(number):
    # Unlike reigen_poll, without the tensor's stream: it may be gone with the tensor's user.
    # A child of fork() and a handle unknown to the library have nothing to wait for.
    status = _library.lib.reigen_wait_delivered(number, 0.0)
    return status not in (_library.TIMEOUT, _library.INTERRUPTED)


def _release(number):
    entry = _entries.pop(number, None)
    if entry is not None:
        _library.lib.reigen_release(number)
    return entry


def forget_all():
    """Gives up everything of the job before."""
    for number in list(_entries):
        if _has_ended(number):
            _release(number)


def poll(handle):
    """Whether the operation has ended: synchronize() would not wait.

    Raises ValueError for an unknown handle.
    """
    done = ctypes.c_int32(0)
    check(_library.lib.reigen_poll(int(handle), ctypes.byref(done)))
    return done.value != 0


def synchronize(handle):
    """Waits for the end of an asynchronous operation and returns its result.

    Raises HorovodInternalError when it failed. None for a handle that was
    synchronized before. After a KeyboardInterrupt it may be called again.
    """
    number = int(handle)
    entry = _entries.get(number)
    if entry is None:
        return None
    wait = entry.wait
    status = wait(number, _WAIT_SLICE_SECONDS)
    while status in (_library.TIMEOUT, _library.INTERRUPTED):
        status = wait(number, _WAIT_SLICE_SECONDS)
    text = None if status == _library.OK else _library.last_error()
    entry = _release(number)
    check(status, text)
    return entry.finish() if entry is not None and entry.finish is not None else None
