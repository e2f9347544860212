"""Resolves and normalises the URLs of pages."""

from __future__ import annotations

import re
import string
from urllib.parse import quote, urljoin, urlsplit

MAX_URL_CHARS = 2_000
SAFE_PATH_CHARS = "/:@!$&'()*+,;=~"
"""What stands in a path as it is, beside letters and digits."""
_DEFAULT_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[0-9a-z._-]+|[0-9a-f:.]+")
_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})?")
_UNRESERVED = frozenset(string.ascii_letters + string.digits + "-._~")


def resolve_url(url: str, href: str) -> str:
    """The address that a link on the page at `url` leads to, without its fragment; nothing where it is none.

    What a browser or a server takes for the same is written the same, and a user or password makes it none.
    """
    if len(href) > MAX_URL_CHARS:
        return ""
    try:
        parts = urlsplit(urljoin(url, href.strip()))
        host = parts.hostname or ""
        host = host if host.isascii() else host.encode("idna").decode()
        if (
            parts.scheme not in _DEFAULT_PORTS
            or parts.username is not None
            or parts.port == 0
            or not _HOST.fullmatch(host)
        ):
            return ""
        port = f":{parts.port}" if parts.port not in (None, _DEFAULT_PORTS[parts.scheme]) else ""
        path, query = _normalize_path(parts.path), _normalize_escapes(parts.query, SAFE_PATH_CHARS + "?")
    except ValueError:
        return ""
    netloc = (f"[{host}]" if ":" in host else host) + port
    found = parts._replace(netloc=netloc, path=path, query=query, fragment="").geturl()
    return found if len(found) <= MAX_URL_CHARS else ""


def page_key(url: str) -> str:
    """What two addresses of one page have in common."""
    parts = urlsplit(url)
    path = re.sub(r"(?:/index\.html?|\.html?|/)\Z", "", parts.path)
    return f"{parts.netloc.lower()}{path.removesuffix('/index')}" + (f"?{parts.query}" if parts.query else "")


def _normalize_path(path: str) -> str:
    """A path without steps back, steps on the spot and slashes that part nothing."""
    steps = _normalize_escapes(path, SAFE_PATH_CHARS).split("/")
    kept: list[str] = []
    for step in steps:
        if step == "..":
            del kept[-1:]
        elif step not in ("", "."):
            kept.append(step)
    ending = "/" if kept and steps[-1] in ("", ".", "..") else ""
    return f"/{'/'.join(kept)}{ending}"


def _normalize_escapes(text: str, kept: str) -> str:
    """A part of an address, in which no character is escaped that need not be."""
    return _ESCAPED.sub(_normalize_escape, quote(text, f"{kept}%"))


def _normalize_escape(found: re.Match[str]) -> str:
    if not found[1]:
        return "%25"
    character = chr(int(found[1], 16))
    return character if character in _UNRESERVED else found[0].upper()
