"""The kernels of the renderer: Warp only, no host code, no allocation. Lengths in metres, camera axes OpenGL's."""
