"""How much a GPU's buffers hold at most: what a renderer plans its memory by, and what it takes."""

__all__ = ["MAX_CLUSTERS", "MAX_SMALL", "MAX_TILES", "VISIBILITY_BYTES"]

#: Bytes of visibility buffer, above which the views of a batch are rendered one chunk after the other.
VISIBILITY_BYTES = 1 << 30
MAX_CLUSTERS = 1 << 23
MAX_SMALL = 1 << 24
MAX_TILES = 1 << 22
