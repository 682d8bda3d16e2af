"""What the page on scenes shows runs, and prints what it says."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "scene.md"


def test_the_examples_print_what_they_say(capsys):
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert len(examples) >= 3
    names: dict = {}
    for example in examples:
        exec(compile(example, str(PAGE), "exec"), names)
    lines = capsys.readouterr().out.splitlines()
    assert lines == re.findall(r"print\(.*\)  # (.*)", "".join(examples))
