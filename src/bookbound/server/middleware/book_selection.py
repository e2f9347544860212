"""Selects the book that a request names in its path or headers, and opens it."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from bookbound.domain.book_ref import CURRENT_BOOK_REF, BookRef
from bookbound.domain.errors import BookboundError, BookNotFoundError, IndexNotFoundError, InvalidInputError
from bookbound.server.book_pool import BOOK_NOT_FOUND, BookPool
from bookbound.server.middleware.client_identity import PUBLIC_PATHS

BOOK_HEADER, EDITION_HEADER = "Bookbound-Book", "Bookbound-Edition"
_BOOK_PATH = re.compile(r"/books/(?P<volume>[^/]+)(?P<rest>/.*)")
ErrorResponder = Callable[[BookboundError, Scope], Response]
log = logging.getLogger("bookbound.server")
IMPOSSIBLE_BOOK = BookRef("-", "-")
"""What stands for a name that no book can have."""


class BookSelectionMiddleware:
    """Takes the book out of the path, `/books/NAME@EDITION/ask`, or out of the headers; the rest of it is as ever.

    What tells of the service and not of a book is at its own path alone.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            found = _BOOK_PATH.fullmatch(scope["path"])
            if found and found["rest"] not in PUBLIC_PATHS:
                scope["path"], scope["raw_path"] = found["rest"], found["rest"].encode()
            CURRENT_BOOK_REF.set(_find_book_ref(found and found["volume"], Headers(scope=scope)))
        await self._app(scope, receive, send)


class BookOpeningMiddleware:
    """Opens the book that a request names, unless it is open; what keeps it closed is answered as `answer` words it."""

    def __init__(self, app: ASGIApp, shelf: BookPool, answer: ErrorResponder) -> None:
        self._app, self._shelf, self._answer = app, shelf, answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in PUBLIC_PATHS and (volume := CURRENT_BOOK_REF.get()):
            try:
                await self._shelf.ready(volume)
            except (
                BookNotFoundError,
                IndexNotFoundError,
                InvalidInputError,
            ):  # which others there are is nothing for readers
                await self._answer(BookNotFoundError(BOOK_NOT_FOUND), scope)(scope, receive, send)
                return
            except BookboundError as trouble:
                log.error("a book that was named cannot be opened: %s", trouble)
                await self._answer(trouble, scope)(scope, receive, send)
                return
            with self._shelf.lend(volume):  # so that it stays open until the question has its turn
                await self._app(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _find_book_ref(named: str | None, headers: Headers) -> BookRef | None:
    """The volume that a path or else the headers name; a path always names one."""
    try:
        volume = BookRef.named(headers.get(BOOK_HEADER, "") if named is None else named)
        volume = volume._replace(edition=volume.edition or headers.get(EDITION_HEADER, "")).checked()
    except InvalidInputError:
        return IMPOSSIBLE_BOOK
    return volume if volume != BookRef() else IMPOSSIBLE_BOOK if named is not None else None
