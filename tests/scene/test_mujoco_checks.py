import mujoco
import pytest

from rollfilm.errors import ModelError
from rollfilm.scene.mujoco import load_scene

MODEL = """<mujoco><worldbody><light name="lamp" pos="0 0 3"/><body name="arm"><geom name="hand" size="1"/><camera name="eye"/></body>
</worldbody></mujoco>"""


@pytest.mark.parametrize(
    ("kind", "name", "field", "said"),
    [
        ("body", "arm", "pos", "pos of body 'arm'"),
        ("geom", "hand", "size", "size of geom 'hand'"),
        ("geom", "hand", "rgba", "rgba of geom 'hand'"),
        ("cam", "eye", "quat", "quat of cam 'eye'"),
        ("light", "lamp", "dir", "dir of light 'lamp'"),
    ],
)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1e20])
def test_what_is_no_number_is_refused_by_name(kind, name, field, said, value):
    model = mujoco.MjModel.from_xml_string(MODEL)
    row = getattr(model, kind)(name)
    getattr(row, field)[0] = value
    with pytest.raises(ModelError, match=said):
        load_scene(model)


def test_a_sound_model_passes():
    assert len(load_scene(MODEL).geoms) == 1
