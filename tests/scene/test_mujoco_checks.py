import mujoco
import pytest

from rollfilm.errors import ModelError
from rollfilm.scene.mujoco import load_scene

MODEL = """<mujoco><worldbody><light name="lamp" pos="0 0 3"/><body name="arm"><geom name="hand" size="1"/>
<camera name="eye"/><site name="tip"/></body>
<site name="hook"/></worldbody><tendon><spatial name="string"><site site="tip"/><site site="hook"/></spatial></tendon></mujoco>"""


@pytest.mark.parametrize(
    ("kind", "name", "field", "said"),
    [
        ("body", "arm", "pos", "pos of body 'arm'"),
        ("geom", "hand", "size", "size of geom 'hand'"),
        ("geom", "hand", "rgba", "rgba of geom 'hand'"),
        ("cam", "eye", "quat", "quat of cam 'eye'"),
        ("light", "lamp", "dir", "dir of light 'lamp'"),
        ("site", "tip", "pos", "pos of site 'tip'"),
        ("tendon", "string", "width", "width of tendon 'string'"),
    ],
)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1e20])
def test_what_is_no_number_is_refused_by_name(kind, name, field, said, value):
    model = mujoco.MjModel.from_xml_string(MODEL)
    rows = getattr(model, f"{kind}_{field}")
    rows.reshape(len(rows), -1)[getattr(model, kind)(name).id, 0] = value
    with pytest.raises(ModelError, match=said):
        load_scene(model)


def test_a_sound_model_passes():
    assert len(load_scene(MODEL).geoms) == 2
