"""Recorders that are killed at random moments: whatever had ended is whole, and what is left can be recovered."""

import os
import subprocess
import sys
from pathlib import Path

#: 8 in every run of the tests; ``ROLLFILM_KILLS=200`` for the whole.
KILLS = int(os.environ.get("ROLLFILM_KILLS", "8"))


def test_finished_episodes_survive_a_kill_at_any_moment_in_every_format(tmp_path):
    script = Path(__file__).with_name("kill_recorders.py")
    answer = subprocess.run([sys.executable, script, tmp_path, str(KILLS), "1"], capture_output=True, text=True, timeout=60 + 10 * KILLS)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    summary = dict(item.rsplit(" ", 1) for item in answer.stdout.splitlines()[-1].split(", "))
    assert int(summary["good"]) == KILLS
    assert int(summary["killed"]) >= KILLS // 4, "most kills came too late to show anything"
