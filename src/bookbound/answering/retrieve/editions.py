"""Checks whether other editions of a book contain the words that an answer cites."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any

from bookbound.domain.book_ref import UNNAMED_EDITION_LABEL
from bookbound.domain.errors import BookboundError
from bookbound.domain.judgement import Evidence
from bookbound.domain.ports import Index

MAX_COMPARED_CHUNKS = 20
"""In how many chunks besides those of the same page, those that share the rarest words, a citation is looked for."""


class OtherEditions:
    """Opens the other editions when an answer is first compared with them; one that fails is passed over."""

    def __init__(self, open_: Callable[[], Coroutine[Any, Any, Mapping[str, Index]]]) -> None:
        self._open = open_
        self._opened: asyncio.Task[Mapping[str, Index]] | None = None

    async def differing(self, cited: Sequence[Evidence]) -> tuple[str, ...]:
        """The editions that do not hold all of these words."""
        found = []
        for edition, index in (await self._indexes()).items():
            with suppress(BookboundError):
                if not all([await _contains_evidence(index, evidence) for evidence in cited if evidence.place.file]):
                    found.append(edition or UNNAMED_EDITION_LABEL)
        return tuple(found)

    async def close(self) -> None:
        if self._opened:
            with suppress(BookboundError):
                for index in (await self._opened).values():
                    await index.close()

    async def _indexes(self) -> Mapping[str, Index]:
        if self._opened is None:
            self._opened = asyncio.create_task(self._open())
        try:
            return await asyncio.shield(self._opened)
        except BookboundError:
            self._opened = None  # the next answer tries again
            return {}


async def _contains_evidence(index: Index, evidence: Evidence) -> bool:
    sought = _normalize(evidence.text)
    page = await index.chunks(evidence.place.file)
    if sought in _normalize(" ".join(chunk.text for chunk in page)):
        return True
    return any(sought in _normalize(chunk.text) for chunk in await index.match(evidence.text, MAX_COMPARED_CHUNKS))


def _normalize(text: str) -> str:
    return " ".join(text.casefold().split())
