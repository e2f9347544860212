"""A page of MyST Markdown, as Sphinx and Jupyter Book read it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from bookbound.book import Notice
from bookbound.read import files, markdown
from bookbound.read.dialect import Dialect
from bookbound.read.frontmatter import front_matter
from bookbound.read.galley import Setting
from bookbound.read.headings import Rule, identifier
from bookbound.read.myst import spots
from bookbound.read.myst.directives import as_code, escaped
from bookbound.read.myst.fences import Fences
from bookbound.read.myst.inline import inline_swaps
from bookbound.read.myst.spots import Spot
from bookbound.read.myst.tables import from_commas
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


def _dialect(mystmd: bool, labels: Iterable[str]) -> Dialect:
    """How one page is read; where Sphinx builds it, its headings get the ids of docutils, counted where not free.

    What is a label of the page is not free.
    """
    numbers, taken = count(1), set(map(identifier, labels))

    def free(text: str) -> str:
        wanted = identifier(text)
        return f"id{next(numbers)}" if wanted in taken else wanted

    counted = Rule(free, after=lambda wanted, found: f"id{next(numbers)}", without="id1")
    return Dialect(rule=Rule(_myst_slug, "words") if mystmd else counted, definitions=True)


def myst_draft(source: str, path: Path, file: str, desk: Desk, mystmd: bool = False) -> Draft:
    """A page of MyST, which Sphinx builds or its own tools; where its references have titles, it is set with those."""
    front = front_matter(source)
    page = _Page(source, front.end, path, file, desk, mystmd)
    plain = page.set(lambda kind, target: None)
    page.tops = spots.headings(plain)
    notices = [Notice(file, "its front matter is not plain YAML; passed over")] if front.broken else []
    notices += page.notices
    return Draft(
        source,
        front.text("title") or first_title(plain),
        _labels(page.fences.labels, page.tops) | spots.captions(page.fences.spots),
        tuple(page.fences.toctrees),
        lambda titles: page.set(titles) if page.refers or page.is_numbered(titles) else plain,
        front.flag("orphan"),
        (*notices, *desk.shelf.notices(file)),
        spots.outline(page.tops, page.fences.spots),
        _targets(page.fences.labels, page.tops) | spots.targets(page.fences.spots),
    )


class _Page:
    """Makes plain Markdown of one page, and of the files that it takes words from: once, however often it is set."""

    def __init__(self, source: str, start: int, path: Path, file: str, desk: Desk, mystmd: bool) -> None:
        self._source, self._start = source, start
        self._path, self._file, self._desk, self._mystmd = path, file, desk, mystmd
        self._depth = 0
        self.refers = False
        self.tops: list[Spot] = []
        self.notices: list[Notice] = []
        self.fences = Fences(source, start, self._taken)

    def is_numbered(self, titles: Titles) -> bool:
        """Whether something on the page has a number."""
        return any(spots.numbers((*self.tops, *self.fences.spots), titles))

    def set(self, titles: Titles) -> Setting:
        numbers = spots.numbers((*self.tops, *self.fences.spots), titles)
        woven = self._woven(self._source, self.fences, titles, numbers)
        return woven.unwoven(markdown.typeset(woven.text, _dialect(self._mystmd, self.fences.labels), self._start))

    def _woven(self, source: str, fences: Fences, titles: Titles, numbers: Iterable[Swap] = ()) -> Woven:
        def wanted(kind: str, target: str) -> str | None:
            self.refers = True
            return titles(kind, target)

        inline = inline_swaps(source, fences.prose, wanted, self._desk.config)
        return weave(source, _apart([*fences.swaps, *numbers, *inline]))

    def _taken(self, name: str, argument: str, options: dict[str, Any], body: str) -> str | None:
        """The Markdown for what stands in other files, or in another language."""
        if name == "eval-rst":
            rst = rst_draft(body, self._path, self._file, self._desk)
            self.notices += rst.notices
            return escaped(rst.set(lambda kind, target: None).text)
        if name == "csv-table" and not options.get("file"):
            return from_commas(body, options)
        argument = str(options["file"]) if name == "csv-table" else argument
        if name not in ("include", "literalinclude", "csv-table") or self._depth >= DEEPEST:
            return None
        folder = self._desk.home if argument.startswith("/") else self._path.parent
        text = self._desk.shelf.text(files.beside(folder, argument.lstrip("/")), argument)
        if text is not None and name == "csv-table":
            return from_commas(text, options)
        if text is None or name == "literalinclude" or "literal" in options:
            return as_code(chosen(text, options)) if text else None
        words = chosen(text, options)
        self._depth += 1
        fences = Fences(words, 0, self._taken)
        self._depth -= 1
        return self._woven(words, fences, lambda kind, target: None).text


def _apart(swaps: list[Swap]) -> list[Swap]:
    """The swaps in order, without those that begin within another."""
    kept: list[Swap] = []
    for swap in sorted(swaps, key=lambda one: one[:2]):
        if not kept or swap.start >= kept[-1].end:
            kept.append(swap)
    return kept


def _labels(labels: Mapping[str, int], tops: Sequence[Spot]) -> dict[str, str]:
    """The labels that stand before a heading, with its words."""
    return {name: top.title for name, top in _after(labels, tops)}


def _targets(labels: Mapping[str, int], tops: Sequence[Spot]) -> dict[str, str]:
    """The labels that stand before a heading, with its id."""
    return {name: top.id for name, top in _after(labels, tops)}


def _after(labels: Mapping[str, int], tops: Sequence[Spot]) -> Iterator[tuple[str, Spot]]:
    starts = [top.at for top in tops]
    for name, at in labels.items():
        place = bisect_left(starts, at)
        if place < len(tops):
            yield name, tops[place]
