"""How a desk stands at this moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bookbound.manifest import Manifest
from bookbound.volume import Volume


@dataclass(frozen=True, slots=True)
class Standing:
    """How many questions are worked on and how many wait for that, what became of entries of the log, and what is open.

    Entries that are neither written nor lost wait to be written.
    """

    working: int = 0
    waiting: int = 0
    noted: int = 0
    written: int = 0
    lost: int = 0
    books: Mapping[Volume, Manifest] = field(default_factory=dict)

    @property
    def unwritten(self) -> int:
        return max(0, self.noted - self.written - self.lost)
