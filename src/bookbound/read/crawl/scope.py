"""Which addresses belong to a site that is crawled."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from bookbound.errors import BadSource
from bookbound.read.html.address import LONGEST_ADDRESS, resolved

_NO_PAGE = re.compile(
    r"(?i)\.(?:pdf|epub|zip|t?gz|bz2|xz|7z|rar|exe|dmg|whl|jar|png|jpe?g|gif|svg|webp|avif|ico|bmp|tiff?|mp[34]|m4[av]|webm"
    r"|og[gv]|wav|mov|avi|woff2?|ttf|otf|eot|css|js|mjs|map|json|xml|rss|atom|txt|md|rst|ipynb|py|csv|inv|wasm)\Z"
)


def start_of(url: str) -> str:
    """The address that a crawl begins with, or what is wrong with it."""
    try:
        parts = urlsplit(url.strip())
        named, credentials = bool(parts.hostname), parts.username is not None or parts.password is not None
    except ValueError:
        named = credentials = False
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not named:
        raise BadSource("A site is named by its address, which begins with https:// or http:// and holds a host.")
    if credentials:
        raise BadSource("The address holds a user or password, which are not used: leave them out.")
    found = resolved(url, "") if len(url) <= LONGEST_ADDRESS else ""
    if not found:
        raise BadSource("The address is malformed or too long: copy it from the browser's address bar.")
    return found


@dataclass(frozen=True, slots=True)
class Scope:
    """A site: one origin, and a path below which its pages stand."""

    origin: str
    path: str

    @classmethod
    def of(cls, start: str, found: str) -> Scope:
        """What stands below `start`, or below the page `found` that it led to, where that is elsewhere."""
        asked = cls(origin(start), _folder(start))
        return asked if asked.holds(found) else cls(origin(found), _folder(found))

    @property
    def home(self) -> str:
        return self.origin + self.path

    def own(self, said: str) -> str:
        """The address on this host that somebody has written down; nothing where it is none, or elsewhere."""
        found = resolved(self.home, said)
        return found if found and origin(found) == self.origin else ""

    def holds(self, url: str) -> bool:
        path = urlsplit(url).path or "/"
        return origin(url) == self.origin and (path.startswith(self.path) or f"{path}/" == self.path)

    def page(self, link: str) -> str:
        """The address of the page that a link leads to, without its query; nothing where it leads to none of these."""
        address = urlunsplit(urlsplit(link)._replace(query="", fragment=""))
        return address if self.holds(address) and not _NO_PAGE.search(address) else ""


def origin(url: str) -> str:
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}.get(parts.scheme)
    port = f":{parts.port}" if parts.port and parts.port != default else ""
    host = parts.hostname or ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}"


def _folder(url: str) -> str:
    """The path below which the pages beside a page stand."""
    path = urlsplit(url).path or "/"
    folder, _, name = path.rpartition("/")
    return f"{folder}/" if not name or "." in name else f"{path}/"
