"""Settings that lie over others."""

from __future__ import annotations

from typing import Any

_DEEPEST = 10


def layered(below: dict[Any, Any], above: dict[Any, Any], depth: int = 0) -> dict[Any, Any]:
    """Both, and of what both name the one above; mappings in the same place are laid over each other likewise."""
    both = dict(below)
    for name, value in above.items():
        other = both.get(name)
        deeper = isinstance(value, dict) and isinstance(other, dict) and depth < _DEEPEST
        both[name] = layered(other, value, depth + 1) if deeper and other is not None else value
    return both
