"""The batched renderer: every camera of all worlds in one call."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp
from numpy.typing import ArrayLike, NDArray

from rollfilm.arguments import require_integer
from rollfilm.cores import available_cores
from rollfilm.errors import InvalidArgumentError
from rollfilm.geometry import extrinsic_cv, intrinsic_cv_from_lens, quat_from_matrix, world_from_camera_gl
from rollfilm.render.active import Schedule
from rollfilm.render.batch import CameraBatch, ViewSize, exported, group_cameras
from rollfilm.render.bound import bind_outputs
from rollfilm.render.budget import MemoryPlan, free_bytes, plan_memory
from rollfilm.render.composite import SceneSurfaces, require_pinhole, require_samples
from rollfilm.render.cpu import CpuPipeline
from rollfilm.render.device import resolve_device
from rollfilm.render.frames import CameraFrames, CameraMatrices, Frames
from rollfilm.render.kernels.place import Poses
from rollfilm.render.kernels.types import WorldData
from rollfilm.render.looks import WorldLooks
from rollfilm.render.looks_buffers import LookBuffers
from rollfilm.render.options import DEFAULT_OPTIONS, RenderOptions
from rollfilm.render.poses import PoseBuffer
from rollfilm.render.request import CameraRequest
from rollfilm.render.scene_checks import require_sound
from rollfilm.render.scene_data import pack_placements, pack_scene, pack_subtrees
from rollfilm.render.shadows import allocate_maps
from rollfilm.render.working import Maps, Working, plan_working
from rollfilm.scene import BodyPoses, Camera, PoseSource, Scene

if TYPE_CHECKING:
    from rollfilm.render.cuda import CudaPipeline

__all__ = ["BatchRenderer"]


class BatchRenderer:
    """Films B worlds of one scene with any number of cameras, each with its own size and outputs.

    Pictures of the same state are the same bytes, whatever the batch size, the world's place in it, the other cameras or the
    number of threads. Nothing is kept from frame to frame.

    Args:
        scene: what can be seen.
        num_worlds: B.
        cameras: what to film; names must differ.
        device: ``"cpu"`` or ``"cuda:N"``.
        num_threads: host threads on the CPU; all cores that this process may use if None.
        options: how to draw.
        out: arrays of your own that pictures are written to, by camera and output, as in ``{"front": {"rgb": array}}``: NumPy on the CPU,
            anything that has DLPack on CUDA, of the shape and type that frames have.

    Raises:
        InvalidArgumentError: no camera, two of one name, a number out of its range, a scene whose indices name what is not there, or an
            array in ``out`` that does not fit.
        NotFoundError: a camera's name is unknown, or ``out`` names what was not asked for.
        DeviceError: there is no such device.
        MemoryBudgetError: the pictures need more memory than there is.
    """

    def __init__(
        self,
        scene: Scene,
        num_worlds: int,
        cameras: Sequence[CameraRequest],
        *,
        device: str = "cpu",
        num_threads: int | None = None,
        options: RenderOptions = DEFAULT_OPTIONS,
        out: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        if not isinstance(scene, Scene):
            raise InvalidArgumentError(f"scene is {type(scene).__name__}; give a rollfilm.scene.Scene, as load_scene makes it")
        num_worlds = require_integer(num_worlds, "num_worlds", lowest=1)
        if num_threads is not None:
            num_threads = require_integer(num_threads, "num_threads", lowest=1)
        if not isinstance(cameras, Sequence) or not all(isinstance(camera, CameraRequest) for camera in cameras):
            raise InvalidArgumentError("cameras must be a sequence of CameraRequest, as in [CameraRequest('front', 256, 256)]")
        if not isinstance(options, RenderOptions):
            raise InvalidArgumentError(f"options is {type(options).__name__}; give rollfilm.render.RenderOptions")
        if options.fog and scene.fog is None:
            raise InvalidArgumentError("fog was asked for, but this scene has none; give it one: dataclasses.replace(scene, fog=Fog(...))")
        self._scene, self._num_worlds, self._requests = scene, num_worlds, tuple(cameras)
        self._cameras = self._resolve_cameras()
        require_sound(scene, self._cameras)
        for request, camera in zip(self._requests, self._cameras, strict=True):
            require_samples(request, SceneSurfaces.of(scene), options)
            require_pinhole(camera, options)
        self._device = resolve_device(device)
        num_threads = num_threads or available_cores()
        bound = bind_outputs({} if out is None else out, self._requests, num_worlds, self._device)
        groups = group_cameras(self._requests, self._cameras, alone=bound)
        given = sum(array.size * wp.types.type_size_in_bytes(array.dtype) for arrays in bound.values() for array in arrays.values())
        self._plan = plan_memory(scene, num_worlds, groups, self._device, num_threads, options, given=given)
        # kept: kernels hold handles of the images in it
        self._packed = packed = pack_scene(scene, self._device, num_worlds)
        self._placements = pack_placements([thing.placement for thing in (*self._cameras, *scene.lights)], self._device, num_worlds)
        self._schedule = Schedule(num_worlds, [request.every for request in self._requests], self._device)
        self._world = self._allocate_world()
        maps, at_once = Maps.of(scene, num_worlds, groups, options), self._plan.worlds_at_once
        self._maps = replace(maps, fewest=at_once)
        allocate_maps(self._world, num_worlds, at_once, maps.num_lights, maps.side, self._device)
        self._poses = PoseBuffer(num_worlds, scene.bodies.names, self._device)
        self._bodies = self._pack_bodies()
        self._batches = [
            CameraBatch.build(members, packed, num_worlds, options, self._device, bound.get(members[0].request.name)) for members in groups
        ]
        structures = (packed.data, self._world, self._placements)
        self._looks = LookBuffers(scene, self._cameras, self._batches, num_worlds, structures, self._device)
        if packed.deformation is not None:
            self._looks.own_meshes = packed.deformation.geom_mesh
        self._num_threads, self._options = num_threads, options
        self._working = self._plan.working
        self._pipeline = self._make_pipeline()
        self._frames = self._export_frames()
        self._states = exported(self._schedule.states)
        self._closed = False

    @property
    def num_worlds(self) -> int:
        """B."""
        return self._num_worlds

    @property
    def cameras(self) -> tuple[CameraRequest, ...]:
        """What is filmed, in the order it was asked for."""
        return self._requests

    @property
    def device(self) -> str:
        """Where it renders."""
        return str(self._device)

    @property
    def memory_plan(self) -> MemoryPlan:
        """What it allocated, part by part, and how a batch that is too large at once is split; what looks add is not in it."""
        return self._plan

    def render(self, source: PoseSource, *, worlds: Any = None) -> Frames:
        """Film the current state of ``source``.

        On CUDA the pictures are ready in the order of the device's current stream; the host does not wait for them.

        Args:
            source: gives the poses of all B worlds.
            worlds: film only these, and leave the pictures of the others as they are: bool (B,), or indices (n,). NumPy or a list; on
                CUDA also an array on the device (bool or int64), where indices that are no world are left out.

        Returns:
            The pictures, which the next call overwrites, with the counter of the state that they show.

        Raises:
            InvalidArgumentError: the poses or ``worlds`` have a wrong shape, dtype or device, or poses are not finite; or the renderer
                is closed.
        """
        if self._closed:
            raise InvalidArgumentError("this renderer is closed; make another one")
        if not callable(getattr(source, "body_poses", None)) or not hasattr(source, "state_count"):
            raise InvalidArgumentError(
                f"source is {type(source).__name__}; give an engine, or rollfilm.engines.still.StillPoses with poses of your own"
            )
        poses = source.body_poses()
        if not isinstance(poses, BodyPoses):
            raise InvalidArgumentError(f"body_poses() of the source gave {type(poses).__name__}; it must give rollfilm.scene.BodyPoses")
        self._poses.load(poses)
        if self._packed.deformation is not None:
            self._packed.deformation.load_path(poses)
        self._schedule.choose_worlds(worlds)
        filmed = self._schedule.next_cameras()
        self._bodies.position, self._bodies.quat_wxyz = self._poses.position, self._poses.quat_wxyz
        self._placements.filmed = self._schedule.flags(filmed)
        self._pipeline.render(self._bodies, self._placements, [filmed[batch.members[0].index] for batch in self._batches])
        self._schedule.note(filmed, source.state_count)
        return self._frames_of(source.state_count)

    def set_looks(self, looks: WorldLooks, worlds: ArrayLike | None = None) -> None:
        """Let worlds look as ``looks`` say, from the next frame on until they are given others.

        What ``looks`` do not name is as the scene has it, whatever was set before: a world's pictures depend on its poses and its last
        looks alone, and ``WorldLooks()`` takes everything back. The first use of a field allocates its arrays, may compile kernels and
        drops the graph that was recorded on CUDA (record your own afterwards); later uses only copy.

        Args:
            looks: of B worlds, on the host or the device; rows of worlds that are not masked are left aside.
            worlds: mask (B,) bool of the worlds that get them; None for all.

        Raises:
            NotFoundError: a geom, material, light, camera, texture or mesh that is not there, or a camera that is not filmed.
            InvalidArgumentError: looks for another number of worlds, a mask of a wrong shape or dtype, values that would have no effect,
                or a renderer that was closed. Nothing has changed then.
            MemoryBudgetError: the arrays of fields that are used for the first time do not fit; nothing has changed then, either.
        """
        if self._closed:
            raise InvalidArgumentError("this renderer is closed; make another one")
        if not isinstance(looks, WorldLooks):
            raise InvalidArgumentError(f"looks is {type(looks).__name__}; give rollfilm.render.WorldLooks")
        try:
            mask = np.ones(self._num_worlds, bool) if worlds is None else np.asarray(worlds)
        except ValueError:  # rows of different lengths
            mask = np.asarray(worlds, object)
        if mask.shape != (self._num_worlds,) or mask.dtype != bool or not mask.any():
            raise InvalidArgumentError(
                f"worlds came as {mask.dtype} {mask.shape}; it must be a mask, bool ({self._num_worlds},), with a world in it"
            )
        if looks.num_worlds not in (None, self._num_worlds):
            raise InvalidArgumentError(f"looks are for {looks.num_worlds} worlds; this renderer films {self._num_worlds}")
        if self._looks.apply(looks, np.flatnonzero(mask), self._growth):
            self._working = self._working_with(self._looks.groups)
            self._pipeline.close()
            del self._pipeline  # its memory is free before that of the next is taken
            self._batches = [batch.with_own(self._looks.groups, self._packed.surfaces, self._options) for batch in self._batches]
            self._pipeline = self._make_pipeline()

    def camera_poses(self) -> dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """Where the cameras were in the last frame: position (B, 3), metres, and rotation (B, 4), wxyz, OpenGL axes; on the host."""
        position = self._world.camera_position.numpy()
        quat = quat_from_matrix(self._world.camera_rotation.numpy()).astype(np.float32)
        return {camera.name: (position[:, i].copy(), quat[:, i]) for i, camera in enumerate(self._cameras)}

    def camera_matrices(self) -> dict[str, CameraMatrices]:
        """Where the cameras were in the last frame and how they map to pixels, by ManiSkill's names; on the host."""
        lenses = {name: lens for batch in self._batches for name, lens in batch.lenses().items()}
        return {
            name: CameraMatrices(
                cam2world_gl=world_from_camera_gl(position, quat).astype(np.float32),
                extrinsic_cv=extrinsic_cv(position, quat).astype(np.float32),
                intrinsic_cv=np.broadcast_to(intrinsic_cv_from_lens(*lenses[name]), (self._num_worlds, 3, 3)).astype(np.float32),
            )
            for name, (position, quat) in self.camera_poses().items()
        }

    def close(self) -> None:
        """End the renderer's threads. It cannot render afterwards."""
        self._closed = True
        self._pipeline.close()

    def _resolve_cameras(self) -> tuple[Camera, ...]:
        if not self._requests:
            raise InvalidArgumentError("no camera was asked for; name at least one")
        names = [request.name for request in self._requests]
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise InvalidArgumentError(f"camera {doubled[0]!r} was asked for more than once; give the second a name of its own")
        return tuple(self._scene.camera(r.camera) if isinstance(r.camera, str) else r.camera for r in self._requests)

    def _make_pipeline(self) -> "CudaPipeline | CpuPipeline":
        data = self._packed.data
        if self._device.is_cuda:
            # to take in all its kernels takes 0.1 s, which the first picture of a CPU need not wait for
            from rollfilm.render.cuda import CudaPipeline

            return CudaPipeline(
                data,
                self._world,
                self._batches,
                self._worst_clusters(self._looks.groups),
                self._device,
                self._options,
                self._packed.deformation,
                visibility_bytes=self._working.visibility_bytes,
            )
        return CpuPipeline(data, self._world, self._batches, self._num_threads, self._options, self._packed.deformation)

    def _worst_clusters(self, groups: frozenset[str]) -> int:
        return self._looks.worst_clusters if "mesh" in groups else self._packed.worst_clusters

    def _working_with(self, groups: frozenset[str], taken: int = 0) -> Working:
        """What a pipeline takes in the place of this one where worlds have ``groups`` of their own, for which ``taken`` bytes go away."""
        surfaces, free, now = self._packed.surfaces, free_bytes(self._device), self._working
        if "alpha" in groups:
            surfaces = replace(surfaces, translucent=True)
        return plan_working(
            self._scene,
            [ViewSize.of(batch.members, self._num_worlds, surfaces, self._options) for batch in self._batches],
            self._device,
            num_threads=self._num_threads,
            maps=self._maps,
            worst=self._worst_clusters(groups),
            left=None if free is None else free - taken + now.num_bytes + now.map_bytes,
        )

    def _growth(self, groups: frozenset[str], taken: int) -> int:
        return self._working_with(groups, taken).num_bytes - self._working.num_bytes

    def _allocate_world(self) -> WorldData:  # pyright: ignore[reportInvalidTypeForm]
        world = WorldData()
        for name, count in (("geom", len(self._scene.geoms)), ("camera", len(self._cameras))):
            setattr(world, f"{name}_position", wp.zeros((self._num_worlds, count), dtype=wp.vec3, device=self._device))
            setattr(world, f"{name}_rotation", wp.zeros((self._num_worlds, count), dtype=wp.mat33, device=self._device))
        world.geom_normal = world.geom_rotation  # of a rotation the inverse transpose is itself
        lights = (self._num_worlds, len(self._scene.lights))
        world.active = self._schedule.active
        world.light_position = wp.zeros(lights, dtype=wp.vec3, device=self._device)
        world.light_direction = wp.zeros(lights, dtype=wp.vec3, device=self._device)
        return world

    def _pack_bodies(self) -> Poses:  # pyright: ignore[reportInvalidTypeForm]
        bodies = self._scene.bodies
        first, members = pack_subtrees(bodies.parent)
        poses = Poses()
        weighted = np.concatenate([bodies.center_of_mass, bodies.mass[:, None]], axis=1).astype(np.float32)
        poses.center_of_mass = wp.array(weighted, dtype=wp.vec4, device=self._device)
        poses.subtree_first = wp.array(first, dtype=int, device=self._device)
        poses.subtree_body = wp.array(members, dtype=int, device=self._device)
        return poses

    def _frames_of(self, state_count: int) -> Frames:
        """The pictures, with the states that they show now."""
        cameras = {
            name: replace(frames, state_count=last, age=state_count - last, world_state_counts=self._states[i])
            for i, ((name, frames), last) in enumerate(zip(self._frames.items(), self._schedule.last_state, strict=True))
        }
        return Frames(cameras, state_count)

    def _export_frames(self) -> dict[str, CameraFrames]:
        by_name = {name: frames for batch in self._batches for name, frames in batch.frames().items()}
        return {request.name: by_name[request.name] for request in self._requests}
