"""What the pages on rendering show runs, and prints what it says."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("page", ["render.md", "looks.md"])
def test_the_examples_print_what_they_say(page, capsys):
    # each goes on where the one before ended
    example = "\n".join(re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), flags=re.DOTALL))
    exec(compile(example, page, "exec"), {})
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(("Module ", "Warp ", " "))]
    assert lines == re.findall(r"print\(.*\)  # (.*)", example)
