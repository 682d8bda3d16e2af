"""``rollfilm export``: writes a recording in another format."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro

__all__ = ["Export"]


@dataclass
class Export:
    """Write the complete, kept episodes of a recording in another format.

    LeRobot's videos are those of the recording, joined and not encoded again. robomimic's pictures are rendered again from the stored
    states, or decoded where there are none.
    """

    folder: tyro.conf.Positional[Path]
    """folder of the recording"""
    format: Literal["lerobot", "maniskill", "robomimic"]
    """what to write"""
    out: Path
    """folder to write to: a new one, or an empty one"""

    def run(self) -> int:
        """Write, and say what to open."""
        from rollfilm.cli.progress import CountProgress
        from rollfilm.cli.quiet import quiet_warp
        from rollfilm.record.export import export
        from rollfilm.record.reading import Recording

        quiet_warp()
        recording = Recording(self.folder)
        with CountProgress("episodes") as progress:
            path = export(recording, self.format, self.out, progress=progress)
        print(f"{self.format}: {path}")
        return 0
