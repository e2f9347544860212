"""Compares an answer with other editions of its book."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from math import inf
from typing import Any

from bookbound.domain.book_ref import UNNAMED_EDITION_LABEL
from bookbound.domain.errors import BookboundError
from bookbound.domain.judgement import Evidence
from bookbound.domain.ports import Index
from bookbound.domain.question import NO_DEADLINE, Deadline

# The number of chunks on other pages in which a citation is looked for.
MAX_COMPARED_CHUNKS = 20


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
