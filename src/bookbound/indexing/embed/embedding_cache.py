"""Caches question vectors in memory, and saves the vectors of a book so that indexing can resume."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, BinaryIO

from bookbound.domain.ports import Embedder

if TYPE_CHECKING:
    from bookbound.domain.ports import Vectors


QUESTION_TTL_SECONDS = 3600.0


class CachingEmbedder:
    """Another embedder, with the vectors of the last `most` questions kept for `seconds` in memory.

    What failed is not remembered; the texts of a book are not either, since each is embedded once.
    """

    def __init__(
        self,
        embedder: Embedder,
        most: int,
        seconds: float = QUESTION_TTL_SECONDS,
        clock: Callable[[], float] = monotonic,
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


KEY_BYTES = 32
"""The bytes of a text's hash, which stand before its vector in the file."""


class CheckpointingEmbedder:
    """Another embedder, with the vectors of a book's texts in a file until the work is done.

    The file helps whoever holds it; where it cannot be made, or another process holds it, all is embedded as ever.
    """

    def __init__(self, embedder: Embedder, file: Path) -> None:
        self._embedder = embedder
        self._path = file
        self._file: BinaryIO | None = None
        self._saved: dict[bytes, bytes] = {}

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
        import numpy as np

        self._open()
        rows = [self._saved.get(self._key(text)) for text in texts]
        new = [text for text, row in zip(texts, rows, strict=True) if row is None]
        if len(new) == len(texts):
            return self._kept(texts, await self._embedder.embed(texts))
        fresh = iter(self._kept(new, await self._embedder.embed(new)) if new else ())
        return np.stack([next(fresh) if row is None else np.frombuffer(row, dtype=np.float32) for row in rows])

    async def embed_question(self, text: str) -> Vectors:
        return await self._embedder.embed_question(text)

    def done(self) -> None:
        """Let go of what was saved: it stands in a published index now."""
        if self._file:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
                self._path.parent.rmdir()

    async def close(self) -> None:
        if self._file:
            self._file.close()
        await self._embedder.close()

    def _key(self, text: str) -> bytes:
        return hashlib.sha256(f"{self.name}\0{text}".encode("utf-8", "surrogatepass")).digest()

    def _open(self) -> None:
        """Hold the file and load what is whole in it: a kill may have cut its last row."""
        if self._file:
            return
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            file = self._path.open("a+b")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.close()
                return
            self._file = file
            size = KEY_BYTES + 4 * self.dimension
            file.seek(0)
            while len(row := file.read(size)) == size:
                self._saved[row[:KEY_BYTES]] = row[KEY_BYTES:]
            os.truncate(file.fileno(), os.fstat(file.fileno()).st_size // size * size)

    def _kept(self, texts: Sequence[str], vectors: Vectors) -> Vectors:
        """The vectors, as they came, once they are in the file."""
        if self._file:
            rows = vectors.astype("float32")
            with suppress(OSError):
                self._file.write(
                    b"".join(self._key(text) + row.tobytes() for text, row in zip(texts, rows, strict=True))
                )
                self._file.flush()
        return vectors
