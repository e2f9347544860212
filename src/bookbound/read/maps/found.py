"""Where the maps of generators lie: in the folder that a site was built into, and on the web."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from bookbound.book import Notice
from bookbound.read import decode, files
from bookbound.read.html.page import generator
from bookbound.read.maps.lines import Line, lines

LARGEST = 10_000_000
"""The most bytes of a map that are read."""

_INVENTORY = "objects.inv"
_MKDOCS = "search/search_index.json"
_HASHED = re.compile(r"\bsearchindex(?:-[0-9A-Za-z]{1,64})?\.js\b")


def in_folder(root: Path) -> tuple[dict[str, list[Line]], list[Notice]]:
    """The lines of each map in the folder of a built site, by the file's name, and the maps that are broken.

    Of the maps for a site's search one is enough: mdBook writes two with the same lines.
    """
    found: dict[str, list[Line]] = {}
    odd: list[Notice] = []
    searched = False
    for path in _candidates(root):
        name = files.shown(path.relative_to(root))
        if searched and name != _INVENTORY:
            continue
        listed = lines(name, _data(path, root))
        if listed:
            found[name] = listed
            searched = searched or name != _INVENTORY
        else:
            odd.append(broken(name))
    return found, odd


def on_the_web(html: str) -> tuple[str, ...]:
    """The maps that a site has, below its root, if its generator is the one that made this page."""
    maker = generator(html)
    if maker == "mdbook":
        named = _HASHED.search(html)
        return (named[0] if named else "searchindex.js",)
    return {"sphinx": (_INVENTORY, "searchindex.js"), "mkdocs": (_MKDOCS,)}.get(maker, ())


def broken(name: str) -> Notice:
    """What is said of a map that lists nothing."""
    return Notice(name, "is no map of the site that can be read; its pages are found without it")


def _candidates(root: Path) -> Iterator[Path]:
    named = [root / name for name in (_INVENTORY, _MKDOCS, "searchindex.json", "searchindex.js")]
    yield from (path for path in [*named, *_hashed(root)] if files.is_file(path))


def _hashed(root: Path) -> list[Path]:
    try:
        return sorted(path for path in root.iterdir() if _HASHED.fullmatch(path.name) and path.name != "searchindex.js")
    except OSError:
        return []


def _data(path: Path, root: Path) -> bytes:
    """What stands in a map; nothing where it is too large, cannot be read or lies elsewhere."""
    if not files.is_inside(path, root):
        return b""
    return decode.content(path, path.name, LARGEST)[0] or b""
