"""Imported before MuJoCo, which reads this variable when it is imported: draw without a display, unless the user says otherwise."""

import os

os.environ.setdefault("MUJOCO_GL", "egl")
