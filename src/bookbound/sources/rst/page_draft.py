"""Defines a page draft: its title, labels, toctrees and outline, and how to render it once its references are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from bookbound.domain.document import SourceNotice
from bookbound.sources import files
from bookbound.sources.includes import IncludeLoader
from bookbound.sources.page_builder import RenderedPage
from bookbound.sources.rst.shared_markup import TITLE_AND_TARGET

OutlineKind = Literal["section", "toctree", "figure", "table", "code-block", "displaymath"]
# What Sphinx takes for `numbered` without a depth.
_ALL_LEVELS = 999
_MAX_LEVEL_DIGITS = 3


class OutlineItem(NamedTuple):
    """Something that can have a number, or a toctree, whose pages continue the numbers.

    `level` counts the sections around it, itself included. The id of a toctree is its index on the page.
    """

    kind: OutlineKind
    level: int
    ids: tuple[str, ...]
    title: str = ""


Outline = tuple[OutlineItem, ...]


class Toctree(NamedTuple):
    """A list of pages, each with a title and a target.

    The pages of a toctree that `is_generated` may be missing. Headings of the first `numbered_levels` get numbers.
    """

    entries: tuple[tuple[str, str], ...]
    caption: str = ""
    is_glob: bool = False
    is_reversed: bool = False
    is_generated: bool = False
    numbered_levels: int = 0


def parse_toctree(lines: Iterable[str], options: Mapping[str, Any]) -> Toctree:
    """Parse the content and the options of a toctree directive."""
    entries = []
    for line in filter(None, map(str.strip, lines)):
        titled = TITLE_AND_TARGET.match(line)
        entries.append((titled["title"], titled["target"]) if titled else ("", line))
    caption = " ".join(str(options.get("caption") or "").split())
    depth = str(options.get("numbered") or "").strip()
    levels = int(depth) if depth.isdecimal() and len(depth) <= _MAX_LEVEL_DIGITS else _ALL_LEVELS
    numbered = levels if "numbered" in options else 0
    return Toctree(tuple(entries), caption, "glob" in options, "reversed" in options, numbered_levels=numbered)


class References:
    """Tells what the references of a page show; this one, for a page without a book, resolves none."""

    def title(self, kind: str, target: str) -> str | None:
        """Return the text for a `ref`, `doc`, `numref` or `eq` reference, or None if its target is unknown."""
        return None

    def link(self, kind: str, target: str) -> str:
        """Return the file and anchor that a `ref`, `doc` or `numref` reference leads to, or nothing."""
        return ""

    def number(self, target: str) -> str:
        """Return the text before the heading or caption with this id, or the number of a formula."""
        return ""


UNRESOLVED = References()


@dataclass(frozen=True, slots=True)
class PageDraft:
    """A page whose references are not resolved yet.

    `labels` maps names to the titles that references show, `targets` maps them to ids. The author of an orphan wants
    it in no toctree.
    """

    file: str
    source: str
    title: str
    labels: Mapping[str, str]
    toctrees: tuple[Toctree, ...]
    render: Callable[[References], RenderedPage]
    is_orphan: bool = False
    notices: tuple[SourceNotice, ...] = ()
    outline: Outline = ()
    targets: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MarkupConfig:
    """The settings of a project that change what its pages show."""

    prolog: str = ""
    epilog: str = ""
    show_todos: bool = True
    release_names: Mapping[str, str] = field(default_factory=dict)
    link_captions: Mapping[str, str] = field(default_factory=dict)
    substitutions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProjectContext:
    """What every page of a project shares; targets that begin with a slash start at `root`."""

    includes: IncludeLoader
    root: Path
    markup: MarkupConfig = field(default_factory=MarkupConfig)

    def resolve(self, target: str, page: Path) -> Path | None:
        """Return the path of the file that a page names."""
        folder = self.root if target.startswith("/") else page.parent
        return files.resolve_relative_path(folder, target.lstrip("/"))
