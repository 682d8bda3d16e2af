"""The parity page of the documentation: every scene as rollfilm and as MuJoCo film it, and what tells them apart."""

from pathlib import Path

import numpy as np

__all__ = ["write_page"]

TILE = 300
DIFFERENCE_GAIN = 4

HEAD = """# Parity with MuJoCo's renderer

{count} scenes of [MuJoCo Menagerie](https://github.com/google-deepmind/mujoco_menagerie), each with a table, a textured box and a height
field added, filmed at 480 x 480 pixels by rollfilm and by `mujoco.Renderer` in its default look. Sites are off in both. This page and its
pictures are written by one command:

```
python bench/parity.py --page docs/parity.md
```

| | measured | bar | |
|---|---|---|---|
{summary}

- **SSIM**: Wang et al. 2004, Gaussian window of 11 x 11 pixels, mean of the three channels.
- **depth**: the 99.9th percentile of the difference away from edges, scaled to a depth of 2 m, with the default levels of detail; in
  brackets with full detail.
- **ids**: intersection over union of each geom's pixels, weighted with their number; in brackets with full detail.
- **levels**: PSNR of the levels of detail against full detail at 64, 128, 256 and 512 pixels, averaged over many samples a pixel; in
  brackets with one sample a pixel, where a single pixel that an edge just misses costs decibels at small sizes.

| scene | SSIM | depth mm at 2 m | ids | levels dB | triangles at 64, 128, 512 px |
|---|---|---|---|---|---|
{rows}

From left to right: rollfilm, MuJoCo, their difference times {gain}.

"""


def write_page(path: Path, records: list[dict], pictures: dict[str, dict[str, np.ndarray]], measured: dict[str, float], bars: dict) -> None:
    """Write the page to ``path`` and its pictures to ``images/parity`` beside it."""
    folder = path.parent / "images" / "parity"
    folder.mkdir(parents=True, exist_ok=True)
    verdicts = {name: value <= bars[name] if "mm" in name else value >= bars[name] for name, value in measured.items()}
    summary = "\n".join(f"| {n} | {measured[n]:.4g} | {bars[n]:g} | {'held' if good else 'missed'} |" for n, good in verdicts.items())
    text = HEAD.format(count=len(records), summary=summary, rows="\n".join(map(_row, records)), gain=DIFFERENCE_GAIN)
    for record in records:
        name = record["scene"]
        _write_sheet(folder / f"{name}.jpg", pictures[name]["rollfilm"], pictures[name]["mujoco"])
        text += f"**{name}**, SSIM {record['ssim']:.4f}\n\n![{name}](images/parity/{name}.jpg)\n\n"
    path.write_text(text.rstrip() + "\n")


def _row(record: dict) -> str:
    full, levels = record["full_detail"], record.get("levels_db")
    cells = [
        f"{record['scene']} ({record['kind']})",
        f"{record['ssim']:.4f}",
        f"{record['depth_mm_p999']:.2f} ({full['depth_mm_p999']:.2f})",
        f"{record['ids_iou']:.4f} ({full['ids_iou']:.4f})",
    ]
    if levels:
        cells.append(", ".join(f"{levels['filtered'][size]:.1f} ({levels['aliased'][size]:.1f})" for size in levels["filtered"]))
        cells.append(", ".join(f"{levels['triangles'][size]:,}" for size in ("64", "128", "512")))
    else:
        cells += ["", ""]
    return f"| {' | '.join(cells)} |"


def _write_sheet(path: Path, mine: np.ndarray, theirs: np.ndarray) -> None:
    from PIL import Image

    apart = (np.abs(mine.astype(np.int16) - theirs) * DIFFERENCE_GAIN).clip(0, 255).astype(np.uint8)
    tiles = [np.asarray(Image.fromarray(picture).resize((TILE, TILE), Image.Resampling.BOX)) for picture in (mine, theirs, apart)]
    Image.fromarray(np.concatenate(tiles, axis=1)).save(path, quality=80, optimize=True)
