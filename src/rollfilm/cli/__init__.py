"""The command ``rollfilm``: one file a verb, and only the verb that was asked for is imported."""

import io
import os
import sys
from collections.abc import Sequence

from rollfilm.cli.stop_signals import EXIT_INTERRUPTED, StopSignals
from rollfilm.cli.verbs import VERBS, load_verb, overview

__all__ = ["main", "run"]

EXIT_BAD_INPUT = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code of the process.

    Args:
        argv: the words after ``rollfilm``; those of the process if left out.

    Returns:
        0; 2 for bad input, and for files, folders or memory that the system refuses, said in one line on stderr; 130 for Ctrl-C, and
        likewise 128 and its number for a signal to end or to hang up; else what the verb returns.
    """
    with StopSignals() as stop:
        return _run(list(sys.argv[1:] if argv is None else argv), stop)


def run() -> int:
    """Be the process ``rollfilm``: :func:`main`, after which no signal to stop changes the exit code any more.

    Python takes a moment to end, and by then answers signals as if it had no handlers.
    """
    with StopSignals() as stop:
        try:
            code = _run(sys.argv[1:], stop)
            stop.ignore_from_now_on()
        except KeyboardInterrupt:
            stop.ignore_from_now_on()
            code = stop.exit_code
    return code


def _run(words: list[str], stop: StopSignals) -> int:
    try:
        _open_what_is_closed()
        _escape_what_the_terminal_cannot_show()
        code = _dispatch(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return stop.exit_code
    except ImportError as error:
        if _was_interrupted(error):
            return stop.exit_code
        raise
    except BrokenPipeError:
        # The reader (`| head`) has gone. Python flushes once more at exit: give it somewhere to write.
        sys.stdout = None
        return 0
    return stop.exit_code if code == EXIT_INTERRUPTED else code


def _was_interrupted(error: BaseException | None) -> bool:
    # Ctrl-C while a compiled package is imported comes out as an error of that import.
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _open_what_is_closed() -> None:
    # Started as in `rollfilm ... >&-`: the next file to be opened, a video perhaps, would be taken for the closed stream.
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            try:
                os.fstat(number)
            except OSError:
                os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115, it stays open


def _escape_what_the_terminal_cannot_show() -> None:
    # Names of files may hold any bytes, and terminals of the C locale show ASCII alone: neither may end a verb halfway.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _dispatch(words: list[str]) -> int:
    from rollfilm.errors import RollfilmError

    if not words or words[0] in ("-h", "--help"):
        print(overview())
        return 0 if words else EXIT_BAD_INPUT
    if words[0] == "--version":
        from rollfilm import __version__

        print(f"rollfilm {__version__}")
        return 0
    verb, rest = words[0], words[1:]
    if verb not in VERBS:
        kind = "option" if verb.startswith("-") else "command"
        return _refuse(f"no {kind} {verb!r}; choose from {', '.join(VERBS)} (see rollfilm --help)")
    try:
        from rollfilm.cli.parse import parse

        return parse(load_verb(verb), rest, prog=f"rollfilm {verb}").run()
    except RollfilmError as error:
        return _refuse(str(error))
    except BrokenPipeError:
        raise
    except OSError as error:
        # What no verb foresaw, but the system says no to: a disk that is full, a name that is too long, a folder of someone else's.
        where = f"{error.filename}: " if error.filename is not None else ""
        return _refuse(f"{where}{error.strerror or error}")
    except MemoryError as error:
        return _refuse(f"memory ran out ({str(error) or 'the system gave no more'}); take fewer worlds or smaller images")
    except SystemExit as stop:  # the option parser, after --help
        return stop.code if isinstance(stop.code, int) else 0


def _refuse(message: str) -> int:
    print(f"rollfilm: error: {' '.join(message.split())}", file=sys.stderr)
    return EXIT_BAD_INPUT
