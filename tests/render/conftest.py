"""Levels of detail are built into a folder of the tests' own."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def _levels_in_a_folder_of_ones_own(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROLLFILM_CACHE", str(tmp_path_factory.mktemp("levels")))
        yield
