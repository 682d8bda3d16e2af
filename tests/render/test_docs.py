"""What the page on rendering shows runs, and prints what it says."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "render.md"


def test_the_examples_print_what_they_say(capsys):
    # each goes on where the one before ended
    example = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL))
    exec(compile(example, str(PAGE), "exec"), {})
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(("Module ", "Warp ", " "))]
    assert lines == re.findall(r"print\(.*\)  # (.*)", example)
