"""Which other origins may call from a browser: those that a setting names, and those that a key is for."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from bookbound.errors import BadSetup
from bookbound.serve.access import HEADER
from bookbound.serve.keyfile import Watched
from bookbound.serve.keys import ANYWHERE, origin
from bookbound.serve.limits import HEADERS
from bookbound.serve.onlooker import REQUEST_ID
from bookbound.serve.volumes import BOOK, EDITION


def named(origins: Sequence[str]) -> tuple[str, ...]:
    """The origins that a setting names, as browsers spell them; * is any."""
    try:
        return tuple(each if each == ANYWHERE else origin(each) for each in origins)
    except BadSetup as trouble:
        raise BadSetup(f"The setting `origins` names what is none. {trouble}") from None


class Origins(CORSMiddleware):
    """Answers a browser that asks whether a page may call, from the keys as they are at that moment."""

    def __init__(self, app: ASGIApp, names: Sequence[str], keys: Watched) -> None:
        names = named(names)
        super().__init__(
            app,
            allow_origins=names,
            allow_methods=["GET", "POST"],
            allow_headers=["Content-Type", REQUEST_ID, "Authorization", HEADER, BOOK, EDITION],
            expose_headers=[REQUEST_ID, "Retry-After", "WWW-Authenticate", *HEADERS],
        )
        self._keys = keys

    def is_allowed_origin(self, origin: str) -> bool:
        return super().is_allowed_origin(origin) or self._keys.ring.welcomes(origin)
