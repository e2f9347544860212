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
    ServiceAuthenticationError,
    ServiceRateLimitError,
    ServiceResponseError,
    ServiceTimeoutError,
    ServiceUnreachableError,
)
from bookbound.indexing.store import is_generation_id
from bookbound.services import call_with_retry, quiet_loggers

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient
    from qdrant_client.http.exceptions import UnexpectedResponse


SERVICE = "qdrant"
TIMEOUT_MESSAGE = "Qdrant did not answer in time. Try again in a moment."
UNREACHABLE_MESSAGE = "Qdrant cannot be reached. Check its address and that it runs."
BAD_REPLY_MESSAGE = "Qdrant answered with what cannot be read. Check that the address is that of a Qdrant server."
RATE_LIMIT_MESSAGE = "Qdrant takes no more requests for now. Try again in a moment."
Result = TypeVar("Result")


class QdrantConnection:
    """A client, and the seconds that everything asked of it may take, tries and pauses together."""

    def __init__(self, client: AsyncQdrantClient, seconds: float) -> None:
        self._client = client
        self._seconds = seconds

    async def ask(self, request: Callable[[AsyncQdrantClient], Awaitable[Result]]) -> Result:
        """What the server answers, asked again after trouble that may pass: for what may be done twice."""

        async def attempt(_: float) -> Result:
            with translate_errors():
                return await request(self._client)

        return await call_with_retry(attempt, service=SERVICE, most=self._seconds)


def connect_client(url: str, key: str | None, seconds: float) -> AsyncQdrantClient:
    """A client for the server at `url`, which keeps its connections; nothing is sent yet."""
    try:
        from httpx import Limits
        from qdrant_client import AsyncQdrantClient
    except ImportError as trouble:
        raise ConfigError("A Qdrant server needs one more package: pip install 'bookbound[qdrant]'") from trouble
    quiet_loggers("httpx", "httpcore")
    if key and not (key.isascii() and key.isprintable()):
        raise ConfigError("The key of the Qdrant server holds signs that no key has. Check the setting `qdrant_key`.")
    try:
        return AsyncQdrantClient(
            url=url,
            api_key=key or None,
            timeout=seconds,  # type: ignore[arg-type]  # which it rounds up to whole seconds
            check_compatibility=False,
            limits=Limits(max_connections=100, max_keepalive_connections=20),  # by itself it keeps none on a loopback
        )
    except ValueError:
        raise ConfigError("The address of the Qdrant server must look like http://localhost:6333") from None


@contextmanager
def translate_errors() -> Iterator[None]:
    """Within this block the client's errors are ours; theirs quote what was sent, so they are not handed on."""
    from httpx import TimeoutException
    from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    try:
        yield
    except ResourceExhaustedResponse as trouble:
        raise ServiceRateLimitError(RATE_LIMIT_MESSAGE, service=SERVICE, retry_after=trouble.retry_after_s) from None
    except QdrantException:  # a limit, with a time to wait that is no number
        raise ServiceRateLimitError(RATE_LIMIT_MESSAGE, service=SERVICE) from None
    except ResponseHandlingException as trouble:
        if isinstance(trouble.source, TimeoutException):
            raise ServiceTimeoutError(TIMEOUT_MESSAGE, service=SERVICE) from None
        if isinstance(trouble.source, ValueError):
            raise ServiceResponseError(BAD_REPLY_MESSAGE, service=SERVICE) from None
        raise ServiceUnreachableError(UNREACHABLE_MESSAGE, service=SERVICE) from None
    except (JSONDecodeError, UnicodeDecodeError, AssertionError):  # no JSON, or none of what was asked for in it
        raise ServiceResponseError(BAD_REPLY_MESSAGE, service=SERVICE) from None
    except UnexpectedResponse as trouble:
        raise _translate_status(trouble) from None


def _translate_status(answer: UnexpectedResponse) -> BookboundError:
    status = answer.status_code or 0
    if status in (401, 403):
        return ServiceAuthenticationError(
            "Qdrant does not take the key. Check the setting `qdrant_key`.", service=SERVICE
        )
    if status == 404:
        return IndexNotFoundError("This generation of the index is gone from the server. Open the index again.")
    if status in (408, 504):
        return ServiceTimeoutError(TIMEOUT_MESSAGE, service=SERVICE)
    if status == 429:
        return ServiceRateLimitError(RATE_LIMIT_MESSAGE, service=SERVICE)
    if status == 400 and b"dimension" in answer.content:
        return EmbedderMismatchError("The collection holds vectors of another size. Index the book again.")
    if 400 <= status < 500:
        return BookIndexError(f"Qdrant refused a request (status {status}). Check its version and its log.")
    return ServiceUnreachableError(
        f"Qdrant answered with status {status}. Check the server and its log.", service=SERVICE
    )


