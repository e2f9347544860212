"""Reads the payloads of an existing Qdrant collection that another program made."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from bookbound.domain import errors
from bookbound.indexing.store.qdrant_client import QdrantConnection, QdrantNodes
from bookbound.services import validate_url

SOURCE_SCHEME = "qdrant+"
"""Stands before the address of a collection where a source may be a website, too."""
SCROLL_PAGE_SIZE = 256
MAX_LISTED_COLLECTIONS = 10
T = TypeVar("T")


class CollectionAddress(NamedTuple):
    """A Qdrant server, one of its collections, and the names of payload fields that are not the usual ones."""

    server_url: str
    collection: str
    fields: Mapping[str, str] = {}

    @classmethod
    def parse(cls, text: str) -> CollectionAddress:
        """Parses `http://localhost:6333/COLLECTION`, with `?text=NAME` for a field of another name."""
        address = text.strip().removeprefix(SOURCE_SCHEME)
        try:
            parts = urlsplit(address)
            fields = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
            path, _, name = parts.path.rstrip("/").rpartition("/")
            server = parts._replace(path=path.removesuffix("/collections"), query="").geturl()
            if name and not parts.fragment:
                return cls(validate_url(server, "source"), unquote(name), fields)
        except (ValueError, errors.ConfigError):
            pass  # the message must not contain the address, which may have a password
        raise errors.ConfigError(
            "Give the address of the server and the name of the collection, without a password: "
            "http://localhost:6333/COLLECTION"
        )


def read_payloads(
    address: CollectionAddress,
    key: str | None,
    seconds: float,
    convert: Callable[[str, Mapping[str, Any]], T],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[T]:
    """Returns what `convert` makes of the id and the payload of every point; each request takes at most `seconds`."""

    async def read() -> list[T]:
        nodes = QdrantNodes(address.server_url, key, seconds)
        try:
            connection, converted = QdrantConnection(nodes, seconds), list[T]()
            total = await _count_points(connection, address.collection)
            async with aclosing(connection.scroll(address.collection, SCROLL_PAGE_SIZE)) as pages:
                async for points in pages:
                    converted += [convert(str(point.id), point.payload or {}) for point in points]
                    # Somebody may be adding points meanwhile.
                    progress(len(converted), max(total, len(converted)))
            return converted
        finally:
            await nodes.close()

    try:
        return asyncio.run(read())
    except errors.ServiceAuthenticationError as error:
        message = "Qdrant rejected the key, or needs one. Set the key of this server: BOOKBOUND_SOURCE_KEY"
        raise errors.ServiceAuthenticationError(message, service=error.service) from None


async def _count_points(connection: QdrantConnection, name: str) -> int:
    try:
        return (await connection.call(lambda client: client.count(name))).count
    except errors.IndexNotFoundError:
        raise await _build_missing_error(connection) from None


async def _build_missing_error(connection: QdrantConnection) -> errors.SourceError:
    try:
        collections = (await connection.call(lambda client: client.get_collections())).collections
    except errors.BookIndexError:
        collections = []
    names = sorted(each.name for each in collections)
    more = ", ..." if len(names) > MAX_LISTED_COLLECTIONS else ""
    listed = ", ".join(names[:MAX_LISTED_COLLECTIONS]) + more
    return errors.SourceError(f"The server has no such collection. It has {listed or 'none'}.")
