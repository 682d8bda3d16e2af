"""rollfilm films parallel robot simulations: every camera of N worlds in one batch, on a GPU or a plain CPU."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rollfilm.envs.catalog import make
    from rollfilm.record.record_episode import RecordEpisode

__all__ = ["RecordEpisode", "__version__", "make"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    # Environments bring Gymnasium and an engine: loaded when the first one is made, so that importing rollfilm stays light.
    if name == "make":
        from rollfilm.envs.catalog import make

        return make
    if name == "RecordEpisode":
        from rollfilm.record.record_episode import RecordEpisode

        return RecordEpisode
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
