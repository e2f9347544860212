"""A page of MyST Markdown, as Sphinx and Jupyter Book read it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

from bookbound.book import Notice
from bookbound.read import files, markdown
from bookbound.read.dialect import Dialect
from bookbound.read.frontmatter import front_matter
from bookbound.read.galley import Setting
from bookbound.read.headings import Rule, identifier
from bookbound.read.myst.directives import as_code, escaped
from bookbound.read.myst.fences import Fences
from bookbound.read.myst.inline import inline_swaps
from bookbound.read.sphinx.draft import Desk, Draft, Titles, rst_draft
from bookbound.read.sphinx.extract import chosen
from bookbound.read.titles import first_title
from bookbound.read.woven import DEEPEST, Swap, Woven, weave

_NOT_IN_A_NAME = re.compile(r"[^a-z0-9-]+")
_QUOTES = re.compile("['\"\u2018\u2019\u201c\u201d]+")


def _myst_slug(text: str) -> str:
    """Lower-case letters and digits, all else a hyphen; one that does not begin with a letter is told apart."""
    name = _NOT_IN_A_NAME.sub("-", _QUOTES.sub("", " ".join(text.split())).lower())
    return re.sub(r"-{2,}", "-", re.sub(r"^(?=[0-9-])", "id-", name)).strip("-")


def _dialect(mystmd: bool) -> Dialect:
    """How one page is read; where Sphinx builds it, its headings get the ids of docutils, counted where not free."""
    numbers = count(1)
    counted = Rule(identifier, after=lambda wanted, found: f"id{next(numbers)}", without="id1")
    return Dialect(rule=Rule(_myst_slug, "words") if mystmd else counted, definitions=True)


def myst_draft(source: str, path: Path, file: str, desk: Desk, mystmd: bool = False) -> Draft:
    """A page of MyST, which Sphinx builds or its own tools; where its references have titles, it is set with those."""
    front = front_matter(source)
    page = _Page(path, file, desk, mystmd)
    plain = page.set(source, front.end, lambda kind, target: None)
    notices = [Notice(file, "its front matter is not plain YAML; passed over")] if front.broken else []
    return Draft(
        source,
        front.text("title") or first_title(plain),
        _labels(page.fences.labels, plain),
        tuple(page.fences.toctrees),
        lambda titles: page.set(source, front.end, titles) if page.refers else plain,
        front.flag("orphan"),
        (*notices, *desk.shelf.notices(file)),
    )


class _Page:
    """Makes plain Markdown of one page, and of the files that it takes words from."""

    def __init__(self, path: Path, file: str, desk: Desk, mystmd: bool) -> None:
        self._path, self._file, self._desk, self._mystmd = path, file, desk, mystmd
        self._depth = 0
        self.fences = Fences("", 0, self._taken)
        self.refers = False

    def set(self, source: str, start: int, titles: Titles) -> Setting:
        woven = self._woven(source, start, titles)
        return woven.unwoven(markdown.typeset(woven.text, _dialect(self._mystmd), start))

    def _woven(self, source: str, start: int, titles: Titles) -> Woven:
        def wanted(kind: str, target: str) -> str | None:
            self.refers = True
            return titles(kind, target)

        fences = Fences(source, start, self._taken)
        self.fences = fences if not self._depth else self.fences
        shorthands = dict(self._desk.config.shorthands)
        return weave(source, _apart([*fences.swaps, *inline_swaps(source, fences.prose, wanted, shorthands)]))

    def _taken(self, name: str, argument: str, options: dict[str, Any], body: str) -> str | None:
        """The Markdown for what stands in other files, or in another language."""
        if name == "eval-rst":
            rst = rst_draft(body, self._path, self._file, self._desk)
            return escaped(rst.set(lambda kind, target: None).text)
        if name not in ("include", "literalinclude") or self._depth >= DEEPEST:
            return None
        folder = self._desk.home if argument.startswith("/") else self._path.parent
        text = self._desk.shelf.text(files.beside(folder, argument.lstrip("/")), argument)
        if text is None or name == "literalinclude" or "literal" in options:
            return as_code(chosen(text, options)) if text else None
        self._depth += 1
        shown = self._woven(chosen(text, options), 0, lambda kind, target: None).text
        self._depth -= 1
        return shown


def _apart(swaps: list[Swap]) -> list[Swap]:
    """The swaps in order, without those that begin within another."""
    kept: list[Swap] = []
    for swap in sorted(swaps, key=lambda one: one[:2]):
        if not kept or swap.start >= kept[-1].end:
            kept.append(swap)
    return kept


def _labels(labels: Mapping[str, int], setting: Setting) -> dict[str, str]:
    """The labels that stand before a heading, with its words."""
    headings = [block for block in setting.blocks if block.kind == "heading"]
    places = [run.at for run in setting.runs]
    starts = [setting.runs[bisect_right(places, block.start) - 1].start for block in headings]
    found = {}
    for name, at in labels.items():
        place = bisect_left(starts, at)
        if place < len(headings):
            found[name] = setting.text[headings[place].start : headings[place].end]
    return found
