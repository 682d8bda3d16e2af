"""Warp kernels that build levels of detail, on the CPU."""
