"""An embedder that remembers questions: one asked again, or by many at once, is embedded once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from bookbound.ports import Embedder

if TYPE_CHECKING:
    from bookbound.ports import Vectors

SECONDS = 3600.0


class RememberedEmbedder:
    """Another embedder, with the vectors of the last `most` questions kept for `seconds` in memory.

    What failed is not remembered; the texts of a book are not either, since each is embedded once.
    """

    def __init__(
        self, embedder: Embedder, most: int, seconds: float = SECONDS, clock: Callable[[], float] = monotonic
    ) -> None:
        self._embedder = embedder
        self._most, self._seconds, self._clock = most, seconds, clock
        self._kept: OrderedDict[str, tuple[float, Vectors]] = OrderedDict()  # the oldest first
        self._asked: dict[str, asyncio.Future[Vectors]] = {}

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    @property
    def budget(self) -> int:
        return self._embedder.budget

    def tokens(self, text: str) -> int:
        return self._embedder.tokens(text)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return await self._embedder.embed(texts)

    async def embed_question(self, text: str) -> Vectors:
        self._forget()
        if text in self._kept:
            return self._kept[text][1]
        if text not in self._asked:
            self._asked[text] = asyncio.ensure_future(self._embedder.embed_question(text))
            self._asked[text].add_done_callback(partial(self._answered, text))
        # Whoever leaves early leaves the others waiting, not without an answer.
        return await asyncio.shield(self._asked[text])

    async def close(self) -> None:
        for asked in list(self._asked.values()):
            asked.cancel()
        await asyncio.gather(*self._asked.values(), return_exceptions=True)
        self._kept.clear()
        await self._embedder.close()

    def _answered(self, text: str, answer: asyncio.Future[Vectors]) -> None:
        del self._asked[text]
        if answer.cancelled() or answer.exception() is not None:
            return
        vector = answer.result()
        vector.flags.writeable = False  # many hold it
        self._kept[text] = self._clock() + self._seconds, vector
        self._forget()

    def _forget(self) -> None:
        """Drop the oldest while there are too many, or they are too old."""
        while self._kept:
            until, _ = next(iter(self._kept.values()))
            if len(self._kept) <= self._most and self._clock() < until:
                return
            self._kept.popitem(last=False)
