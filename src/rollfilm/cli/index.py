"""``rollfilm index``: makes the page of a recording anew."""

from dataclasses import dataclass
from pathlib import Path

import tyro

__all__ = ["Index"]


@dataclass
class Index:
    """Write the page of a recording anew (index.html), and the posters that it lacks.

    For recordings that were interrupted, are still running or came from elsewhere; a recording that is closed has its page. Open it
    with a browser, from the disk: it needs no server and no network.
    """

    folder: tyro.conf.Positional[Path]
    """folder of the recording"""

    def run(self) -> int:
        """Write the page and say where it is."""
        from rollfilm.record.layout import Layout
        from rollfilm.record.page import write_page
        from rollfilm.record.posters import make_missing_posters
        from rollfilm.record.reading import Recording

        recording = Recording(self.folder)
        layout = Layout(self.folder)
        layout.refuse_foreign_page()
        made, without = make_missing_posters(recording)
        write_page(layout)
        details = [f"{len(recording.episodes)} episodes"]
        details += [f"{made} posters made"] if made else []
        details += [f"{without} videos without a poster"] if without else []
        print(f"{layout.page} ({', '.join(details)})")
        return 0
