"""The rows of a recorded episode once more, as a recorder hands them to those who write files."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import RecordingError
from rollfilm.record.reading import EpisodeRows
from rollfilm.record.ring import Picture
from rollfilm.record.sink import Episode, Outcome, Receipt, Sink, StateRow, StepRow

__all__ = ["episode_of", "outcome_of", "replay", "tree_below"]


@dataclass(frozen=True, eq=False)
class _Shown:
    """A picture that belongs to no ring of buffers."""

    rgb: NDArray[np.uint8]


def tree_below(rows: EpisodeRows, root: str) -> Any:
    """The arrays at or below a path, as they were nested when they were recorded; an empty mapping if there are none."""
    if root in rows:
        return rows[root]
    tree: dict[str, Any] = {}
    for path, array in rows.items():
        if path.startswith(f"{root}/"):
            *folders, leaf = path.removeprefix(f"{root}/").split("/")
            branch = tree
            for folder in folders:
                branch = branch.setdefault(folder, {})
            branch[leaf] = array
    return tree


def episode_of(line: Mapping[str, Any]) -> Episode:
    """The episode that a line of ``episodes.jsonl`` tells of."""
    return Episode(
        index=line["episode"],
        seed=line["seed"],
        world=line.get("world", 0),
        run_seed=line.get("run_seed"),
        reset_kwargs=line.get("reset_kwargs", {}),
        instruction=line.get("instruction"),
    )


def outcome_of(line: Mapping[str, Any]) -> Outcome:
    """How the episode ended that a line of ``episodes.jsonl`` tells of."""
    return Outcome(line["ended"], line["success"], line.get("success_once"), line["steps"], line["episode_return"])


def replay(sink: Sink, line: Mapping[str, Any], rows: EpisodeRows, pictures: Iterable[Mapping[str, NDArray[np.uint8]]]) -> Receipt:
    """Hand the rows of an episode to a sink, which is told at last that the episode is kept.

    Args:
        sink: who writes.
        line: of ``episodes.jsonl``.
        rows: of the episode.
        pictures: by camera, for each of the T + 1 states in turn.

    Raises:
        RecordingError: there are fewer pictures, or more, than states; or the sink's.
    """
    episode = episode_of(line)
    count = 0
    for k, shown in enumerate(pictures):
        count += 1
        if k > rows.steps:
            continue
        state = _state(rows, k, shown)
        if k == 0:
            sink.on_reset(episode, state)
        else:
            sink.on_step(episode, _step(rows, k - 1, state))
    if count != rows.steps + 1:
        raise RecordingError(f"episode {episode.index}: {count} pictures for {rows.steps} steps; {rows.steps + 1} are needed")
    return sink.on_episode_end(episode, outcome_of(line), keep=True)


def _state(rows: EpisodeRows, k: int, shown: Mapping[str, NDArray[np.uint8]]) -> StateRow:
    pictures = {camera: cast(Picture, _Shown(rgb)) for camera, rgb in shown.items()}
    return StateRow(_row(tree_below(rows, "obs"), k), _row(tree_below(rows, "env_states"), k), pictures)


def _step(rows: EpisodeRows, k: int, after: StateRow) -> StepRow:
    return StepRow(
        action=_row(tree_below(rows, "actions"), k),
        reward=float(rows["rewards"][k]),
        terminated=bool(rows["terminated"][k]),
        truncated=bool(rows["truncated"][k]),
        success=_flag(rows, "success", k),
        after=after,
        fail=_flag(rows, "fail", k),
    )


def _flag(rows: EpisodeRows, name: str, k: int) -> bool | None:
    """What the environment said after step k; None if it did not."""
    known = name in rows and (f"{name}_known" not in rows or bool(rows[f"{name}_known"][k]))
    return bool(rows[name][k]) if known else None


def _row(tree: Any, k: int) -> Any:
    return {name: _row(branch, k) for name, branch in tree.items()} if isinstance(tree, Mapping) else tree[k]
