"""What the README shows must run."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_the_python_example_runs_as_printed(capsys):
    pytest.importorskip("rollfilm.engines.mujoco")
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    assert "(8, 120, 160, 3) (8, 120, 160)" in capsys.readouterr().out


@pytest.mark.parametrize("page", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]), ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path):
    links = re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text())
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing
