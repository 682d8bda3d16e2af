"""The command ``rollfilm``: one file a verb, and only the verb that was asked for is imported."""

import sys
from collections.abc import Sequence

from rollfilm.cli.verbs import VERBS, load_verb, overview

__all__ = ["main"]

EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code of the process.

    Args:
        argv: the words after ``rollfilm``; those of the process if left out.

    Returns:
        0; 2 for bad input, which is said in one line on stderr; 130 for Ctrl-C; else what the verb returns.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _dispatch(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader (`| head`) has gone. Python flushes once more at exit: give it somewhere to write.
        sys.stdout = None
        return 0
    return code


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
    except SystemExit as stop:  # the option parser, after --help
        return stop.code if isinstance(stop.code, int) else 0


def _refuse(message: str) -> int:
    print(f"rollfilm: error: {' '.join(message.split())}", file=sys.stderr)
    return EXIT_BAD_INPUT
