"""Imported before MuJoCo, which reads this variable when it is imported: draw without a display, unless the user says otherwise.

Where there is no EGL, MuJoCo is left to find out by itself: told to use it, it cannot even be imported.
"""

import os
from ctypes.util import find_library

if find_library("EGL"):
    os.environ.setdefault("MUJOCO_GL", "egl")
