"""A disk that takes no more, as far as this process can tell."""

import resource
import signal
from contextlib import contextmanager


@contextmanager
def files_of_at_most(num_bytes):
    """No file grows beyond ``num_bytes`` in the block: writing more is an OSError, as on a full disk."""
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
