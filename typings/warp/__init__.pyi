# Warp turns classes into structs and functions into kernels, which no Python type checker follows. To it all of Warp's names are Any.
from typing import Any

def __getattr__(name: str) -> Any: ...
