"""The fields that an author wrote above a page's text."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from bookbound.read.galley import Span
from bookbound.read.sound import sound
from bookbound.read.titles import LONGEST

_LONGEST_SOURCE = 100_000
_FENCED = re.compile(r"---[ \t]*\n(?P<body>.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


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
            return str(value)[:LONGEST].strip()
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

    def span(self, name: str, source: str) -> Span | None:
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


def front_matter(source: str) -> FrontMatter:
    """The YAML between two lines of hyphens at the top; where it is no YAML, it is still no text."""
    found = _FENCED.match(source)
    if not found:
        return FrontMatter()
    fields = load(found["body"])
    if isinstance(fields, dict):
        return FrontMatter(fields, found.end())
    if fields is None and (not found["body"].strip() or re.match(r"[\w-]+:", found["body"])):
        return FrontMatter({}, found.end(), broken=bool(found["body"].strip()))
    return FrontMatter()


class Plain(yaml.SafeLoader):
    """Safe types, and aliases for so much alone: a few lines of them can stand for more than any memory holds."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._sizes: dict[int, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        alias = self.check_event(yaml.AliasEvent)
        node = super().compose_node(parent, index)
        if alias and id(node) not in self._sizes:
            raise yaml.YAMLError("an alias of what holds it")
        if isinstance(node, yaml.ScalarNode):
            node.value = sound(node.value)
        inner = node.value if isinstance(node, yaml.CollectionNode) else []
        inside = [one for pair in inner for one in (pair if isinstance(pair, tuple) else (pair,))]
        self._sizes[id(node)] = 1 + sum(self._sizes[id(one)] for one in inside)
        if self._sizes[id(node)] > _LONGEST_SOURCE:
            raise yaml.YAMLError("aliases without end")
        return node


def load(text: str, loader: type[Plain] = Plain) -> object:
    """What a piece of plain YAML holds; nothing where it is broken, very long or refers to itself."""
    try:
        # The loader keeps to safe types; a tag that its value does not fit makes it fail in many ways.
        return yaml.load(text, loader) if len(text) <= _LONGEST_SOURCE else None
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError, LookupError, AttributeError, TypeError):
        return None


def plain_json(text: str) -> object:
    """What a piece of JSON holds; nothing where it is broken."""
    try:
        read: object = sound(json.loads(text))
        return read
    except (ValueError, RecursionError):
        return None
