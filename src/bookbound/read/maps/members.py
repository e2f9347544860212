"""A few members of a large object of JSON or JavaScript, without the work of understanding the others."""

from __future__ import annotations

import json
import re
from collections.abc import Collection

MOST_INSIDE = 1_000_000
"""The most lists and objects that a value may hold; a book has far fewer headings."""

# A string that is never closed goes on to the end, so that nobody looks for its end twice.
_STRING = r'"(?:[^"\\]++|\\.)*+"?'
_FLAT = re.compile(rf"{_STRING}|[{{}}\[\]:,]", re.DOTALL)
_DEEP = re.compile(rf"{_STRING}|[{{}}\[\]]", re.DOTALL)


def members(text: str, wanted: Collection[str]) -> dict[str, str]:
    """The values of some names of the first object in a text, each as it is written; names may stand without quotes."""
    found: dict[str, str] = {}
    name = ""
    begun = at = text.find("{") + 1
    while token := _FLAT.search(text, at):
        mark, at = token[0], token.end()
        if mark in ("{", "["):
            at = _behind(text, at)
        elif mark == ":" and not name:
            name, begun = text[begun : token.start()].strip().strip('"'), at
        elif mark in (",", "}", "]"):
            if name in wanted:
                found[name] = text[begun : token.start()]
            if mark != ",":
                break
            name, begun = "", at
    return found


def value(written: str) -> object:
    """What a value of JSON says; nothing where it is broken, too deep or too much."""
    if written.count("[") + written.count("{") > MOST_INSIDE:
        return None
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        return None


def _behind(text: str, at: int) -> int:
    """Where a list or object ends whose inside begins at `at`."""
    depth = 1
    for token in _DEEP.finditer(text, at):
        mark = token[0]
        if mark in ("{", "["):
            depth += 1
        elif mark in ("}", "]"):
            depth -= 1
            if not depth:
                return token.end()
    return len(text)
