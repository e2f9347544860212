"""Builds the address that a contract gives for a place in the book, and Markdown links to it."""

from __future__ import annotations

import re
from urllib.parse import quote

from bookbound.domain.chunk import Place
from bookbound.domain.question import SELECTION_CHUNK_ID

URL_PATTERN = re.compile(r"(?:https?://[^\s/?#]+|/(?!/))\S*", re.IGNORECASE)
"""An http(s) address, or a path from the root."""
# A title is text of the book, so it must not end the label or become markup.
_MARKDOWN_SPECIAL = re.compile(r"[\\`*_~\[\]<>&|]")
# These end the address of a Markdown link too early.
_LINK_BREAKING = re.compile(r"[\s\x00-\x1f\x7f()<>\\]")


def build_source_url(place: Place) -> str:
    """The address of a place, never empty: a URL, a path from the root, or the path of a file such as `a.pdf#page=8`.

    A selection that is not from the book has no address, so it refers to itself.
    """
    link = _LINK_BREAKING.sub(lambda found: quote(found[0], safe=""), place.link)
    if URL_PATTERN.fullmatch(link):
        return link
    path = quote(place.file.partition("#")[0])
    if not path:
        return f"#{SELECTION_CHUNK_ID}"
    return f"{path}#{quote(place.anchor, safe='=')}" if place.anchor else path


def build_markdown_link(label: str, url: str) -> str:
    """A Markdown link, safe for any label."""
    escaped = _MARKDOWN_SPECIAL.sub(r"\\\g<0>", label)
    return f"[{escaped}]({url})"
