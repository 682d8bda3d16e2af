"""``rollfilm recover``: makes a recording whole whose process was killed."""

from dataclasses import dataclass
from pathlib import Path

import tyro

__all__ = ["Recover"]


@dataclass
class Recover:
    """Make a recording whole whose process was killed, and say what was lost.

    Finished episodes stay, and are put together in every format. What was in flight is deleted. A recording that was closed is left
    as it is.
    """

    folder: tyro.conf.Positional[Path]
    """folder of the recording"""

    def run(self) -> int:
        """Recover, and say what there is now."""
        from rollfilm.cli.progress import CountProgress
        from rollfilm.record.recover import recover

        with CountProgress("episodes") as progress:
            recovery = recover(self.folder, progress=progress)
        kept = f"{recovery.episodes} episodes have ended, {recovery.kept} of them are kept"
        if not recovery.needed:
            print(f"{self.folder} was closed as it should be: there is nothing to recover ({kept})")
            return 0
        for lost in recovery.lost:
            print(f"lost: {lost}")
        print(f"{self.folder} is whole: {kept}" if recovery.episodes or recovery.kept else f"{self.folder}: no episode had ended")
        return 0
