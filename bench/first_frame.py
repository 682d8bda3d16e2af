"""How long a user waits: the first frame of the Panda on an empty and on a warm cache, and ``import rollfilm``.

Each is measured in a process of its own, from its start to the picture on the host.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

__all__ = ["film_once", "measure_first_frames"]

BENCH = Path(__file__).parent
SIZE = 256
IMPORTS = 7


def measure_first_frames(robot: str, device: str, menagerie: Path | None) -> dict:
    """Seconds to the first frame with both caches empty, then warm; seconds of ``import rollfilm`` (median)."""
    with tempfile.TemporaryDirectory() as caches:
        environment = os.environ | {"ROLLFILM_CACHE": f"{caches}/rollfilm", "WARP_CACHE_PATH": f"{caches}/warp"}
        command = [sys.executable, str(BENCH / "render.py"), "--film-once", "--robot", robot, "--device", device]
        command += ["--menagerie", str(menagerie)] if menagerie else []
        first_frame = {cache: _run(command, environment) for cache in ("empty", "warm")}
    code = "import time; started = time.perf_counter(); import rollfilm; print(time.perf_counter() - started)"
    imports = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(IMPORTS)
    ]
    return {"first_frame_s": first_frame, "import_rollfilm_s": statistics.median(imports)}


def _run(command: list[str], environment: dict[str, str]) -> dict[str, float]:
    started = time.time()
    answer = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    marks = json.loads(answer.stdout.splitlines()[-1])
    names = list(marks)
    steps = {name: marks[name] - before for name, before in zip(names, [started, *marks.values()], strict=False)}
    return {"total": marks[names[-1]] - started} | steps


def film_once(robot: str, device: str, menagerie: Path | None) -> None:
    """Film one world with one camera, and print when each part was done, as JSON on the last line."""
    marks = {"start": time.time()}

    def mark(name: str) -> None:
        marks[name] = time.time()

    from rollfilm.engines.still import StillPoses
    from rollfilm.render import BatchRenderer, CameraRequest
    from rollfilm.scene import BodyPoses
    from rollfilm.scene.mujoco import load_scene
    from scenes import build_model, place_worlds

    mark("import")
    model, qpos = build_model(robot, menagerie, SIZE)
    poses = place_worlds(model, qpos, 1, seed=0)
    mark("model")
    scene = load_scene(model)
    mark("scene")
    renderer = BatchRenderer(scene, 1, [CameraRequest("front", SIZE, SIZE)], device=device)
    mark("renderer")
    position, quat = poses.body_position, poses.body_quat_wxyz
    if device != "cpu":
        import warp as wp

        position, quat = (wp.array(array, dtype=float, device=device) for array in (position, quat))
    rgb = renderer.render(StillPoses(scene, BodyPoses(position, quat), device))["front"].rgb
    from renderers import to_numpy

    to_numpy(rgb)
    mark("frame")
    print(json.dumps(marks))
