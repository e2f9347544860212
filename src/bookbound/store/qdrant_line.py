"""The line to a Qdrant server: how it is opened, how long it is tried, and what its failures mean here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from json import JSONDecodeError
from typing import TYPE_CHECKING, TypeVar

from bookbound.discretion import discreet
from bookbound.errors import (
    BadReply,
    BadSetup,
    BookboundError,
    Denied,
    IndexTrouble,
    LimitReached,
    NoIndex,
    TimedOut,
    Unreachable,
    WrongEmbedder,
)
from bookbound.patience import patiently

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient
    from qdrant_client.http.exceptions import UnexpectedResponse

SERVICE = "qdrant"
LATE = "Qdrant did not answer in time. Try again in a moment."
AWAY = "Qdrant cannot be reached. Check its address and that it runs."
ODD = "Qdrant answered with what cannot be read. Check that the address is that of a Qdrant server."
FULL = "Qdrant takes no more requests for now. Try again in a moment."
Result = TypeVar("Result")


class Line:
    """A client, and the seconds that everything asked of it may take, tries and pauses together."""

    def __init__(self, client: AsyncQdrantClient, seconds: float) -> None:
        self._client = client
        self._seconds = seconds

    async def ask(self, request: Callable[[AsyncQdrantClient], Awaitable[Result]]) -> Result:
        """What the server answers, asked again after trouble that may pass: for what may be done twice."""

        async def attempt(_: float) -> Result:
            with understood():
                return await request(self._client)

        return await patiently(attempt, service=SERVICE, most=self._seconds)


def connect(url: str, key: str | None, seconds: float) -> AsyncQdrantClient:
    """A client for the server at `url`, which keeps its connections; nothing is sent yet."""
    try:
        from httpx import Limits
        from qdrant_client import AsyncQdrantClient
    except ImportError as trouble:
        raise BadSetup("A Qdrant server needs one more package: pip install 'bookbound[qdrant]'") from trouble
    discreet("httpx", "httpcore")
    if key and not (key.isascii() and key.isprintable()):
        raise BadSetup("The key of the Qdrant server holds signs that no key has. Check the setting `qdrant_key`.")
    try:
        return AsyncQdrantClient(
            url=url,
            api_key=key or None,
            timeout=seconds,  # type: ignore[arg-type]  # which it rounds up to whole seconds
            check_compatibility=False,
            limits=Limits(max_connections=100, max_keepalive_connections=20),  # by itself it keeps none on a loopback
        )
    except ValueError:
        raise BadSetup("The address of the Qdrant server must look like http://localhost:6333") from None


@contextmanager
def understood() -> Iterator[None]:
    """Within this block the client's errors are ours; theirs quote what was sent, so they are not handed on."""
    from httpx import TimeoutException
    from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    try:
        yield
    except ResourceExhaustedResponse as trouble:
        raise LimitReached(FULL, service=SERVICE, retry_after=trouble.retry_after_s) from None
    except QdrantException:  # a limit, with a time to wait that is no number
        raise LimitReached(FULL, service=SERVICE) from None
    except ResponseHandlingException as trouble:
        if isinstance(trouble.source, TimeoutException):
            raise TimedOut(LATE, service=SERVICE) from None
        if isinstance(trouble.source, ValueError):
            raise BadReply(ODD, service=SERVICE) from None
        raise Unreachable(AWAY, service=SERVICE) from None
    except (JSONDecodeError, UnicodeDecodeError, AssertionError):  # no JSON, or none of what was asked for in it
        raise BadReply(ODD, service=SERVICE) from None
    except UnexpectedResponse as trouble:
        raise _meant_by(trouble) from None


def _meant_by(answer: UnexpectedResponse) -> BookboundError:
    status = answer.status_code or 0
    if status in (401, 403):
        return Denied("Qdrant does not take the key. Check the setting `qdrant_key`.", service=SERVICE)
    if status == 404:
        return NoIndex("This generation of the index is gone from the server. Open the index again.")
    if status in (408, 504):
        return TimedOut(LATE, service=SERVICE)
    if status == 429:
        return LimitReached(FULL, service=SERVICE)
    if status == 400 and b"dimension" in answer.content:
        return WrongEmbedder("The collection holds vectors of another size. Index the book again.")
    if 400 <= status < 500:
        return IndexTrouble(f"Qdrant refused a request (status {status}). Check its version and its log.")
    return Unreachable(f"Qdrant answered with status {status}. Check the server and its log.", service=SERVICE)
