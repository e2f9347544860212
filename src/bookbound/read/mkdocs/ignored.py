"""Which paths a list of patterns passes over, as Git reads such lists."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple


class _Pattern(NamedTuple):
    parts: tuple[str, ...]
    folders: bool
    brings_back: bool


class Ignored:
    """The patterns of one list; of those that match a path the last counts."""

    def __init__(self, *lines: str) -> None:
        self._patterns = [_pattern(line) for line in lines if line.strip() and not line.startswith("#")]

    def __contains__(self, path: str) -> bool:
        parts = tuple(path.split("/"))
        matching = (pattern for pattern in reversed(self._patterns) if _matches(pattern, parts))
        found = next(matching, None)
        return found is not None and not found.brings_back


def _pattern(line: str) -> _Pattern:
    brings_back = line.startswith("!")
    written = line.removeprefix("!").strip()
    anchored = "/" in written.rstrip("/")
    parts = tuple(part for part in written.split("/") if part)
    return _Pattern(parts if anchored else ("**", *parts), written.endswith("/"), brings_back)


def _matches(pattern: _Pattern, path: tuple[str, ...]) -> bool:
    """Whether the pattern matches the path or a folder above it; no two parts are compared twice."""
    reached = {0}
    for depth, name in enumerate(path):
        forward = {at + 1 for at in reached if at < len(pattern.parts) and pattern.parts[at] == "**"}
        reached |= forward
        stays = {at for at in reached if at < len(pattern.parts) and pattern.parts[at] == "**"}
        moved = {
            at + 1
            for at in reached
            if at < len(pattern.parts) and pattern.parts[at] != "**" and fnmatchcase(name, pattern.parts[at])
        }
        reached = stays | moved
        if len(pattern.parts) in reached and (depth + 1 < len(path) or not pattern.folders):
            return True
    return False
