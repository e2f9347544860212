"""A table of contents without the entry for the book itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self, TypeVar


class _Entry(Protocol):
    """A line of a table of contents, and how deep it stands."""

    @property
    def depth(self) -> int: ...

    def _replace(self, *, depth: int) -> Self: ...


E = TypeVar("E", bound=_Entry)


def rootless(entries: Sequence[E]) -> tuple[E, ...]:
    """The entries without a single one that all others stand under: that is the book."""
    if len(entries) < 2 or entries[0].depth or any(not entry.depth for entry in entries[1:]):
        return tuple(entries)
    return tuple(entry._replace(depth=entry.depth - 1) for entry in entries[1:])
