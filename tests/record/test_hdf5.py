import h5py
import numpy as np
import pytest

from full_disk import files_of_at_most
from rollfilm.record.hdf5 import writing_hdf5


def fill(file):
    group = file.create_group("a", track_order=True)
    for index in range(8):
        group.create_dataset(f"b{index}", data=np.arange(1000.0))
    group.create_dataset("c", (100, 100), "f4", compression="gzip")[:] = 3
    group.attrs["json"] = "x" * 1000


@pytest.mark.parametrize("num_bytes", [0, 100, 1000, 3000, 20_000, 50_000])
def test_a_disk_that_is_full_is_one_error_and_the_file_closes(tmp_path, num_bytes):
    with files_of_at_most(num_bytes), pytest.raises(OSError, match="File too large"), writing_hdf5(tmp_path / "a.h5") as file:
        fill(file)
    assert not file.id.valid


def test_what_is_written_is_read(tmp_path):
    with writing_hdf5(tmp_path / "a.h5") as file:
        fill(file)
    with h5py.File(tmp_path / "a.h5") as file:
        np.testing.assert_array_equal(file["a/b7"], np.arange(1000.0))
        assert file["a/c"][99, 99] == 3
