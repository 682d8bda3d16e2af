"""What of a model is not drawn, gathered into one line."""

__all__ = ["Missing"]

#: Names that are spelled out for one reason; more are counted.
_NAMED = 5


class Missing:
    """Things that are left out of a scene, by the reason why."""

    def __init__(self) -> None:
        self._things: dict[str, list[str]] = {}

    def add(self, thing: object, reason: str) -> None:
        """``thing`` is not drawn for ``reason``."""
        self._things.setdefault(reason, []).append(str(thing))

    def warnings(self) -> list[str]:
        """One line that names everything, or none."""
        parts = []
        for reason, things in self._things.items():
            more = len(things) - _NAMED
            parts.append(f"{', '.join(things[:_NAMED])}{f' and {more} more' if more > 0 else ''} ({reason})")
        return [f"not drawn: {'; '.join(parts)}"] if parts else []
