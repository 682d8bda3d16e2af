import math

import pytest

from rollfilm.errors import InvalidArgumentError
from rollfilm.scene import Camera


@pytest.mark.parametrize("fov", [0.0, -1.0, math.pi, 3.5, math.nan, math.inf])
def test_a_field_of_view_that_no_pinhole_has_is_refused(fov):
    with pytest.raises(InvalidArgumentError, match=r"camera 'odd': fov_y_rad is .*between 0 and pi"):
        Camera("odd", fov_y_rad=fov)
