"""``python -m rollfilm`` is the command ``rollfilm``."""

import sys

from rollfilm.cli import run

sys.exit(run())
