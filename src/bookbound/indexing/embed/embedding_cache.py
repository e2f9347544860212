"""Caches question vectors in memory, and saves the vectors of a book so that indexing can resume."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import BinaryIO

from bookbound import filesystem
from bookbound.domain.ports import Embedder, Vectors
from bookbound.domain.question import NO_DEADLINE, Deadline

QUESTION_TTL_SECONDS = 3600.0
KEY_BYTES = 32  # of SHA-256


class _EmbedderWrapper:
    """Forwards everything to another embedder."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name, self.max_tokens = embedder.name, embedder.max_tokens

    @property
    def dimension(self) -> int:
        return self._embedder.dimension  # asked for only when needed: a service may have to be called for it

    def count_tokens(self, text: str) -> int:
        return self._embedder.count_tokens(text)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return await self._embedder.embed(texts)

    async def embed_question(self, text: str, deadline: Deadline = NO_DEADLINE) -> Vectors:
        return await self._embedder.embed_question(text, deadline)

    def score_similarity(self, cosine: float) -> float:
        return self._embedder.score_similarity(cosine)

    async def close(self) -> None:
        await self._embedder.close()


class CachingEmbedder(_EmbedderWrapper):
    """Keeps the vectors of the last `size` questions in memory for `seconds`; failures are not cached."""

    def __init__(
        self,
        embedder: Embedder,
        size: int,
        seconds: float = QUESTION_TTL_SECONDS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        super().__init__(embedder)
        self._size, self._seconds, self._clock = size, seconds, clock
        self._cache: OrderedDict[str, tuple[float, Vectors]] = OrderedDict()  # oldest first
        self._pending: dict[str, asyncio.Future[Vectors]] = {}

    async def embed_question(self, text: str, deadline: Deadline = NO_DEADLINE) -> Vectors:
        self._evict()
        if text in self._cache:
            return self._cache[text][1]
        if text not in self._pending:
            self._pending[text] = asyncio.ensure_future(self._embedder.embed_question(text, deadline))
            self._pending[text].add_done_callback(partial(self._store, text))
        # A caller that is cancelled does not cancel the request that others wait for.
        return await asyncio.shield(self._pending[text])

    async def close(self) -> None:
        for request in list(self._pending.values()):
            request.cancel()
        await asyncio.gather(*self._pending.values(), return_exceptions=True)
        self._cache.clear()
        await super().close()

    def _store(self, text: str, request: asyncio.Future[Vectors]) -> None:
        del self._pending[text]
        if request.cancelled() or request.exception() is not None:
            return
        vector = request.result()
        vector.flags.writeable = False  # many callers share it
        self._cache[text] = self._clock() + self._seconds, vector
        self._evict()

    def _evict(self) -> None:
        while self._cache:
            expiry, _ = next(iter(self._cache.values()))
            if len(self._cache) <= self._size and self._clock() < expiry:
                return
            self._cache.popitem(last=False)


class CheckpointingEmbedder(_EmbedderWrapper):
    """Keeps the vectors of a book in a file until the index is published.

    Each row is the hash of a text and its vector. Without the file, or if another process uses it, every text is
    embedded again.
    """

    def __init__(self, embedder: Embedder, path: Path) -> None:
        super().__init__(embedder)
        self._path = path
        self._file: BinaryIO | None = None
        self._saved: dict[bytes, bytes] = {}

    async def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        self._open()
        rows = [self._saved.get(self._key(text)) for text in texts]
        missing = [text for text, row in zip(texts, rows, strict=True) if row is None]
        if len(missing) == len(texts):
            return self._save(texts, await self._embedder.embed(texts))
        new = iter(self._save(missing, await self._embedder.embed(missing)) if missing else ())
        return np.stack([next(new) if row is None else np.frombuffer(row, dtype=np.float32) for row in rows])

    def remove_checkpoint(self) -> None:
        """Removes the file, because a published index has the vectors now."""
        if self._file:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
                self._path.parent.rmdir()

    async def close(self) -> None:
        if self._file:
            self._file.close()
        await super().close()

    def _key(self, text: str) -> bytes:
        return hashlib.sha256(f"{self.name}\0{text}".encode("utf-8", "surrogatepass")).digest()

    def _open(self) -> None:
        """Locks the file and loads its complete rows: a kill may have cut the last one."""
        if self._file:
            return
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            file = self._path.open("a+b")
            locked = False
            with suppress(OSError):
                locked = filesystem.try_lock(file.fileno())
            if not locked:
                file.close()
                return
            self._file = file
            size = KEY_BYTES + 4 * self.dimension
            file.seek(0)
            while len(row := file.read(size)) == size:
                self._saved[row[:KEY_BYTES]] = row[KEY_BYTES:]
            os.truncate(file.fileno(), os.fstat(file.fileno()).st_size // size * size)

    def _save(self, texts: Sequence[str], vectors: Vectors) -> Vectors:
        """Returns the vectors once they are in the file."""
        if self._file:
            rows = zip(map(self._key, texts), vectors.astype("float32"), strict=True)
            with suppress(OSError):
                self._file.write(b"".join(key + row.tobytes() for key, row in rows))
                self._file.flush()
        return vectors
