"""What comes of asking a site for a page, and how much a crawl may take."""

from __future__ import annotations

from dataclasses import dataclass, field

from bookbound.errors import BadSource


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much a crawl may take, in pages, addresses that are asked, bytes and seconds."""

    pages: int = 10_000
    asked: int = 30_000
    page_bytes: int = 5_000_000
    bytes: int = 1_000_000_000
    seconds: float = 3_600.0
    page_seconds: float = 60.0
    silence: float = 15.0
    longest_wait: float = 30.0
    tries: int = 3
    at_once: int = 4
    pause: float = 0.1


@dataclass(frozen=True, slots=True)
class Fetched:
    """What came from an address, all redirects followed."""

    url: str
    kind: str
    charset: str
    body: bytes = field(repr=False)
    kept_out: bool = False

    @property
    def is_html(self) -> bool:
        return self.kind in ("text/html", "application/xhtml+xml")


class NotFetched(BadSource):
    """A page cannot be had: it is `missing`, the site has it `kept` out, or is `distrusted` for its certificate."""

    def __init__(self, message: str, *, missing: bool = False, kept: bool = False, distrusted: bool = False) -> None:
        super().__init__(message)
        self.missing, self.kept, self.distrusted = missing, kept, distrusted


class Passing(NotFetched):
    """A page cannot be had now, and perhaps in `wait` seconds."""

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait
