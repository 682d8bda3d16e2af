"""What other packages say on their own, kept away from what a verb says."""

import os
import sys

__all__ = ["quiet_warp"]


def quiet_warp() -> None:
    """Start Warp without its greeting, its compile times and its complaint that there is no GPU; errors are still raised and said.

    For the command line alone, whose process is its own: a library must leave this to its user. Call it before anything else
    starts Warp.
    """
    import warp as wp

    wp.config.log_level = wp.LOG_ERROR
    # The complaint is printed by native code, once, while Warp starts: only the file descriptor itself can be turned away.
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        wp.init()
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
