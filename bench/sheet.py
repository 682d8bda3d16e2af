"""The pictures of one case side by side, as one PNG, with their difference from MuJoCo's own renderer."""

from pathlib import Path

import numpy as np

from rollfilm.cli.png import write_png

__all__ = ["difference", "write_sheet"]

SMALLEST_TILE = 256
DIFFERENCE_GAIN = 4
LABEL_ROWS = 18


def difference(left: np.ndarray, right: np.ndarray) -> float:
    """Mean absolute difference of two pictures, in levels of 255."""
    return float(np.abs(left.astype(np.int16) - right).mean())


def write_sheet(path: Path, pictures: dict[str, np.ndarray], reference: str = "mujoco") -> list[str]:
    """Write the pictures (H, W, 3) from left to right, then how rollfilm differs from the reference; give the labels back.

    Small pictures are enlarged by whole factors. Labels are drawn where pillow is installed.
    """
    tiles = dict(pictures)
    if "rollfilm" in tiles and reference in tiles:
        apart = np.abs(tiles["rollfilm"].astype(np.int16) - tiles[reference]) * DIFFERENCE_GAIN
        tiles[f"|rollfilm - {reference}| x{DIFFERENCE_GAIN}"] = apart.clip(0, 255).astype(np.uint8)
    columns = []
    for label, tile in tiles.items():
        factor = max(1, SMALLEST_TILE // max(tile.shape[:2]))
        large = tile.repeat(factor, axis=0).repeat(factor, axis=1)
        columns.append(np.concatenate([_label(label, large.shape[1]), large]))
    write_png(path, np.concatenate(columns, axis=1))
    return list(tiles)


def _label(text: str, width: int) -> np.ndarray:
    strip = np.full((LABEL_ROWS, width, 3), 24, np.uint8)
    try:
        from PIL import Image, ImageDraw
    except ImportError:
        return strip
    image = Image.fromarray(strip)
    ImageDraw.Draw(image).text((4, 3), text, fill=(255, 255, 255))
    return np.asarray(image)
