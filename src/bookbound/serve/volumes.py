"""Which book a request is put to: by its path, by a header, or as the settings say."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from bookbound.errors import BookboundError, InvalidInput, NoBook, NoIndex
from bookbound.serve.access import OPEN
from bookbound.serve.shelf import NO_BOOK, Shelf
from bookbound.volume import READING, Volume

BOOK, EDITION = "Bookbound-Book", "Bookbound-Edition"
_PATH = re.compile(r"/books/(?P<volume>[^/]+)(?P<rest>/.*)")
Answer = Callable[[BookboundError, Scope], Response]
log = logging.getLogger("bookbound.serve")
NOWHERE = Volume("-", "-")
"""What stands for a name that no book can have."""


class Volumes:
    """Takes the book out of the path, `/books/NAME@EDITION/ask`, or out of the headers; the rest of it is as ever.

    What tells of the service and not of a book is at its own path alone.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            found = _PATH.fullmatch(scope["path"])
            if found and found["rest"] not in OPEN:
                scope["path"], scope["raw_path"] = found["rest"], found["rest"].encode()
            READING.set(_volume(found and found["volume"], Headers(scope=scope)))
        await self._app(scope, receive, send)


class Opening:
    """Opens the book that a request names, unless it is open; what keeps it closed is answered as `answer` words it."""

    def __init__(self, app: ASGIApp, shelf: Shelf, answer: Answer) -> None:
        self._app, self._shelf, self._answer = app, shelf, answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in OPEN and (volume := READING.get()):
            try:
                await self._shelf.ready(volume)
            except (NoBook, NoIndex, InvalidInput):  # which others there are is nothing for readers
                await self._answer(NoBook(NO_BOOK), scope)(scope, receive, send)
                return
            except BookboundError as trouble:
                log.error("a book that was named cannot be opened: %s", trouble)
                await self._answer(trouble, scope)(scope, receive, send)
                return
            with self._shelf.lend(volume):  # so that it stays open until the question has its turn
                await self._app(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _volume(named: str | None, headers: Headers) -> Volume | None:
    """The volume that a path or else the headers name; a path always names one."""
    try:
        volume = Volume.named(headers.get(BOOK, "") if named is None else named)
        volume = volume._replace(edition=volume.edition or headers.get(EDITION, "")).checked()
    except InvalidInput:
        return NOWHERE
    return volume if volume != Volume() else NOWHERE if named is not None else None
