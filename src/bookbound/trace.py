"""How a reply came to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bookbound.dialogue import Retrieval


@dataclass(frozen=True, slots=True)
class Usage:
    """What a language model was asked: in how many calls, and how many tokens it read and wrote."""

    calls: int = 0
    read: int = 0
    written: int = 0

    def __add__(self, more: Usage) -> Usage:
        return Usage(self.calls + more.calls, self.read + more.read, self.written + more.written)


@dataclass(frozen=True, slots=True)
class Trace:
    """Everything a face may report about how a reply came to be.

    `tools` names each search of the book; `degraded` is an answer that a language model failed to write, or to finish.
    `edition` is the one that was asked, and `differs` names others that do not hold all the words that are cited.
    """

    retrieval: Retrieval
    generation: str
    embedder: str
    writer: str
    timings: Mapping[str, float]
    usage: Usage = Usage()
    tools: tuple[str, ...] = ()
    degraded: bool = False
    edition: str = ""
    differs: tuple[str, ...] = ()

    @property
    def retrieval_ms(self) -> float:
        return self.timings.get("retrieve", 0.0)

    @property
    def generation_ms(self) -> float:
        return self.timings.get("answer", 0.0)

    @property
    def total_ms(self) -> float:
        return sum(self.timings.values())
