"""Connects to a Qdrant server, translates its errors, and manages the aliases that publish a collection."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from json import JSONDecodeError
from typing import TYPE_CHECKING, TypeVar

from bookbound.domain.errors import (
    BookboundError,
    BookIndexError,
    ConfigError,
    EmbedderMismatchError,
    IndexNotFoundError,
    ServiceRateLimitError,
)
from bookbound.domain.question import NO_DEADLINE, Deadline
from bookbound.indexing.store.index_format import is_generation_id
from bookbound.services import (
    build_missing_packages_error,
    build_response_error,
    build_status_error,
    build_timeout_error,
    build_unreachable_error,
    call_with_retry,
    quiet_loggers,
    validate_key,
    validate_url,
)

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient
    from qdrant_client.http.exceptions import UnexpectedResponse


SERVICE = "qdrant"
Result = TypeVar("Result")


class QdrantConnection:
    """A client whose calls take at most `seconds` each, with all attempts and pauses."""

    def __init__(self, client: AsyncQdrantClient, seconds: float, deadline: Deadline = NO_DEADLINE) -> None:
        self._client = client
        self._seconds, self._deadline = seconds, deadline

    def within(self, deadline: Deadline) -> QdrantConnection:
        """Returns the same connection, whose requests end by the deadline."""
        return QdrantConnection(self._client, self._seconds, deadline)

    async def call(self, request: Callable[[AsyncQdrantClient], Awaitable[Result]]) -> Result:
        """Sends a request that may safely be repeated, again after an error that may pass."""

        async def attempt(_: float) -> Result:
            with translate_errors():
                return await request(self._client)

        return await call_with_retry(attempt, service=SERVICE, seconds=self._seconds, deadline=self._deadline)


def connect_client(url: str, key: str | None, seconds: float) -> AsyncQdrantClient:
    """Returns a client with a pool of connections; it sends nothing yet."""
    try:
        from httpx import Limits
        from qdrant_client import AsyncQdrantClient
    except ImportError as error:
        raise build_missing_packages_error("A Qdrant server", "qdrant") from error
    quiet_loggers("httpx", "httpcore")
    return AsyncQdrantClient(
        url=validate_url(url, "qdrant_url"),
        api_key=validate_key(key, "qdrant_key") if key else None,
        timeout=seconds,  # type: ignore[arg-type]  # rounded up to whole seconds
        check_compatibility=False,
        limits=Limits(max_connections=100, max_keepalive_connections=20),  # the default keeps none to localhost
    )


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raises our errors instead of the client's, which quote the request and so may contain the reader's words."""
    from httpx import TimeoutException
    from qdrant_client.common.client_exceptions import QdrantException
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    try:
        yield
    except QdrantException as error:  # a rate limit; an invalid Retry-After is not an attribute of the error
        wait = getattr(error, "retry_after_s", None)
        raise ServiceRateLimitError(
            "Qdrant got too many requests. Try again later.", service=SERVICE, retry_after=wait
        ) from None
    except ResponseHandlingException as error:
        if isinstance(error.source, TimeoutException):
            raise build_timeout_error(SERVICE) from None
        is_malformed = isinstance(error.source, ValueError)
        raise (build_response_error if is_malformed else build_unreachable_error)(SERVICE) from None
    except (JSONDecodeError, UnicodeDecodeError, AssertionError):  # not JSON, or without the expected fields
        raise build_response_error(SERVICE) from None
    except UnexpectedResponse as error:
        raise _translate_status(error) from None


def _translate_status(reply: UnexpectedResponse) -> BookboundError:
    status = reply.status_code or 0
    if status == 404:
        return IndexNotFoundError("This generation of the index is no longer on the server. Open the index again.")
    if status == 400 and b"dimension" in reply.content:
        return EmbedderMismatchError("The collection has vectors of another size. Index the book again.")
    if status == 504:
        return build_timeout_error(SERVICE)
    if 400 <= status < 500 and status not in (401, 403, 408, 429):
        return BookIndexError(f"Qdrant refused a request (status {status}). Check its version and its log.")
    return build_status_error(status, None, SERVICE)


