"""Names of formats on the command line."""

__all__ = ["parse_formats"]


def parse_formats(text: str) -> tuple[str, ...]:
    """The formats in ``"maniskill,lerobot"``; ``"none"`` is none of them.

    Raises:
        InvalidArgumentError: a name is unknown.
        MissingExtraError: a package that a format needs is not installed.
    """
    from rollfilm.record.formats import checked_formats

    names = [] if text.strip() == "none" else [name.strip() for name in text.split(",")]
    return checked_formats(names)
