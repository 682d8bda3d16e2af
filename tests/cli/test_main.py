import io
import signal
import subprocess
import sys
import types
from dataclasses import dataclass

import pytest

from rollfilm import cli
from rollfilm.cli import main, verbs
from rollfilm.cli.parse import parse
from rollfilm.errors import InvalidArgumentError, NotFoundError


@dataclass
class Probe:
    """A verb for these tests."""

    count: int
    """how many"""
    raises: str = ""
    """what happens"""

    def run(self) -> int:
        match self.raises:
            case "known":
                raise NotFoundError("no lamp 'blue';\n  its lamps: red")
            case "ctrl-c":
                raise KeyboardInterrupt
            case "pipe":
                raise BrokenPipeError
            case "bug":
                raise ZeroDivisionError
            case "full":
                raise OSError(28, "No space left on device", "/there/file")
            case "no memory":
                raise MemoryError("Unable to allocate 9 TiB")
            case "ended":
                signal.raise_signal(signal.SIGTERM)
            case "hung up":
                signal.raise_signal(signal.SIGHUP)
            case "strange letters":
                print("\udcff\u4e09")
        return 0


@pytest.fixture
def probe(monkeypatch):
    module = types.ModuleType("rollfilm_probe")
    module.Probe = Probe
    monkeypatch.setitem(sys.modules, "rollfilm_probe", module)
    monkeypatch.setitem(verbs.VERBS, "probe", verbs.VerbEntry("rollfilm_probe", "Probe", "for these tests"))


def one_line_of(capsys) -> str:
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("rollfilm: error: ")
    return captured.err


def test_a_verb_runs(probe):
    assert main(["probe", "--count", "3"]) == 0


def test_errors_of_rollfilm_are_one_line_and_exit_2(probe, capsys):
    assert main(["probe", "--count", "3", "--raises", "known"]) == 2
    assert one_line_of(capsys) == "rollfilm: error: no lamp 'blue'; its lamps: red\n"


def test_faults_of_the_program_keep_their_traceback(probe):
    with pytest.raises(ZeroDivisionError):
        main(["probe", "--count", "3", "--raises", "bug"])


def test_ctrl_c_exits_130(probe):
    assert main(["probe", "--count", "3", "--raises", "ctrl-c"]) == 130


@pytest.mark.parametrize(("signal_name", "code"), [("ended", 128 + signal.SIGTERM), ("hung up", 128 + signal.SIGHUP)])
def test_other_signals_to_stop_work_like_ctrl_c(probe, signal_name, code):
    assert main(["probe", "--count", "3", "--raises", signal_name]) == code
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_nohup_is_respected(probe):
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert main(["probe", "--count", "3", "--raises", "hung up"]) == 0
    finally:
        signal.signal(signal.SIGHUP, previous)


@pytest.mark.parametrize(
    ("raises", "said"),
    [("full", "/there/file: No space left on device"), ("no memory", "memory ran out (Unable to allocate 9 TiB); take fewer worlds")],
)
def test_what_the_system_refuses_is_one_line_and_exits_2(probe, capsys, raises, said):
    assert main(["probe", "--count", "3", "--raises", raises]) == 2
    assert said in one_line_of(capsys)


def test_letters_that_the_terminal_cannot_show_are_escaped(probe, monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert main(["probe", "--count", "3", "--raises", "strange letters"]) == 0
    assert written.getvalue() == b"\\udcff\\u4e09\n"


@pytest.mark.parametrize("words", [["--raises", ""], ["--raises="], ["--raises", " "]])
def test_an_empty_value_is_refused(probe, capsys, words):
    assert main(["probe", "--count", "3", *words]) == 2
    assert "the value after --raises" in one_line_of(capsys)


def test_a_reader_that_left_is_no_error(probe, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    assert main(["probe", "--count", "3", "--raises", "pipe"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fly"], "no command 'fly'; choose from record, render, info"),
        (["--fly"], "no option '--fly'; choose from record, render, info"),
        (["probe", "--count", "3", "--cuont", "4"], "--cuont"),
        (["probe", "--count", "three"], "--count"),
        (["probe"], "--count"),
    ],
)
def test_bad_words_are_one_line_and_exit_2(probe, capsys, words, said):
    assert main(words) == 2
    line = one_line_of(capsys)
    assert said in line
    assert "--help" in line


def test_help_names_every_verb(capsys):
    assert main(["--help"]) == 0
    said = capsys.readouterr().out
    assert all(f"  {name} " in said for name in verbs.VERBS)


def test_nothing_asked_for_prints_the_help_and_exits_2(capsys):
    assert main([]) == 2
    assert "usage: rollfilm" in capsys.readouterr().out


def test_help_of_a_verb(probe, capsys):
    assert main(["probe", "--help"]) == 0
    assert "A verb for these tests." in capsys.readouterr().out


def test_every_verb_of_the_table_exists():
    for name in verbs.VERBS:
        assert callable(verbs.load_verb(name).run)


def test_a_suggestion_survives_in_the_one_line():
    with pytest.raises(InvalidArgumentError, match=r"--cuont.*--count"):
        parse(Probe, ["--count", "3", "--cuont", "4"], prog="rollfilm probe")


def test_main_help_imports_no_verb_and_no_parser():
    code = "import sys; from rollfilm.cli import main; main(['--help']); print(sorted(sys.modules))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "'rollfilm.cli.verbs'" in said
    assert not any(f"'{name}'" in said for name in ("tyro", "numpy", "rollfilm.cli.render", "rollfilm.cli.record"))


def test_ctrl_c_that_comes_out_of_an_import_as_its_error_is_an_interruption(monkeypatch):
    """Compiled packages turn a KeyboardInterrupt in their initialisation into an ImportError."""

    def interrupted(verb):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise ImportError("initialization failed") from error

    monkeypatch.setattr(cli, "load_verb", interrupted)
    assert cli.main(["info", "folder"]) == 130


def test_an_import_that_fails_for_itself_is_not_hidden(monkeypatch):
    def broken(verb):
        raise ImportError("no such library")

    monkeypatch.setattr(cli, "load_verb", broken)
    with pytest.raises(ImportError, match="no such library"):
        cli.main(["info", "folder"])