class QdrantAliases:
    """Names the collections of one book.

    One alias, the name of the book, points to the published collection. Another marks each collection that was
    published and not rolled back.
    """

    def __init__(self, connection: QdrantConnection, book: str) -> None:
        self._connection = connection
        self._book = book

    def collection(self, generation: str) -> str:
        return f"{self._book}-{generation}"

    async def check_name(self) -> None:
        """Refuses the name of a book that something else on the server has."""
        collections = (await self._connection.call(lambda client: client.get_collections())).collections
        foreign = {alias for alias, collection in await self._list_aliases() if not self._generation(collection)}
        if self._book in foreign | {each.name for each in collections}:
            raise ConfigError(
                "Something else on the Qdrant server has this name. Choose another in the setting `qdrant_collection`."
            )

    async def books(self) -> list[str]:
        """Returns the names of other published books, without the prefix of this book's name and a dot."""
        prefix = f"{self._book}."
        return sorted(
            {
                alias.removeprefix(prefix)
                for alias, collection in await self._list_aliases()
                if alias.startswith(prefix)
                and collection.startswith(f"{alias}-")
                and is_generation_id(collection.removeprefix(f"{alias}-"))
            }
        )

    async def generations(self) -> list[str]:
        """Returns all generations, published or not."""
        collections = (await self._connection.call(lambda client: client.get_collections())).collections
        return [generation for each in collections if (generation := self._generation(each.name))]

    async def published_generation(self) -> str:
        """Returns the published generation, or an empty string."""
        return (await self._aliases()).get(self._book, "")

    async def list_kept(self) -> list[str]:
        """Returns the kept generations: the published one, then the older ones, newest first."""
        aliases = await self._aliases()
        published = aliases.get(self._book)
        marked = {generation for alias, generation in aliases.items() if alias == self._mark(generation)}
        older = sorted(marked - {published}, reverse=True)
        return [published, *older] if published else older

    async def publish(self, generation: str) -> None:
        """Makes a generation the published one, in one step."""
        await self._switch(generation, add=[self._book, self._mark(generation)])

    async def roll_back(self, generation: str, newer: Sequence[str]) -> None:
        """Makes an earlier generation the published one and drops the newer ones, in one step."""
        await self._switch(generation, add=[self._book], remove=[*map(self._mark, newer)])

    async def _switch(self, generation: str, add: Sequence[str], remove: Sequence[str] = ()) -> None:
        from qdrant_client import models

        existing = await self._aliases()
        old = [models.DeleteAlias(alias_name=alias) for alias in (*add, *remove) if alias in existing]
        collection = self.collection(generation)
        new = [models.CreateAlias(collection_name=collection, alias_name=alias) for alias in add]
        steps: list[models.AliasOperations] = [
            *(models.DeleteAliasOperation(delete_alias=each) for each in old),
            *(models.CreateAliasOperation(create_alias=each) for each in new),
        ]
        await self._connection.call(lambda client: client.update_collection_aliases(steps))

    def _mark(self, generation: str) -> str:
        return f"{self.collection(generation)}-published"

    async def _aliases(self) -> dict[str, str]:
        """Returns each alias of this book's generations, with the generation it points to."""
        aliases = {alias: self._generation(collection) for alias, collection in await self._list_aliases()}
        return {alias: generation for alias, generation in aliases.items() if generation}

    async def _list_aliases(self) -> list[tuple[str, str]]:
        aliases = (await self._connection.call(lambda client: client.get_aliases())).aliases
        return [(alias.alias_name, alias.collection_name) for alias in aliases]

    def _generation(self, collection: str) -> str:
        """Returns the generation in a collection of this book, or an empty string."""
        generation = collection.removeprefix(self.collection(""))
        return generation if is_generation_id(generation) and collection == self.collection(generation) else ""
