"""Which failure becomes which exception: wrong arguments are ValueError, what
happens to a job is HorovodInternalError."""

from . import _library


class HorovodInternalError(RuntimeError):
    """An operation failed: ranks disagree, one has left, a process was lost.

    The name is Horovod's, so that its training loops catch it.
    """


def check(status, text=None):
    """Raises what `status` says; `text` if it was fetched before."""
    if status == _library.OK:
        return
    if text is None:
        text = _library.last_error()
    if status == _library.INVALID_ARGUMENT:
        raise ValueError(text)
    raise HorovodInternalError(text)
