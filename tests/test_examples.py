import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_a_simulation_of_ones_own_is_filmed(tmp_path):
    import av

    video = tmp_path / "pendulums.mp4"
    subprocess.run([sys.executable, EXAMPLES / "film_your_own_simulation.py", video], check=True, capture_output=True)
    with av.open(video) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert len(frames) == 150
    assert frames[0].shape == (256, 256, 3)
    # Almost alike at first, and chaotic: the first and the last go their own ways.
    first, last = (frame.astype(int) for frame in (frames[0], frames[-1]))
    apart = [abs(frame[:128, :128] - frame[128:, 128:]).mean() for frame in (first, last)]
    assert apart[1] > 2 + 3 * apart[0]
