import numpy as np
import pytest

from rollfilm.errors import RecordingError
from rollfilm.record.rows import RowSpool, flatten


def test_rows_come_back_in_order_whether_they_fit_into_memory_or_not(tmp_path):
    for width in (1, 2000):
        spool = RowSpool(tmp_path)
        for step in range(700):
            spool.append({"a/b": np.full(width, step, np.float32), "flag": np.asarray(step % 2 == 0)})
        blocks = list(spool.blocks())
        assert [start for start, _ in blocks] == [0, 256, 512]
        rows = np.concatenate([block for _, block in blocks])
        assert (rows["a/b"] == np.arange(700)[:, None]).all()
        assert (rows["flag"] == (np.arange(700) % 2 == 0)).all()
        spool.close()
    assert list(tmp_path.iterdir()) == []


def test_a_row_of_another_shape_is_refused(tmp_path):
    spool = RowSpool(tmp_path)
    spool.append({"x": np.zeros(3)})
    with pytest.raises(RecordingError, match="row 1"):
        spool.append({"x": np.zeros(1)})
    with pytest.raises(RecordingError, match="row 1"):
        spool.append({"y": np.zeros(3)})
    spool.close()


def test_nested_mappings_become_paths():
    assert list(flatten({"a": {"b": 1, "c": {"d": 2}}}, "obs")) == ["obs/a/b", "obs/a/c/d"]
