"""How kernels are compiled for a CPU: all alike, because Warp reads its headers, for two seconds, once a thread and set of flags."""

import warp as wp

__all__ = ["VECTOR_FLAGS"]

#: Vectors as wide as the machine has them; compilers hold back to half of that unasked.
VECTOR_FLAGS = f"{wp.config.cpu_compiler_flags or '-march=native'} -mprefer-vector-width=512"
