"""Records, kills the recorder with SIGKILL at a random moment, recovers and verifies: kill_recorders.py FOLDER COUNT SEED.

Each recording runs in a process forked from this one, which has loaded everything and started no thread. Prints a line for each kill and
exits with 1 if a finished episode was lost or anything is wrong with what was recovered.
"""

import json
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from counting_env import CountingVectorEnv, counting_policy
from recorded_files import levels
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.record import Recorder, RecorderOptions
from rollfilm.record.reading import Recording
from rollfilm.record.recover import recover
from rollfilm.record.verify.run import verify

FORMATS = (("maniskill",), ("lerobot",), ("robomimic",), ("jsonl",), ("maniskill", "lerobot", "robomimic"))


class Plan:
    """What is recorded, and when it is killed."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.num_envs = chance.choice([1, 2, 3, 5, 8])
        self.episodes = self.num_envs * chance.choice([2, 4, 8])
        self.formats = chance.choice(FORMATS)
        self.keep = chance.choice(["all", "success", "all"])
        self.filmed = chance.random() < 0.2
        self.video_when = chance.choice(["online", "after"]) if self.filmed else "online"
        # from its very beginning to after its end, and often while files are put together
        self.kind = chance.choice(["start", "running", "running", "running", "closing", "closing"])
        self.moment = chance.random()
        self.pause = chance.choice([0.0, 0.001, 0.004])

    def __str__(self) -> str:
        env = f"filmed, videos {self.video_when}" if self.filmed else "counting"
        return f"{self.kind} {'+'.join(self.formats)}, keep {self.keep}, {self.num_envs} worlds, {self.episodes} episodes, {env}"


def make_env(plan: Plan) -> CountingVectorEnv:
    if plan.filmed:
        from filmed_env import FilmedVectorEnv

        return FilmedVectorEnv(plan.num_envs, {"front": (36, 48), "wrist": (24, 32)})
    return CountingVectorEnv(plan.num_envs, {"front": (36, 48), "wrist": (16, 16)}, contrast=20)


def record(plan: Plan, folder: Path, ready: int) -> None:
    env = make_env(plan)
    env.reset(seed=1)
    env.frames()
    os.write(ready, b"b")
    options = RecorderOptions(keep=plan.keep, formats=plan.formats, video_when=plan.video_when, seed=1)  # type: ignore[arg-type]
    with Recorder.for_env(env, folder, options) as recorder:
        run_episodes(env, counting_policy, num_episodes=plan.episodes, seed=1, recorder=recorder, progress=lambda _: time.sleep(plan.pause))
        os.write(ready, b"c")
    os.write(ready, b"e")


def in_a_process(work, *arguments) -> int:
    """The id of a process that does some work and ends."""
    process = os.fork()
    if process:
        return process
    try:
        work(*arguments)
        sys.stdout.flush()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


def wait_for(ready: int, mark: bytes) -> bool:
    while got := os.read(ready, 1):
        if got == mark:
            return True
    return False


def kill_one(plan: Plan, folder: Path) -> bool:
    """Record and kill; whether the process was still there to be killed."""
    ready, told = os.pipe()
    process = in_a_process(record, plan, folder, told)
    os.close(told)
    wait_for(ready, b"c" if plan.kind == "closing" else b"b")
    # a step takes some milliseconds, closing some tens of them
    longest = {"start": 0.05, "running": 0.05 + plan.episodes / plan.num_envs * 4 * (0.02 + plan.pause), "closing": 0.25}[plan.kind]
    time.sleep(plan.moment * longest)
    os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    os.close(ready)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the recorder failed by itself"
    return os.WIFSIGNALED(status)


def check(plan: Plan, folder: Path) -> None:
    """Recover and verify; everything that had a line is still there, and shows what it should."""
    path = folder / "episodes.jsonl"
    whole = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    before = {line["episode"]: line for line in map(json.loads, whole)}
    if not folder.exists() or not (folder / "recording.json").exists():
        assert not before
        print("    nothing was there yet")
        return
    recovery = recover(folder)
    if not (folder / "recording.json").exists():
        assert not before
        assert not list(folder.rglob("*.*"))
        print(f"    {recovery.lost}")
        return
    recording = Recording(folder)
    assert {line["episode"]: line for line in recording.episodes} == before, "a finished episode was lost"
    verdict = verify(folder)
    assert not verdict.faults, "\n".join(map(str, verdict.faults))
    assert recording.manifest["status"] in ("recovered", "complete")
    kept = [line for line in recording.kept if line["ended"] != "cut"]
    for line in kept[::5]:
        index, steps = line["episode"], line["steps"]
        expected = 10 * line["world"] + 20 * np.arange(steps + 1)
        if not plan.filmed:
            assert np.abs(np.array(levels(recording.video_path("front", index))) - expected).max() <= 4, index
        if "maniskill" in plan.formats:
            assert recording.trajectory(index)["actions"][:, 1].tolist() == [index] * steps
    if "lerobot" in plan.formats and kept:
        assert json.loads((folder / "lerobot" / "meta" / "info.json").read_text())["total_episodes"] == len(kept)
    if "robomimic" in plan.formats and kept:
        import h5py

        with h5py.File(folder / "robomimic.hdf5") as file:
            assert set(file["data"]) == {f"demo_{line['episode']}" for line in kept}
    assert not list(folder.rglob("*.part"))
    print(f"    {recovery.kept} of {recovery.episodes} kept, lost: {'; '.join(recovery.lost) or 'nothing'}")


def main() -> int:
    root, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    results: Counter[str] = Counter()
    for number in range(seed, seed + count):
        plan, folder = Plan(number), root / f"recording_{number:04d}"
        killed = kill_one(plan, folder)
        print(f"{number}: {plan}, killed: {killed}", flush=True)
        process = in_a_process(check, plan, folder)
        good = os.waitpid(process, 0)[1] == 0
        results["killed" if killed else "too late"] += 1
        results["good" if good else "BAD"] += 1
        if good:
            shutil.rmtree(folder, ignore_errors=True)
    print(", ".join(f"{name} {times}" for name, times in results.items()), flush=True)
    return 1 if results["BAD"] else 0


if __name__ == "__main__":
    sys.exit(main())
