"""Defines what answering needs: the engine, and an open book with its other editions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from math import inf
from typing import Any

from bookbound.answering.deciding.operating_point import OperatingPoint
from bookbound.domain.book_ref import UNNAMED_EDITION_LABEL
from bookbound.domain.errors import BookboundError
from bookbound.domain.judgement import Evidence
from bookbound.domain.manifest import Manifest
from bookbound.domain.ports import Agent, AnswerModel, AnswerWriter, Assessor, Embedder, Index, Verifier
from bookbound.domain.question import NO_DEADLINE, Deadline

# The number of chunks on other pages in which a citation is looked for.
MAX_COMPARED_CHUNKS = 20


@dataclass(frozen=True, slots=True)
class Engine:
    """The models and services that answer questions about any book; closing it closes what was opened for them.

    Without a language model, answers are `quotes`; with one they are if the book does not support what it writes, and
    also if it fails and `quotes_on_failure`. `quick_assessor` compares ways to complete a follow-up; without one,
    `assessor` does.
    """

    embedder: Embedder
    assessor: Assessor
    quotes: AnswerWriter
    verifier: Verifier
    model: AnswerModel | None = None
    quotes_on_failure: bool = True
    hides_unverified: bool = False
    agent: Agent | None = None
    quick_assessor: Assessor | None = None
    answer_seconds: float = 30.0
    resources: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def writer_name(self) -> str:
        return (self.model or self.quotes).name

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


class OtherEditions:
    """Opens the other editions when an answer is first compared with them; an edition that fails is skipped."""

    def __init__(self, open_indexes: Callable[[], Coroutine[Any, Any, Mapping[str, Index]]]) -> None:
        self._open_indexes = open_indexes
        self._opening: asyncio.Task[Mapping[str, Index]] | None = None

    async def find_differing(self, citations: Sequence[Evidence], deadline: Deadline = NO_DEADLINE) -> tuple[str, ...]:
        """Returns the editions that lack any of the cited words."""
        differing = []
        for edition, index in (await self._indexes(deadline)).items():
            with suppress(BookboundError):
                found = [await _contains(index, cited, deadline) for cited in citations if cited.place.file]
                if not all(found):
                    differing.append(edition or UNNAMED_EDITION_LABEL)
        return tuple(differing)

    async def close(self) -> None:
        if self._opening:
            with suppress(BookboundError):
                for index in (await self._opening).values():
                    await index.close()

    async def _indexes(self, deadline: Deadline) -> Mapping[str, Index]:
        if self._opening is None:
            self._opening = asyncio.create_task(self._open_indexes())
        try:
            async with asyncio.timeout(deadline.limit(inf)):
                return await asyncio.shield(self._opening)
        except TimeoutError:
            return {}
        except BookboundError:
            self._opening = None  # the next answer tries again
            return {}


async def _contains(index: Index, evidence: Evidence, deadline: Deadline) -> bool:
    words = _normalize(evidence.text)
    page = await index.chunks(evidence.place.file, deadline)
    if words in _normalize(" ".join(chunk.text for chunk in page)):
        return True
    likely = await index.match(evidence.text, MAX_COMPARED_CHUNKS, deadline)
    return any(words in _normalize(chunk.text) for chunk in likely)


def _normalize(text: str) -> str:
    return " ".join(text.casefold().split())