NAME_TAKEN_MESSAGE = (
    "Something else on the Qdrant server has this name. Choose another in the setting `qdrant_collection`."
)


class QdrantAliases:
    """One alias stands for the book and names the published collection.

    Another, the mark, stays with each collection that was published and not withdrawn.
    """

    def __init__(self, line: QdrantConnection, book: str) -> None:
        self._line = line
        self._book = book

    def collection(self, generation: str) -> str:
        return f"{self._book}-{generation}"

    async def check_free(self) -> None:
        """Refuse the name of a book that stands for anything else."""
        collections = (await self._line.ask(lambda client: client.get_collections())).collections
        aliases = (await self._line.ask(lambda client: client.get_aliases())).aliases
        foreign = {each.alias_name for each in aliases if not self._generation(each.collection_name)}
        if self._book in foreign | {each.name for each in collections}:
            raise ConfigError(NAME_TAKEN_MESSAGE)

    async def books(self) -> list[str]:
        """What follows this book's name and a dot in the names of others that are published."""
        aliases = (await self._line.ask(lambda client: client.get_aliases())).aliases
        names = {alias.alias_name for alias in aliases if _is_book_alias(alias.alias_name, alias.collection_name)}
        before = f"{self._book}."
        return sorted(name.removeprefix(before) for name in names if name.startswith(before))

    async def generations(self) -> list[str]:
        """Every generation that is there, published or not."""
        collections = (await self._line.ask(lambda client: client.get_collections())).collections
        return [generation for each in collections if (generation := self._generation(each.name))]

    async def published(self) -> str:
        """The generation that readers open, or nothing."""
        return (await self._aliases()).get(self._book, "")

    async def kept(self) -> list[str]:
        """The generations that are or were published, the published one first, then newest first."""
        aliases = await self._aliases()
        published = aliases.get(self._book)
        marked = {generation for alias, generation in aliases.items() if alias == self._mark(generation)}
        older = sorted(marked - {published}, reverse=True)
        return [published, *older] if published else older

    async def publish(self, generation: str) -> None:
        """Make a generation the published one, in one step."""
        await self._switch(generation, enter=[self._book, self._mark(generation)])

    async def withdraw(self, generations: Sequence[str], earlier: str) -> None:
        """Make an earlier generation the published one, and these none that were, in one step."""
        await self._switch(earlier, enter=[self._book], leave=[*map(self._mark, generations)])

    async def _switch(self, generation: str, enter: Sequence[str], leave: Sequence[str] = ()) -> None:
        from qdrant_client import models

        held = await self._aliases()
        gone = [models.DeleteAlias(alias_name=alias) for alias in (*enter, *leave) if alias in held]
        name = self.collection(generation)
        new = [models.CreateAlias(collection_name=name, alias_name=alias) for alias in enter]
        steps: list[models.AliasOperations] = [
            *(models.DeleteAliasOperation(delete_alias=each) for each in gone),
            *(models.CreateAliasOperation(create_alias=each) for each in new),
        ]
        await self._line.ask(lambda client: client.update_collection_aliases(steps))

    def _mark(self, generation: str) -> str:
        return f"{self.collection(generation)}-published"

    async def _aliases(self) -> dict[str, str]:
        """Each alias of this book's generations, with the generation it stands for."""
        aliases = (await self._line.ask(lambda client: client.get_aliases())).aliases
        named = {alias.alias_name: self._generation(alias.collection_name) for alias in aliases}
        return {alias: generation for alias, generation in named.items() if generation}

    def _generation(self, collection: str) -> str:
        """The generation in a collection of this book, or nothing."""
        generation = collection.removeprefix(self.collection(""))
        return generation if is_generation_id(generation) and collection == self.collection(generation) else ""


def _is_book_alias(alias: str, collection: str) -> bool:
    """Whether an alias is the name of a book whose published generation is this collection."""
    return collection.startswith(f"{alias}-") and is_generation_id(collection.removeprefix(f"{alias}-"))
