"""The fields that an author wrote above a page's text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

_FENCED = re.compile(r"---[ \t]*\n(?P<body>.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """A page's fields and where its text begins."""

    fields: dict[str, Any] = field(default_factory=dict)
    end: int = 0
    broken: bool = False

    def text(self, name: str) -> str:
        """A field as words; empty where it is missing, empty or no scalar."""
        value = self.fields.get(name)
        return str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""

    def number(self, name: str) -> float | None:
        value = self.fields.get(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def flag(self, name: str) -> bool:
        return self.fields.get(name) is True

    def span(self, name: str, source: str) -> tuple[int, int] | None:
        """Where a field's words stand, as they are read, in the source."""
        line = re.compile(rf"^{re.escape(name)}:[ \t]*", re.MULTILINE).search(source, 0, self.end)
        words = self.text(name)
        if not line or not words:
            return None
        line_end = source.index("\n", line.end())
        start = source.find(words, line.end(), line_end)
        return (start, start + len(words)) if start >= 0 else None


def front_matter(source: str) -> FrontMatter:
    """The YAML between two lines of hyphens at the top; where it is no YAML, it is still no text."""
    found = _FENCED.match(source)
    if not found:
        return FrontMatter()
    fields = load(found["body"])
    if isinstance(fields, dict):
        return FrontMatter({str(name): value for name, value in fields.items()}, found.end())
    if fields is None and (not found["body"].strip() or re.match(r"[\w-]+:", found["body"])):
        return FrontMatter({}, found.end(), broken=bool(found["body"].strip()))
    return FrontMatter()


def load(text: str) -> object:
    """What a piece of YAML holds; nothing where it is broken."""
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError):
        return None
