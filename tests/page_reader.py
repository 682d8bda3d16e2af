"""Reads a recording's page as a browser does: its elements, its data, what it refers to."""

import json
from html.parser import HTMLParser
from pathlib import Path


class Page(HTMLParser):
    """The page of a recording; ``rows`` are its episodes by index, as mappings."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self._inside: tuple[str, dict[str, str | None]] = ("", {})
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)
        self.close()
        self.data = json.loads(self.texts["data"], parse_constant=_refuse)
        self.recording = self.data["recording"]
        columns = [*self.recording["columns"], *(camera["name"] for camera in self.recording["cameras"])]
        self.rows = {row[0]: dict(zip(columns, row, strict=True)) for row in self.data["episodes"]}

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._inside = self.tags[-1]

    def handle_endtag(self, tag):
        self._inside = ("", {})

    def handle_data(self, data):
        tag, attributes = self._inside
        name = attributes.get("id") or tag
        self.texts[name] = self.texts.get(name, "") + data


def _refuse(constant):
    raise ValueError(f"{constant} is no JSON")
