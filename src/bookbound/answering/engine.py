"""Defines the two values that answering needs: the engine and an open book."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from bookbound.answering.deciding.operating_point import OperatingPoint
from bookbound.answering.other_editions import OtherEditions
from bookbound.domain.manifest import Manifest
from bookbound.domain.ports import Agent, AnswerWriter, Assessor, Embedder, Index, Verifier


@dataclass(frozen=True, slots=True)
class Engine:
    """The models and services that answer questions about any book; closing it closes what was opened for them.

    `fallback_writer` writes if `writer` fails and the question allows it. `quick_assessor` compares ways to complete a
    follow-up; without one, `assessor` does.
    """

    embedder: Embedder
    assessor: Assessor
    writer: AnswerWriter
    verifier: Verifier
    fallback_writer: AnswerWriter | None = None
    agent: Agent | None = None
    quick_assessor: Assessor | None = None
    answer_seconds: float = 30.0
    resources: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def close(self) -> None:
        await self.resources.aclose()


@dataclass(frozen=True, slots=True)
class OpenBook:
    """One edition of a book that is open for questions; answers are compared with its other editions.

    A book that was indexed without a name has none, and neither have all books together.
    """

    index: Index
    operating_point: OperatingPoint
    edition: str = ""
    other_editions: OtherEditions | None = None
    name: str = ""

    @property
    def manifest(self) -> Manifest:
        return self.index.manifest

    async def close(self) -> None:
        await self.index.close()
        if self.other_editions:
            await self.other_editions.close()
