"""How much memory there is, and one clear error where more is asked for."""

from pathlib import Path

from rollfilm.errors import MemoryBudgetError

__all__ = ["available_memory_bytes", "format_bytes", "peak_memory_bytes", "require_memory"]


def available_memory_bytes() -> int | None:
    """Bytes that this process can still take on the host; None where the system does not say.

    The smaller of ``MemAvailable`` (proc(5)) and what the control group of the process leaves (memory.max of cgroup v2, or
    memory.limit_in_bytes of v1).
    """
    candidates = [value for value in (_mem_available(), _cgroup_headroom(Path("/sys/fs/cgroup"))) if value is not None]
    return min(candidates) if candidates else None


def require_memory(num_bytes: int, what: str, *, available: int | None = None) -> None:
    """Check that ``num_bytes`` more fit into memory before anything is allocated.

    Args:
        num_bytes: what will be allocated.
        what: what it is for, as the message begins.
        available: bytes that are free on another device; the host is asked if None.

    Raises:
        MemoryBudgetError: less than that is available.
    """
    if available is None:
        available = available_memory_bytes()
    if available is not None and num_bytes > available:
        raise MemoryBudgetError(
            f"{what}: {format_bytes(num_bytes)} of memory are needed and {format_bytes(available)} are available; "
            "take fewer worlds or smaller images"
        )


def format_bytes(num_bytes: float) -> str:
    """Bytes in the unit that reads best: ``"1.5 GB"`` (powers of ten)."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(num_bytes) < 999.5:
            return f"{num_bytes:.0f} {unit}" if unit in ("B", "kB") else f"{num_bytes:.1f} {unit}"
        num_bytes /= 1000
    return f"{num_bytes:,.1f} TB"


def peak_memory_bytes() -> int:
    """The most memory that this process has held at once so far (its peak resident set)."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _mem_available() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def _cgroup_headroom(root: Path) -> int | None:
    for limit_name, usage_name in (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes")):
        try:
            limit, usage = (root / limit_name).read_text().strip(), int((root / usage_name).read_text())
        except (OSError, ValueError):
            continue
        if limit != "max":
            return max(0, int(limit) - usage)
    return None
