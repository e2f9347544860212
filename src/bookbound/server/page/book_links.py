"""Finds where the links of a page lead: to a place of the book, or to another site."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, unquote, urljoin, urlsplit

from bookbound.domain.chunk import Place

_PAGE_ENDING = re.compile(
    r"(?:^|/)(?:index|readme|_index)?$|\.(?:mdx?|markdown|rst|txt|html?|xhtml|ipynb)$", re.IGNORECASE
)


class BookLinks:
    """Resolves the targets of the links on one page of a book; `prefix` is the path of the book."""

    def __init__(self, pages: Iterable[Place], current: Place, prefix: str) -> None:
        self._current, self._prefix = current, prefix
        self._by_file: dict[str, Place] = {}
        self._by_url: dict[str, Place] = {}
        for place in pages:
            self._by_file.setdefault(_page_name(place.file), place)
            if place.url:
                self._by_url.setdefault(_url_name(place.url), place)

    def resolve(self, target: str) -> str:
        """Returns a link to a section of the book or to the web, or nothing: no other address is safe."""
        try:
            address = urlsplit(target.strip())
            if address.scheme == "mailto":
                return f"mailto:{quote(unquote(address.path), safe='@+,')}"
            if address.scheme not in ("", "http", "https"):
                return ""
            if not (address.scheme or address.netloc or address.path):
                return f"#{quote(unquote(address.fragment))}" if address.fragment else ""
            place = next(filter(None, self._find_places(target, address.path, bool(address.netloc))), None)
            if place:
                return page_path(place, self._prefix, unquote(address.fragment))
            url = urljoin(self._current.url, target.strip())
            is_web = urlsplit(url).scheme in ("http", "https") and urlsplit(url).netloc
            return quote(url, safe="%/:=&?~#+!$,;'@()*[]") if is_web else ""
        except ValueError:
            return ""

    def _find_places(self, target: str, path: str, has_host: bool) -> Iterator[Place | None]:
        if not has_host and path.startswith("/"):
            yield self._by_file.get(_page_name(unquote(path)))
        elif not has_host:
            folder = posixpath.dirname(self._current.file)
            yield self._by_file.get(_page_name(posixpath.join(folder, unquote(path))))
        yield self._by_url.get(_url_name(urljoin(self._current.url, target.strip())))


def page_path(place: Place, prefix: str, anchor: str = "") -> str:
    """The path of the page of a place; `prefix` is that of the book."""
    return f"{prefix}/read/{quote(place.file)}" + (f"#{quote(anchor)}" if anchor else "")


def _page_name(file: str) -> str:
    """The name of a page without what links leave out: its ending, and `index` or `README`."""
    name = posixpath.normpath(file.partition("#")[0]).lstrip("/")
    while name != (shorter := _PAGE_ENDING.sub("", name)):
        name = shorter
    return "" if name == "." else name


def _url_name(url: str) -> str:
    address = urlsplit(url)
    return f"{address.netloc}/{_page_name(unquote(address.path))}"
