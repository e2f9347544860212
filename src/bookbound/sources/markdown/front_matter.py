"""Parses the front matter of a page."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

from bookbound.sources.page_builder import CharSpan
from bookbound.sources.safe_config import parse_yaml
from bookbound.sources.titles import MAX_TITLE_CHARS

_FRONT_MATTER = re.compile(r"---[ \t]*\n(?P<body>.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """A page's fields and where its text begins."""

    fields: dict[Any, Any] = field(default_factory=dict)
    end: int = 0
    broken: bool = False

    def text(self, name: str) -> str:
        """A field as words; empty where it is missing, empty or no scalar."""
        value = self.fields.get(name)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return ""
        try:
            return str(value)[:MAX_TITLE_CHARS].strip()
        except ValueError:  # a number of more digits than Python writes out
            return ""

    def number(self, name: str) -> float | None:
        value = self.fields.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        try:
            return float(value) if math.isfinite(value) else None
        except OverflowError:
            return None

    def flag(self, name: str) -> bool:
        return self.fields.get(name) is True

    def span(self, name: str, source: str) -> CharSpan | None:
        """Where a field's words stand, as they are read, in the source.

        What is called the same within another field stands deeper.
        """
        words = self.text(name)
        if not words:
            return None
        opening = re.compile(
            rf"^(?P<deep>[ \t]*+)[ \t{{,]*+\"?{re.escape(name)}\"?[ \t]*+[:=](?P<value>[^\n]*)", re.MULTILINE
        )
        lines = [line for line in opening.finditer(source, 0, self.end) if words in line["value"]]
        line = min(lines, key=lambda line: len(line["deep"]), default=None)
        start = source.index(words, line.start("value")) if line else 0
        return (start, start + len(words)) if line else None


def parse_front_matter(source: str) -> FrontMatter:
    """The YAML between two lines of hyphens at the top; where it is no YAML, it is still no text."""
    found = _FRONT_MATTER.match(source)
    if not found:
        return FrontMatter()
    fields = parse_yaml(found["body"])
    if isinstance(fields, dict):
        return FrontMatter(fields, found.end())
    if fields is None and (not found["body"].strip() or re.match(r"[\w-]+:", found["body"])):
        return FrontMatter({}, found.end(), broken=bool(found["body"].strip()))
    return FrontMatter()
