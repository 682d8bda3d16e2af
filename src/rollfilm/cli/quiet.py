"""What other packages say on their own, kept away from what a verb says."""

import atexit
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["announcing_compilation", "quiet_mujoco", "quiet_warp"]

_SECONDS_BEFORE_A_WORD = 1.5


def quiet_mujoco() -> None:
    """Keep MuJoCo's warnings off the terminal, and its ``MUJOCO_LOG.TXT`` out of the working folder; errors are still raised.

    For the command line alone, as :func:`quiet_warp`. What a warning is about is said by the verb: a model that cannot be drawn, a
    world that diverged.
    """
    import mujoco

    mujoco.set_mju_user_warning(lambda message: None)  # pyright: ignore[reportAttributeAccessIssue]


def quiet_warp() -> None:
    """Start Warp without its greeting, its compile times and its complaint that there is no GPU; errors are still raised and said.

    Where its folder of compiled kernels cannot be written, kernels go to a temporary one, and that is said in a line.

    For the command line alone, whose process is its own: a library must leave this to its user. Call it before anything else
    starts Warp.
    """
    import warp as wp

    wp.config.log_level = wp.LOG_ERROR
    if not os.environ.get("XDG_CACHE_HOME"):
        # An empty value means unset (XDG Base Directory Specification); Warp would put its folder into the working one.
        os.environ.pop("XDG_CACHE_HOME", None)
    try:
        with _no_stderr():
            wp.init()
    except OSError as error:
        folder = tempfile.mkdtemp(prefix="rollfilm-kernels-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        print(
            f"rollfilm: compiled kernels cannot be kept ({error.filename}: {error.strerror}) and are compiled for this run alone; "
            "set WARP_CACHE_PATH to a folder that can be written to",
            file=sys.stderr,
        )
        wp.config.kernel_cache_dir = folder
        with _no_stderr():
            wp.init()


@contextmanager
def announcing_compilation() -> Iterator[None]:
    """Say what the user waits for where the block, a first frame, takes long because Warp compiles kernels."""

    def say() -> None:
        print("rollfilm: compiling render kernels, once for this kind of scene and cameras", file=sys.stderr, flush=True)

    timer = threading.Timer(_SECONDS_BEFORE_A_WORD, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def _no_stderr() -> Iterator[None]:
    # The complaint is printed by native code, once, while Warp starts: only the file descriptor itself can be turned away.
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
