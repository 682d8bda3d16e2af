"""Arrays of any library and device as NumPy arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["host_array"]


def host_array(array: Any) -> NDArray:
    """The array on the host, of the same shape and type: NumPy as it is, torch and Warp arrays copied where they lie on a GPU."""
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "detach"):
        return array.detach().cpu().numpy()
    if hasattr(array, "numpy"):
        return array.numpy()
    return np.asarray(array)
