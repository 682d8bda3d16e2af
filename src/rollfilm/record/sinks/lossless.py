"""Depth and ids as they are: an HDF5 file for each episode and camera."""

import contextlib
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import RecordingError
from rollfilm.record.hdf5 import writing_hdf5
from rollfilm.record.layout import Layout
from rollfilm.record.pool import EncoderPool, PooledVideo
from rollfilm.record.ring import Picture
from rollfilm.record.sinks.per_camera import PerCameraSink
from rollfilm.record.video import PARTIAL_SUFFIX
from rollfilm.render.request import CameraRequest

__all__ = ["LosslessSink", "LosslessWriter"]

#: zlib's: the fastest. Level 6 makes depth 3 % smaller in three times the time.
_LEVEL = 1


class LosslessWriter:
    """Appends pictures to the datasets of one HDF5 file, a compressed chunk each; the file has its name only once it is whole.

    A dataset is ``(T + 1, H, W)`` of the output's own type, with HDF5's filters ``shuffle`` and ``gzip``, which every reader knows.

    Args:
        path: of the finished file, in a folder that exists.

    Raises:
        RecordingError: the file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._count = 0
        self._datasets: dict[str, h5py.Dataset] = {}
        self._partial = path.with_name(path.name + PARTIAL_SUFFIX)
        self._stack = contextlib.ExitStack()
        try:
            self._file = self._stack.enter_context(writing_hdf5(self._partial))
        except OSError as error:
            raise self._failure(error) from error

    def write(self, pictures: Mapping[str, NDArray], /, *, last: bool = False) -> None:
        """Append a picture (H, W) of each output.

        Raises:
            RecordingError: it cannot be written.
        """
        # compressed here: HDF5 would hold a lock meanwhile, which the other threads wait for
        chunks = {name: zlib.compress(_shuffled(picture), _LEVEL) for name, picture in pictures.items()}
        try:
            for name, picture in pictures.items():
                dataset = self._datasets[name] if name in self._datasets else self._create(name, picture)
                dataset.resize(self._count + 1, axis=0)
                dataset.id.write_direct_chunk((self._count, 0, 0), chunks[name])
        except OSError as error:
            raise self._failure(error) from error
        self._count += 1

    def close(self) -> None:
        """Finish the file and give it its name.

        Raises:
            RecordingError: it cannot be written to its end. Nothing is left behind.
        """
        try:
            self._stack.close()
            self._partial.replace(self.path)
        except OSError as error:
            self.abort()
            raise self._failure(error) from error

    def abort(self) -> None:
        """Throw away what was written. Raises nothing: where the file cannot be deleted, it stays under its ``.part`` name."""
        with contextlib.suppress(OSError):
            self._stack.close()
        with contextlib.suppress(OSError):
            self._partial.unlink(missing_ok=True)

    def _create(self, name: str, picture: NDArray) -> h5py.Dataset:
        shape = picture.shape
        filters = {"compression": "gzip", "compression_opts": _LEVEL, "shuffle": True}
        dataset = self._file.create_dataset(name, (0, *shape), picture.dtype, maxshape=(None, *shape), chunks=(1, *shape), **filters)
        return self._datasets.setdefault(name, dataset)

    def _failure(self, error: OSError) -> RecordingError:
        return RecordingError(f"cannot write {self.path}: {error.strerror or error}")


def _shuffled(picture: NDArray) -> bytes:
    """The first bytes of all numbers, then the second ones, and so on: HDF5's filter ``shuffle``."""
    return np.ascontiguousarray(picture).view(np.uint8).reshape(-1, picture.dtype.itemsize).T.tobytes()


class LosslessSink(PerCameraSink):
    """Writes ``lossless/<camera>/episode_<index>.h5``: outputs of each state, that of the reset first, the terminal one last.

    Args:
        layout: where the files go.
        pool: who compresses and writes.
        cameras: what is filmed.
        outputs: what is stored, of the cameras that have it.
    """

    def __init__(self, layout: Layout, pool: EncoderPool, cameras: Sequence[CameraRequest], outputs: Sequence[str]) -> None:
        stored = {camera.name: [name for name in outputs if name in camera.outputs] for camera in cameras}
        super().__init__(layout, (name for name, names in stored.items() if names), "lossless")
        self._pool = pool
        self._stored = stored
        self._pixels = {camera.name: camera.height * camera.width * len(stored[camera.name]) for camera in cameras}

    def _path(self, camera: str, episode: int) -> Path:
        return self._layout.lossless(camera, episode)

    def _begin(self, camera: str, episode: int) -> PooledVideo:
        path = self._path(camera, episode)
        return self._pool.open_with(lambda: LosslessWriter(path), self._pixels[camera])

    def _content(self, camera: str, picture: Picture) -> dict[str, NDArray]:
        return {name: picture.output(name) for name in self._stored[camera]}
