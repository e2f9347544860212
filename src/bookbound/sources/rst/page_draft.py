"""Defines a page draft: its title, labels, toctrees and outline, and how to render it once its references are known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from bookbound.domain.document import SourceNotice
from bookbound.sources.includes import IncludeLoader
from bookbound.sources.page_builder import RenderedPage

OutlineKind = Literal["section", "toctree", "figure", "table", "code-block", "displaymath"]
"""The kinds of things that numbers lead to, and the lists of pages, which hand theirs on."""


class OutlineItem(NamedTuple):
    """A thing that may get a number: how many sections hold it, itself included, its ids, and what it is called.

    The id of a list of pages is its place among those of the page.
    """

    kind: OutlineKind
    level: int
    ids: tuple[str, ...]
    title: str = ""


Outline = tuple[OutlineItem, ...]
_TITLED_ENTRY = re.compile(r"(?P<title>[^<>]*[^<>\s])\s*<(?P<target>[^<>]*)>")
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


def parse_toctree(lines: Iterable[str], options: Mapping[str, Any]) -> Toctree:
    """The list that a directive with these lines and options makes."""
    entries = []
    for line in filter(None, map(str.strip, lines)):
        found = _TITLED_ENTRY.fullmatch(line)
        entries.append((found["title"], found["target"]) if found else ("", line))
    caption = " ".join(str(options.get("caption") or "").split())
    numbered = _parse_numbered_levels(options["numbered"]) if "numbered" in options else 0
    return Toctree(tuple(entries), caption, "glob" in options, "reversed" in options, numbered=numbered)


def _parse_numbered_levels(value: Any) -> int:
    """How many levels are numbered: all of them where no number is given."""
    given = str(value or "").strip()
    return int(given) if given.isdecimal() and len(given) < _DIGITS else _ALL


TitleLookup = Callable[[str, str], str | None]
"""What is shown for a kind of reference (`ref`, `doc`, `numref`, `eq`) and its target, where there is something.

The `number` of an id on the page itself is what is set before a heading or a caption.
"""


@dataclass(frozen=True, slots=True)
class PageDraft:
    """A page's own title, the labels that others may refer to, the pages it lists, and how it is set.

    `orphan` says that its author wants it in no list; `outline` is what of it can be numbered, and `targets` are the
    ids that labels lead to.
    """

    source: str
    title: str
    labels: Mapping[str, str]
    toctrees: tuple[Toctree, ...]
    set: Callable[[TitleLookup], RenderedPage]
    orphan: bool = False
    notices: tuple[SourceNotice, ...] = ()
    outline: Outline = ()
    targets: Mapping[str, str] = field(default_factory=dict)


ALWAYS_EXCLUDED = ("_templates", "_static")


@dataclass(frozen=True, slots=True)
class ProjectConfig:
    """How a project is put together, as far as plain assignments tell."""

    title: str = ""
    address: str = ""
    root: str = "index"
    suffixes: tuple[str, ...] = (".rst",)
    excluded: tuple[str, ...] = ALWAYS_EXCLUDED
    prolog: str = ""
    epilog: str = ""
    words: tuple[tuple[str, str], ...] = ()
    shorthands: tuple[tuple[str, str], ...] = ()
    substitutions: tuple[tuple[str, str], ...] = ()
    numfig: bool = False
    numfig_depth: int = 1
    numfig_formats: tuple[tuple[str, str], ...] = ()
    number_suffix: str = ". "
    todos: bool = True

    @property
    def formats(self) -> dict[str, str]:
        """What is set around the number of each kind of thing."""
        return _DEFAULT_NUMBER_FORMATS | dict(self.numfig_formats)


@dataclass(frozen=True, slots=True)
class ProjectContext:
    """Where drafts are made: the shelf of files to take words from, the project's home and its configuration."""

    shelf: IncludeLoader
    home: Path
    config: ProjectConfig = field(default_factory=ProjectConfig)


_DEFAULT_NUMBER_FORMATS = {
    "section": "Section %s",
    "figure": "Fig. %s",
    "table": "Table %s",
    "code-block": "Listing %s",
}
