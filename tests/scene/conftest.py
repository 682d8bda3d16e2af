"""What the tests of scenes share: an empty cache."""

import pytest


@pytest.fixture(autouse=True)
def _own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("ROLLFILM_CACHE", str(tmp_path / "cache"))
    # MuJoCo writes its log where it is called
    monkeypatch.chdir(tmp_path)
