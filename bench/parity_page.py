"""The parity page of the documentation: every scene as rollfilm and as MuJoCo film it, and what tells them apart."""

import statistics
from pathlib import Path

import numpy as np

__all__ = ["write_page"]

TILE = 200
DIFFERENCE_GAIN = 4

HEAD = """# Parity with MuJoCo's renderer

{count} scenes of [MuJoCo Menagerie](https://github.com/google-deepmind/mujoco_menagerie), each with a table, a textured box and a height
field added, filmed at 480 x 480 pixels by rollfilm (`RenderOptions.mujoco_look()`) and by `mujoco.Renderer` as it comes: shadows, 4
samples a pixel, reflections. Sites are off in both. This page and its pictures are written by one command, which also appends all
numbers to `bench/out/parity.jsonl`:

```
python bench/parity.py --page docs/parity.md
```

Measured with {versions}.

| | measured | bar | |
|---|---|---|---|
{summary}

What is measured:

- **SSIM**: Wang et al. 2004, Gaussian window of 11 x 11 pixels, mean of the three channels.
- **depth**: the difference away from edges, as it would be at 2 m: its 99.9th percentile and the largest of all pixels. Levels of detail
  may be a quarter of a pixel off, which is more than a millimetre of depth where a surface falls off steeply: the pixels above 1 mm, 8 of
  t1 and 1 of h1, show surfaces 76 degrees aslant, where a pixel spans 4 mm of depth, that lie 0.3 mm off, a tenth of a pixel. With
  `lod_pixels=0.24` none is above 1 mm, for 1 to 8 % more triangles. Edges are found in MuJoCo's picture alone: pixels with another geom
  at most two pixels away, or at most one pixel from where depth bends by more than a part in a thousand.
- **ids**: intersection over union of each geom's pixels, weighted with their number. **worst geom** is that of the worst of all geoms
  with at least 500 pixels; there the pixels are left out at which two geoms coincide (their depths are the same to five millionths) and
  each renderer shows another of them: of such geoms rollfilm shows the later one, MuJoCo a pattern of rounding errors. Their number
  is given.
- **levels**: PSNR of the levels of detail against full detail, both sides by rollfilm, with the same number of samples on both sides,
  no shadows. The bar is for pictures whose pixels are the mean of 64 samples (at 64 and 128 pixels), 16 (256) and 4 (512): they show how
  far surfaces have moved. In brackets are those of one sample a pixel. There a silhouette that moves by a thirtieth of a pixel flips
  one in thirty of the pixels along it from one colour to another, and at 64 x 64 pixels a single pixel that is off by 160 uses up all
  the error that 40 dB allow: {single}
  No levels can hold it: **full detail against itself, moved by a fiftieth of a pixel**, has 32 to 41 dB at 64 pixels and 37 to 44 at 128
  (moved by a twentieth 29 to 35 and 33 to 38; four scenes, `python bench/parity_floor.py`). The levels lie as far
  off as full detail moved by 0.02 to 0.05 pixels. What is off are pixels along silhouettes (h1: 95 % of the error in 9 pixels that show
  another geom) and along folds and holes within a geom (apollo, t1); levels that keep those to a hundredth of a pixel are full detail.
- In brackets behind SSIM, depth and ids: the same with full detail.

| scene | SSIM | depth mm, 99.9 % | largest | ids | worst geom | coincident px | levels dB at 64, 128, 256, 512 px | triangles |
|---|---|---|---|---|---|---|---|---|
{rows}

{finer}## What differs, and why

- MuJoCo lights corners of triangles and blends between them, rollfilm lights pixels. Where triangles are large, as those of aloha's table
  top under three spots, or a light is narrow, MuJoCo's are darker or duller.
- MuJoCo's samples lie in a rotated pattern and each triangle in a pixel is lit; rollfilm's lie on a grid and each surface is lit once. So
  pixels along silhouettes and ridges of height fields differ.
- MuJoCo's shadow maps cover a part of the scene with up to 8192 texels a side, rollfilm's what casts shadows with 1024, and their edges
  are a texel softer; where light grazes a surface (t1's chest below its head) shadows end a few pixels early. With
  `RenderOptions.mujoco_look(shadow_map_size=4096)` aloha has an SSIM of 0.986 and t1 one of 0.984.
- MuJoCo's shadow maps leave dark specks along the triangles of height fields that face away from the light; rollfilm's do not.
- Beyond the border of its shadow map MuJoCo shades stripes of the floor (behind barkour and go1 to the left); rollfilm does not.
- Where geoms coincide MuJoCo shows a pattern of both (leap-left's palm), rollfilm the later one.
- MuJoCo paints a tendon red whose length is beyond its range (robotiq-2f85): rollfilm draws it in its own colour.

## Side by side

From left to right: rollfilm, MuJoCo, their difference times {gain}.

"""

