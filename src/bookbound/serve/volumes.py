"""Which book a request is put to: by its path, by a header, or as the settings say."""

from __future__ import annotations

import re
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from bookbound.errors import BookboundError, InvalidInput
from bookbound.serve.shelf import Shelf
from bookbound.volume import READING, Volume

BOOK, EDITION = "Bookbound-Book", "Bookbound-Edition"
_PATH = re.compile(r"/books/(?P<volume>[^/]+)(?P<rest>/.*)")
NOWHERE = Volume("-", "-")
"""What stands for a name that no book can have."""


class Volumes:
    """Takes the book out of the path, `/books/NAME@EDITION/ask`, or out of the headers; the rest of it is as ever."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            found = _PATH.fullmatch(scope["path"])
            if found:
                scope["path"] = scope["raw_path"] = found["rest"]
                scope["raw_path"] = found["rest"].encode()
            READING.set(_volume(found["volume"] if found else "", Headers(scope=scope)))
        await self._app(scope, receive, send)


class Opening:
    """Opens the book that a request is put to, unless it is open; what is missing is told by who answers."""

    def __init__(self, app: ASGIApp, shelf: Shelf) -> None:
        self._app, self._shelf = app, shelf

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (volume := READING.get()):
            with suppress(BookboundError):
                await self._shelf.ready(volume)
        await self._app(scope, receive, send)


def _volume(named: str, headers: Headers) -> Volume | None:
    try:
        volume = Volume.named(named or headers.get(BOOK, ""))
        edition = volume.edition or headers.get(EDITION, "")
        return volume._replace(edition=edition).checked() if volume.book or edition else None
    except InvalidInput:
        return NOWHERE
