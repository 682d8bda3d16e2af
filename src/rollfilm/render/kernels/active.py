"""Which worlds a call films, and of which state each picture is: kept on the device, so that the host waits for nothing."""

import warp as wp

from rollfilm.cpu_flags import VECTOR_FLAGS

wp.set_module_options({"cpu_compiler_flags": VECTOR_FLAGS})


@wp.kernel(enable_backward=False)
def take_mask(chosen: wp.array(dtype=wp.uint8), active: wp.array(dtype=int)):
    """One thread a world: whether it is filmed."""
    w = wp.tid()
    active[w] = wp.where(chosen[w] != wp.uint8(0), 1, 0)


@wp.kernel(enable_backward=False)
def take_indices(chosen: wp.array(dtype=wp.int64), active: wp.array(dtype=int)):
    """One thread an entry of a list of worlds; what is no world is left out."""
    w = int(chosen[wp.tid()])
    if w >= 0 and w < active.shape[0]:
        active[w] = 1


@wp.kernel(enable_backward=False)
def stamp(active: wp.array(dtype=int), filmed: wp.array(dtype=int), state: wp.int64, states: wp.array2d(dtype=wp.int64)):
    """One thread a camera and world: notes the state of the pictures that are filmed now."""
    camera, w = wp.tid()
    if active[w] == 1 and filmed[camera] == 1:
        states[camera, w] = state
