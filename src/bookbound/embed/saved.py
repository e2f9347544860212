"""An embedder that saves what it embedded: work that was broken off is not done again."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from bookbound.ports import Embedder

if TYPE_CHECKING:
    from bookbound.ports import Vectors

KEY = 32
"""The bytes of a text's hash, which stand before its vector in the file."""


class SavedEmbedder:
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
            size = KEY + 4 * self.dimension
            file.seek(0)
            while len(row := file.read(size)) == size:
                self._saved[row[:KEY]] = row[KEY:]
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