FINER_HEAD = """With one sample a pixel finer levels give and cost this: the lowest and the median PSNR of all scenes, and how many
times the triangles of the default are drawn (median).

| `lod_pixels` | 64 px | 128 px | 256 px | 512 px |
|---|---|---|---|---|
"""


def write_page(
    path: Path,
    records: list[dict],
    pictures: dict[str, dict[str, np.ndarray]],
    measured: dict[str, float],
    bars: dict[str, float],
    versions: dict[str, str],
) -> None:
    """Write the page to ``path`` and its pictures to ``images/parity`` beside it."""
    folder = path.parent / "images" / "parity"
    folder.mkdir(parents=True, exist_ok=True)
    verdicts = {name: value <= bars[name] if "mm" in name else value >= bars[name] for name, value in measured.items()}
    summary = "\n".join(f"| {n} | {measured[n]:.4g} | {bars[n]:g} | {'held' if good else 'missed'} |" for n, good in verdicts.items())
    text = HEAD.format(
        count=len(records),
        versions=", ".join(f"{name} {version}" for name, version in versions.items()),
        summary=summary,
        single="with one sample the bar is " + ("held." if verdicts.get("levels dB, 1 sample") else "not held."),
        rows="\n".join(map(_row, records)),
        finer=_finer(records),
        gain=DIFFERENCE_GAIN,
    )
    for record in records:
        name = record["scene"]
        _write_sheet(folder / f"{name}.jpg", pictures[name]["rollfilm"], pictures[name]["mujoco"])
        text += f"**{name}**, SSIM {record['ssim']:.4f}\n\n![{name}](images/parity/{name}.jpg)\n\n"
    path.write_text(text.rstrip() + "\n")


def _row(record: dict) -> str:
    full = record["full_detail"]
    cells = [
        f"{record['scene']} ({record['kind']})",
        f"{record['ssim']:.4f} ({full['ssim']:.4f})",
        f"{record['depth_mm_p999']:.2f} ({full['depth_mm_p999']:.2f})",
        f"{record['depth_mm_max']:.2f} ({full['depth_mm_max']:.2f})",
        f"{record['ids_iou_all']:.4f} ({full['ids_iou_all']:.4f})",
        f"{record['ids_iou_worst']:.3f} ({full['ids_iou_worst']:.3f})",
        f"{record['coincident_pixels']:,}",
    ]
    if "levels_db" in record:
        levels = next(iter(record["levels_db"].values()))
        cells.append(", ".join(f"{levels['filtered'][size]:.1f} ({levels['single'][size]:.1f})" for size in levels["filtered"]))
        cells.append(", ".join(f"{count:,}" for count in levels["triangles"].values()))
    else:
        cells += ["", ""]
    return f"| {' | '.join(cells)} |"


def _finer(records: list[dict]) -> str:
    """The table of what finer levels give; nothing if levels were not measured."""
    if "levels_db" not in records[0]:
        return ""
    first = next(iter(records[0]["levels_db"]))
    lines = []
    for allowed in records[0]["levels_db"]:
        cells = [allowed]
        for size in records[0]["levels_db"][allowed]["single"]:
            single = [r["levels_db"][allowed]["single"][size] for r in records]
            more = [r["levels_db"][allowed]["triangles"][size] / r["levels_db"][first]["triangles"][size] for r in records]
            cells.append(f"{min(single):.1f}, {statistics.median(single):.1f} dB; x {statistics.median(more):.1f}")
        lines.append(f"| {' | '.join(cells)} |")
    return FINER_HEAD + "\n".join(lines) + "\n\n"


def _write_sheet(path: Path, mine: np.ndarray, theirs: np.ndarray) -> None:
    from PIL import Image

    apart = (np.abs(mine.astype(np.int16) - theirs) * DIFFERENCE_GAIN).clip(0, 255).astype(np.uint8)
    tiles = [np.asarray(Image.fromarray(picture).resize((TILE, TILE), Image.Resampling.BOX)) for picture in (mine, theirs, apart)]
    Image.fromarray(np.concatenate(tiles, axis=1)).save(path, quality=76, optimize=True)
