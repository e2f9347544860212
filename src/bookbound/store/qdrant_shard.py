"""One collection of a Qdrant server, how to reach it, and what its failures mean here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING, Any, cast

from bookbound.book import Chunk
from bookbound.errors import BadSetup, BookboundError, LimitReached, NoIndex, TimedOut, Unreachable
from bookbound.store import records
from bookbound.store.bm25 import Sparse
from bookbound.store.hybrid import MEANING_COUNTS, Hit
from bookbound.store.intake import Point
from bookbound.store.records import MEANING, WORDS

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient, models

SERVICE = "qdrant"
_BATCH = 128
_PAGE = 1_000
_SECONDS = 20


def connect(url: str, key: str | None) -> AsyncQdrantClient:
    """A client for the server at `url`; nothing is sent yet."""
    try:
        from qdrant_client import AsyncQdrantClient
    except ImportError as trouble:
        raise BadSetup("A Qdrant server needs one more package: pip install 'bookbound[qdrant]'") from trouble
    try:
        return AsyncQdrantClient(url=url, api_key=key, timeout=_SECONDS, check_compatibility=False)
    except ValueError:
        raise BadSetup("The address of the Qdrant server must look like http://localhost:6333") from None


@contextmanager
def asking() -> Iterator[None]:
    """Within this block the client's errors are ours."""
    from httpx import TimeoutException
    from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    try:
        yield
    except ResourceExhaustedResponse as trouble:
        wait = trouble.retry_after_s
        raise LimitReached(f"Qdrant asks to wait {wait} seconds.", service=SERVICE, retry_after=wait) from trouble
    except ResponseHandlingException as trouble:
        if isinstance(trouble.source, TimeoutException):
            raise TimedOut("Qdrant did not answer in time. Try again.", service=SERVICE) from trouble
        raise Unreachable("Qdrant cannot be reached. Check its address and that it runs.", service=SERVICE) from trouble
    except UnexpectedResponse as trouble:
        raise _meant_by(trouble.status_code) from trouble


def _meant_by(status: int | None) -> BookboundError:
    if status in (401, 403):
        return BadSetup("Qdrant refused the key. Check the setting for its key.")
    if status == 404:
        return NoIndex("This generation of the index is gone from the server. Open the index again.")
    return Unreachable(f"Qdrant answered with status {status}. Check the server and its log.", service=SERVICE)


class QdrantShard:
    """One collection, and the connection to close with it."""

    def __init__(self, client: AsyncQdrantClient, name: str, connection: AsyncExitStack | None = None) -> None:
        self._client = client
        self._name = name
        self._connection = connection

    async def put(self, points: Sequence[Point]) -> None:
        from qdrant_client import models

        kept = [
            models.PointStruct(
                id=chunk.id, vector={MEANING: meaning, WORDS: _sparse(words)}, payload=records.record(chunk)
            )
            for chunk, meaning, words in points
        ]
        with asking():
            for at in range(0, len(kept), _BATCH):
                await self._client.upsert(self._name, kept[at : at + _BATCH], wait=True)

    async def fuse(self, meaning: list[float], words: Sparse, limit: int) -> list[Hit]:
        from qdrant_client import models

        halves = [models.Prefetch(query=meaning, using=MEANING, limit=limit)] * MEANING_COUNTS
        if words.indices:
            halves.append(models.Prefetch(query=_sparse(words), using=WORDS, limit=limit))
        fusion = models.FusionQuery(fusion=models.Fusion.DBSF)
        return await self._hits(query=fusion, prefetch=halves, limit=2 * limit)

    async def match(self, words: Sparse, limit: int) -> list[Hit]:
        return await self._hits(query=_sparse(words), using=WORDS, limit=limit) if words.indices else []

    async def fetch(self, ids: list[str]) -> list[tuple[Chunk, Sequence[float]]]:
        with asking():
            found = await self._client.retrieve(self._name, ids, with_vectors=[MEANING])
        return [(_chunk(each), cast("dict[str, list[float]]", each.vector)[MEANING]) for each in found]

    async def scan(self, file: str | None = None) -> list[Chunk]:
        from qdrant_client import models

        match = models.MatchValue(value=file or "")
        only = None if file is None else models.Filter(must=[models.FieldCondition(key="file", match=match)])
        chunks: list[Chunk] = []
        start, more = None, True
        with asking():
            while more:
                page, start = await self._client.scroll(self._name, only, _PAGE, offset=start)
                chunks += map(_chunk, page)
                more = start is not None
        return chunks

    async def close(self) -> None:
        if self._connection:
            await self._connection.aclose()

    async def _hits(self, **query: Any) -> list[Hit]:
        with asking():
            found = await self._client.query_points(self._name, with_payload=False, **query)
        return [Hit(str(hit.id), hit.score) for hit in found.points]


def _sparse(words: Sparse) -> models.SparseVector:
    from qdrant_client import models

    return models.SparseVector(indices=words.indices, values=words.values)


def _chunk(found: models.Record) -> Chunk:
    return records.chunk(str(found.id), found.payload)
