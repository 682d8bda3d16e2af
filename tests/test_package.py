"""The house itself: what importing costs, and which room may import which."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import rollfilm

PACKAGE = Path(rollfilm.__file__).parent
HEAVY = ("warp", "mujoco", "mujoco_warp", "gymnasium", "av", "h5py", "torch", "tyro", "rich")
SIMULATORS = {"mujoco", "mujoco_warp", "genesis", "mani_skill", "sapien", "newton"}

#: What each room may import besides itself and the BASE. Every room lies above those that it names.
ROOMS: dict[str, set[str]] = {
    "errors": set(),
    "geometry": set(),
    "memory": set(),
    "arguments": set(),
    "interrupt": set(),
    "cores": set(),
    "cpu_flags": set(),
    "host": set(),
    "seeds": set(),
    "scene": {"geometry"},
    "render": {"scene", "geometry"},
    "engines": {"scene", "geometry"},
    "record": {"render", "scene", "geometry"},
    "policies": {"geometry"},
    "envs": {"engines", "render", "scene", "geometry", "policies"},
    "evaluate": {"envs", "policies", "record", "engines", "render", "scene", "geometry"},
    "profile": set(),
    "testing": {"engines", "scene"},
}
BASE = {"arguments", "cores", "cpu_flags", "errors", "host", "interrupt", "memory", "seeds", "__version__"}
#: These may import every room: the command line, and the package itself, which offers other rooms' names on demand.
ANYTHING = {"cli", "__init__", "__main__"}

FILES = sorted(PACKAGE.rglob("*.py"))


def imports_of(path: Path) -> set[str]:
    """Full dotted names of all that a file imports, at the top and inside functions, but not for the type checker alone."""
    names: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(path.read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the room that they come from"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def test_no_room_lies_above_itself():
    for room, below in ROOMS.items():
        assert room not in below | {deeper for lower in below for deeper in ROOMS[lower]}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_rooms_import_only_what_lies_below_them(path: Path):
    room = room_of(path)
    if room in ANYTHING:
        return
    used = {name.split(".")[1] for name in imports_of(path) if name.startswith("rollfilm.")}
    assert used <= ROOMS[room] | BASE | {room}


@pytest.mark.parametrize("path", [path for path in FILES if room_of(path) in ("scene", "render", "record")], ids=name_of)
def test_only_the_importer_of_models_knows_a_simulator_below_the_engines(path: Path):
    used = {name.split(".")[0] for name in imports_of(path)} & SIMULATORS
    assert used <= ({"mujoco"} if name_of(path).startswith("scene/mujoco") else set())


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*/kernels/*.py")), ids=name_of)
def test_kernels_import_only_warp_and_each_other(path: Path):
    foreign = {name for name in imports_of(path) if name.split(".")[0] not in sys.stdlib_module_names}
    allowed = ("warp", f"rollfilm.{room_of(path)}.kernels", "rollfilm.cpu_flags")
    assert {name for name in foreign if not name.startswith(allowed)} == set()


def test_import_loads_nothing_heavy():
    code = "import json, sys, rollfilm; print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(HEAVY) & set(json.loads(answer.stdout))


@pytest.mark.parametrize(
    "module",
    [
        "rollfilm.scene.mujoco",
        "rollfilm.render",
        "rollfilm.record.manifest",
        "rollfilm.cli.info",
        "rollfilm.cli.record",
        "rollfilm.cli.render",
    ],
)
def test_warp_waits_until_something_is_rendered(module):
    code = f"import sys, {module}; sys.exit('warp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_python_m_rollfilm_is_the_command():
    answer = subprocess.run([sys.executable, "-m", "rollfilm", "--version"], capture_output=True, text=True, check=True)
    assert answer.stdout == f"rollfilm {rollfilm.__version__}\n"


def test_every_dependency_is_used():
    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    source = "\n".join(path.read_text() for path in (root / "src").rglob("*.py"))
    for dependency in project["dependencies"]:
        package = re.split(r"[^\w-]", dependency)[0].replace("warp-lang", "warp")
        assert re.search(rf"^\s*(import|from) {package}\b", source, re.MULTILINE), f"nothing imports {dependency}"
