"""Connects to the nodes of a Qdrant server or cluster, and translates their errors."""

from __future__ import annotations

from asyncio import timeout
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from json import JSONDecodeError
from typing import TYPE_CHECKING, TypeVar

from bookbound import services
from bookbound.domain import errors
from bookbound.domain.question import NO_DEADLINE, Deadline

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient, models
    from qdrant_client.http.exceptions import UnexpectedResponse


SERVICE = "qdrant"
READINESS_SECONDS = 1.0
"""How long a node may take to say that it is ready, before the next one is asked."""
Result = TypeVar("Result")
_NODE_FAILURES = (errors.ServiceUnreachableError, errors.ServiceTimeoutError, errors.ServiceResponseError)


@dataclass
class NodeChoice:
    """Which node of a cluster the next request goes to, and whether that node must say first that it is ready."""

    position: int = 0
    is_checked: bool = True


class QdrantConnection:
    """The clients of the nodes; a call takes at most `seconds`, with all attempts and pauses.

    Requests go to one node until it fails, then to the next one that has caught up with the cluster.
    """

    def __init__(
        self,
        nodes: QdrantNodes | Sequence[AsyncQdrantClient],
        seconds: float,
        choice: NodeChoice | None = None,
        deadline: Deadline = NO_DEADLINE,
    ) -> None:
        self._nodes = nodes
        self._seconds, self._deadline = seconds, deadline
        self._choice = choice or NodeChoice()

    def within(self, deadline: Deadline) -> QdrantConnection:
        """Returns the same connection, whose requests end by the deadline."""
        return QdrantConnection(self._nodes, self._seconds, self._choice, deadline)

    async def call(self, request: Callable[[AsyncQdrantClient], Awaitable[Result]]) -> Result:
        """Sends a request that may safely be repeated, again after an error that may pass."""
        attempts = min(len(self._nodes), services.MAX_ATTEMPTS)

        async def attempt(left: float) -> Result:
            nonlocal attempts
            share, attempts = left / max(attempts, 1), attempts - 1  # one silent node must not use up all the time
            client = self._nodes[position := await self._choose_node()]
            try:
                async with timeout(share):
                    with translate_errors():
                        return await request(client)
            except TimeoutError:
                self._leave_node(position)
                raise services.build_timeout_error(SERVICE) from None
            except _NODE_FAILURES:
                self._leave_node(position)
                raise

        return await services.call_with_retry(attempt, service=SERVICE, seconds=self._seconds, deadline=self._deadline)

    async def scroll(
        self, collection: str, page_size: int, only: models.Filter | None = None
    ) -> AsyncGenerator[list[models.Record]]:
        """Yields all points of a collection, or those that match, with their payloads."""
        start: models.ExtendedPointId | None = None

        def request_page(
            client: AsyncQdrantClient,
        ) -> Awaitable[tuple[list[models.Record], models.ExtendedPointId | None]]:
            return client.scroll(collection, only, page_size, offset=start, with_payload=True)

        while True:
            points, start = await self.call(request_page)
            yield points
            if start is None:
                return

    async def _choose_node(self) -> int:
        """Returns the position of the node in use or, after a failure, of the next ready one; if none is, of the next.

        A node that has just started may still have the aliases and collections of an hour ago.
        """
        choice, count = self._choice, len(self._nodes)
        if not choice.is_checked:
            positions = [(choice.position + step) % count for step in range(count)]
            for position in positions:
                if await _is_ready(self._nodes[position]):
                    choice.position = position
                    break
            choice.is_checked = True
        return choice.position

    def _leave_node(self, position: int) -> None:
        if len(self._nodes) > 1 and self._choice.position == position:
            self._choice.position, self._choice.is_checked = (position + 1) % len(self._nodes), False


async def _is_ready(node: AsyncQdrantClient) -> bool:
    """Whether a node has caught up with its cluster; a proxy that does not pass the question on counts as ready."""
    try:
        async with timeout(READINESS_SECONDS):
            with translate_errors():
                await node.http.service_api.readyz()
    except (TimeoutError, errors.ServiceUnreachableError, errors.ServiceTimeoutError):
        return False
    except (errors.ServiceError, errors.BookIndexError):  # such as the answer itself, which is a sentence and not JSON
        return True
    return True


class QdrantNodes:
    """The clients of the URLs between commas; all but the first are made at their first use."""

    def __init__(self, urls: str, key: str | None, seconds: float) -> None:
        self._urls = [services.validate_url(url, "qdrant_url") for url in urls.split(",")]
        self._key = services.validate_key(key, "qdrant_key") if key else None
        self._seconds = seconds
        # The first one is made now, because importing the package would use up the time of the first request.
        self._clients = {0: _connect(self._urls[0], self._key, seconds)}

    def __len__(self) -> int:
        return len(self._urls)

    def __getitem__(self, position: int) -> AsyncQdrantClient:
        if position not in self._clients:
            self._clients[position] = _connect(self._urls[position], self._key, self._seconds)
        return self._clients[position]

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()


def _connect(url: str, key: str | None, seconds: float) -> AsyncQdrantClient:
    """Returns a client with a pool of connections; it sends nothing yet."""
    try:
        from httpx import Limits
        from qdrant_client import AsyncQdrantClient
    except ImportError as error:
        raise services.build_missing_packages_error("A Qdrant server", "qdrant") from error
    services.quiet_loggers("httpx", "httpcore")
    return AsyncQdrantClient(
        url=url,
        api_key=key,
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
        raise errors.ServiceRateLimitError(
            "Qdrant got too many requests. Try again later.", service=SERVICE, retry_after=wait
        ) from None
    except ResponseHandlingException as error:
        if isinstance(error.source, TimeoutException):
            raise services.build_timeout_error(SERVICE) from None
        is_malformed = isinstance(error.source, ValueError)
        raise (services.build_response_error if is_malformed else services.build_unreachable_error)(SERVICE) from None
    except (JSONDecodeError, UnicodeDecodeError, AssertionError):  # not JSON, or without the expected fields
        raise services.build_response_error(SERVICE) from None
    except UnexpectedResponse as error:
        raise _translate_status(error) from None


def _translate_status(reply: UnexpectedResponse) -> errors.BookboundError:
    status = reply.status_code or 0
    if status == 404:
        return errors.IndexNotFoundError(
            "This generation of the index is no longer on the server. Open the index again."
        )
    if status == 400 and b"dimension" in reply.content:
        return errors.EmbedderMismatchError("The collection has vectors of another size. Index the book again.")
    if status == 504:
        return services.build_timeout_error(SERVICE)
    if 400 <= status < 500 and status not in (401, 403, 408, 429):
        return errors.BookIndexError(f"Qdrant refused a request (status {status}). Check its version and its log.")
    return services.build_status_error(status, None, SERVICE)
