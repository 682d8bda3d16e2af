"""What an environment's driver asks of a policy."""

from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

__all__ = ["Policy"]


@runtime_checkable
class Policy(Protocol):
    """Maps the observations of B worlds to actions."""

    def __call__(self, observation: Any) -> NDArray:
        """Actions (B, A) for the observation of B worlds, in the layout of the environment's observation space."""
        ...

    def reset(self, world_mask: NDArray | None = None) -> None:
        """Forget what is remembered of the masked worlds (bool (B,), None for all): new episodes begin there."""
        ...
