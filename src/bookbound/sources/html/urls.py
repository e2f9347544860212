"""Resolves and normalizes the URLs of pages."""

from __future__ import annotations

import posixpath
import re
import string
from urllib.parse import quote, urljoin, urlsplit

MAX_URL_CHARS = 2_000
SAFE_PATH_CHARS = "/:@!$&'()*+,;=~"
"""Characters that a path contains without an escape, apart from letters and digits."""
_DEFAULT_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[0-9a-z._-]+|[0-9a-f:.]+")
_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})?")
_UNRESERVED = frozenset(string.ascii_letters + string.digits + "-._~")


def resolve_url(url: str, href: str) -> str:
    """Return the normalized URL of a link on the page at `url`, without its fragment, or nothing if it is not usable.

    URLs that browsers and servers treat as equal become equal. A URL with a user or password is not usable.
    """
    if len(href) > MAX_URL_CHARS:
        return ""
    try:
        parts = urlsplit(urljoin(url, href.strip()))
        host = parts.hostname or ""
        host = host if host.isascii() else host.encode("idna").decode()
        is_web = parts.scheme in _DEFAULT_PORTS and parts.port != 0
        if not is_web or parts.username is not None or not _HOST.fullmatch(host):
            return ""
        netloc = _format_netloc(host, parts.port, parts.scheme)
        path, query = _normalize_path(parts.path), _normalize_escapes(parts.query, SAFE_PATH_CHARS + "?")
    except ValueError:
        return ""
    resolved = parts._replace(netloc=netloc, path=path, query=query, fragment="").geturl()
    return resolved if len(resolved) <= MAX_URL_CHARS else ""


def get_origin(url: str) -> str:
    """Return the scheme, host and port of a URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{_format_netloc(parts.hostname or '', parts.port, parts.scheme)}"


def page_key(url: str) -> str:
    """Return a key that all URLs of one page share."""
    parts = urlsplit(url)
    path = re.sub(r"(?:/index\.html?|\.html?|/)\Z", "", parts.path)
    return f"{parts.netloc.lower()}{path.removesuffix('/index')}" + (f"?{parts.query}" if parts.query else "")


def page_file_name(url: str, *, with_host: bool = False) -> str:
    """Return the name of a page among the files of its book."""
    parts = urlsplit(url)
    path = parts.path.strip("/") or "index"
    name = f"{parts.netloc}/{path}" if with_host and parts.netloc else path
    return f"{name}?{parts.query}" if parts.query else name


def _format_netloc(host: str, port: int | None, scheme: str) -> str:
    """Join host and port; leave out the default port of the scheme."""
    name = f"[{host}]" if ":" in host else host
    return f"{name}:{port}" if port and port != _DEFAULT_PORTS.get(scheme) else name


def _normalize_path(path: str) -> str:
    """Remove `..`, `.` and repeated slashes from a path."""
    escaped = _normalize_escapes(path, SAFE_PATH_CHARS)
    normal = posixpath.normpath(f"/{escaped.lstrip('/')}")
    is_folder = escaped.rpartition("/")[2] in ("", ".", "..")
    return f"{normal}/" if is_folder and normal != "/" else normal


def _normalize_escapes(text: str, kept: str) -> str:
    """Escape a part of a URL, and remove unnecessary escapes."""

    def normalize(match: re.Match[str]) -> str:
        if not match[1]:
            return "%25"
        character = chr(int(match[1], 16))
        return character if character in _UNRESERVED else match[0].upper()

    return _ESCAPED.sub(normalize, quote(text, f"{kept}%"))
