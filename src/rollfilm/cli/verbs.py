"""The table of verbs."""

from importlib import import_module
from typing import NamedTuple, Protocol

__all__ = ["VERBS", "Verb", "VerbEntry", "load_verb", "overview"]


class Verb(Protocol):
    """A dataclass whose fields are the options of a verb."""

    def run(self) -> int:
        """Do it, and return the exit code."""
        ...


class VerbEntry(NamedTuple):
    """Where a verb is, and what it does in a few words."""

    module: str
    class_name: str
    summary: str


VERBS: dict[str, VerbEntry] = {
    "record": VerbEntry("rollfilm.cli.record", "Record", "film episodes of a task: videos, an overview, a trajectory file"),
    "render": VerbEntry("rollfilm.cli.render", "Render", "take a picture of any MuJoCo model"),
    "info": VerbEntry("rollfilm.cli.info", "Info", "say what a recording holds"),
    "verify": VerbEntry("rollfilm.cli.verify", "Verify", "open everything in a recording again and say what is wrong"),
    "recover": VerbEntry("rollfilm.cli.recover", "Recover", "make a recording whole whose process was killed"),
    "export": VerbEntry("rollfilm.cli.export", "Export", "write a recording in the format of LeRobot, ManiSkill or robomimic"),
    "rerender": VerbEntry("rollfilm.cli.rerender", "Rerender", "film a recording again: other cameras, sizes or looks"),
    "merge": VerbEntry("rollfilm.cli.merge", "Merge", "make one recording of several"),
    "index": VerbEntry("rollfilm.cli.index", "Index", "make the page of a recording anew, to look at in a browser"),
}


def load_verb(name: str) -> type[Verb]:
    """The class of the verb ``name``; imports its file and nothing of the others."""
    entry = VERBS[name]
    return getattr(import_module(entry.module), entry.class_name)


def overview() -> str:
    """What ``rollfilm --help`` prints."""
    width = max(len(name) for name in VERBS)
    lines = ["usage: rollfilm COMMAND ...", "", "Film every rollout: batched rendering and recording of parallel robot simulations.", ""]
    lines += [f"  {name.ljust(width)}  {entry.summary}" for name, entry in VERBS.items()]
    lines += ["", "rollfilm COMMAND --help explains one of them; rollfilm --version prints the version."]
    return "\n".join(lines)
