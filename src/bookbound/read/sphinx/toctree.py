"""Lists of pages, as Sphinx writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

_TITLED = re.compile(r"(?P<title>[^<>]*[^<>\s])\s*<(?P<target>[^<>]*)>")

_ALL, _DIGITS = 999, 4


class Toctree(NamedTuple):
    """A list of pages: title and target of each line, what the list is called, and how it is to be read.

    Those of a list that is `made` need not be there; `numbered` is how many levels of their sections get numbers.
    """

    lines: tuple[tuple[str, str], ...]
    caption: str = ""
    glob: bool = False
    backwards: bool = False
    made: bool = False
    numbered: int = 0


def toctree(lines: Iterable[str], options: Mapping[str, Any]) -> Toctree:
    """The list that a directive with these lines and options makes."""
    entries = []
    for line in filter(None, map(str.strip, lines)):
        found = _TITLED.fullmatch(line)
        entries.append((found["title"], found["target"]) if found else ("", line))
    caption = " ".join(str(options.get("caption") or "").split())
    numbered = _levels(options["numbered"]) if "numbered" in options else 0
    return Toctree(tuple(entries), caption, "glob" in options, "reversed" in options, numbered=numbered)


def _levels(value: Any) -> int:
    """How many levels are numbered: all of them where no number is given."""
    given = str(value or "").strip()
    return int(given) if given.isdecimal() and len(given) < _DIGITS else _ALL
