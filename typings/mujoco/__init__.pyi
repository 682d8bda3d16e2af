# MuJoCo's bindings are compiled and ship no types. To the type checker all of their names are Any.
from typing import Any

def __getattr__(name: str) -> Any: ...
