"""``rollfilm merge``: makes one recording of several."""

from dataclasses import dataclass
from pathlib import Path

import tyro

__all__ = ["Merge"]


@dataclass
class Merge:
    """Put the episodes of several recordings into a new one.

    Episodes are renumbered; trajectories, datasets, statistics and the page are made anew from all rows. The recordings stay as they are.
    """

    folders: tyro.conf.Positional[tuple[Path, ...]]
    """folders of two or more recordings of the same task, cameras and engine"""
    out: Path
    """folder to write to"""

    def run(self) -> int:
        """Merge, and say what there is now."""
        from rollfilm.cli.progress import CountProgress
        from rollfilm.record.merge import merge

        with CountProgress("episodes") as progress:
            merged = merge(self.folders, self.out, progress=progress)
        recording = merged.recording
        print(f"{self.out}: {len(recording.episodes)} episodes of {len(self.folders)} recordings, {len(recording.kept)} of them kept")
        for name in merged.left_out:
            print(f"left out: {name}, which only some of them have")
        if merged.twice:
            print(f"warning: {merged.twice} kept episodes began from the same seed as another one")
        return 0
