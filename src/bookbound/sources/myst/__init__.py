"""Reads a MyST Markdown page as a draft by converting its directives and roles to plain Markdown."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from bookbound.domain.document import SourceNotice
from bookbound.sources import files, markdown
from bookbound.sources.includes import MAX_INCLUDE_DEPTH, ExpandedSource, Substitution, substitute
from bookbound.sources.markdown.dialect import MarkdownDialect
from bookbound.sources.markdown.front_matter import parse_front_matter
from bookbound.sources.myst import number_slots
from bookbound.sources.myst.directives import convert_csv_table, escape_markdown, fence_code
from bookbound.sources.myst.fences import FenceScanner
from bookbound.sources.myst.number_slots import NumberSlot
from bookbound.sources.page_builder import CharSpan, RenderedPage
from bookbound.sources.rst import draft_rst
from bookbound.sources.rst.page_draft import PageDraft, ProjectConfig, ProjectContext, TitleLookup
from bookbound.sources.rst.roles import render_role
from bookbound.sources.rst.shared_directives import select_lines
from bookbound.sources.slugs import SlugRule, docutils_id
from bookbound.sources.titles import MAX_TITLE_CHARS, find_first_title

_INLINE_TOKEN = re.compile(
    r"\{(?P<role>[A-Za-z][\w:.+-]{0,60})\}(?P<ticks>`)(?P<text>[^`]{1,2000})`(?!`)"
    r"|``(?:[^`\n]|`(?!`))*+``"
    r"|(?<!`)`(?!`)[^`\n]*+`"
    r"|(?<!!)\[\]\((?P<link>[^()\s<>]{1,500})\)"
    r"|<project:(?P<auto>[^<>\s]{1,500})>"
    r"|\{\{[ \t]*(?P<name>\w{1,100})[ \t]*\}\}"
)
_DOCUMENT_LINK = re.compile(r"(?P<doc>.+)\.(?:md|rst|ipynb)(?:#.*)?")


def _find_inline_substitutions(
    source: str, prose: list[CharSpan], titles: TitleLookup, config: ProjectConfig
) -> Iterator[Substitution]:
    """What takes the place of roles, of links that show the title they lead to, and of names with given words."""
    shorthands, words = dict(config.shorthands), dict(config.substitutions)
    for start, end in prose:
        for found in _INLINE_TOKEN.finditer(source, start, end):
            if found["role"]:
                yield from _substitute_role(found, titles, shorthands)
            elif target := found["link"] or found["auto"]:
                yield from _substitute_link(found, target, titles)
            elif found["name"] in words:
                yield Substitution(found.start(), found.end(), words[found["name"]][:MAX_TITLE_CHARS])


def _substitute_role(
    found: re.Match[str], titles: TitleLookup, shorthands: Mapping[str, str]
) -> Iterator[Substitution]:
    """A role's words stay where they are, between marks that keep Markdown away from them."""
    start = found.start("text")
    role, written = found["role"], found["text"]
    shown = render_role(role, written, shorthands)
    title = titles(*shown.refers) if shown.refers else None
    text = title or shown.text
    mark = "$" if role == "math" else "`"
    at = -1 if title else written.find(text)
    if not text.strip():
        yield Substitution(found.start(), found.end(), "")
    elif at < 0:
        yield Substitution(found.start(), found.end(), f"{mark}{text.replace('`', '')}{mark}")
    else:
        yield Substitution(found.start(), start + at, mark)
        yield Substitution(start + at + len(text), found.end(), mark)


def _substitute_link(found: re.Match[str], target: str, titles: TitleLookup) -> Iterator[Substitution]:
    doc = _DOCUMENT_LINK.fullmatch(target)
    title = titles("doc", doc["doc"]) if doc else titles("ref", target.removeprefix("#"))
    if title:
        yield Substitution(found.start(), found.end(), f"`{title.replace('`', '')}`")


_NOT_IN_SLUG = re.compile(r"[^a-z0-9-]+")
_QUOTES = re.compile("['\"\u2018\u2019\u201c\u201d]+")


def _make_mystmd_slug(text: str) -> str:
    """Lower-case letters and digits, all else a hyphen; one that does not begin with a letter is told apart."""
    name = _NOT_IN_SLUG.sub("-", _QUOTES.sub("", " ".join(text.split())).lower())
    return re.sub(r"-{2,}", "-", re.sub(r"^(?=[0-9-])", "id-", name)).strip("-")


def _make_dialect(mystmd: bool, labels: Iterable[str]) -> MarkdownDialect:
    """How one page is read; where Sphinx builds it, its headings get the ids of docutils, counted where not free.

    What is a label of the page is not free.
    """
    numbers, taken = count(1), set(map(docutils_id, labels))

    def free(text: str) -> str:
        wanted = docutils_id(text)
        return f"id{next(numbers)}" if wanted in taken else wanted

    counted = SlugRule(free, after=lambda wanted, found: f"id{next(numbers)}", without="id1")
    return MarkdownDialect(rule=SlugRule(_make_mystmd_slug, "words") if mystmd else counted, definitions=True)


def draft_myst(source: str, path: Path, file: str, desk: ProjectContext, mystmd: bool = False) -> PageDraft:
    """A page of MyST, which Sphinx builds or its own tools; where its references have titles, it is set with those."""
    front = parse_front_matter(source)
    page = _MystPage(source, front.end, path, file, desk, mystmd)
    plain = page.set(lambda kind, target: None)
    page.tops = number_slots.find_heading_slots(plain)
    notices = [SourceNotice(file, "its front matter is not plain YAML; passed over")] if front.broken else []
    notices += page.notices
    return PageDraft(
        source,
        front.text("title") or find_first_title(plain),
        _get_heading_titles(page.fences.labels, page.tops) | number_slots.collect_slot_captions(page.fences.spots),
        tuple(page.fences.toctrees),
        lambda titles: page.set(titles) if page.refers or page.is_numbered(titles) else plain,
        front.flag("orphan"),
        (*notices, *desk.shelf.notices(file)),
        number_slots.outline_myst(page.tops, page.fences.spots),
        _get_heading_ids(page.fences.labels, page.tops) | number_slots.collect_slot_targets(page.fences.spots),
    )


class _MystPage:
    """Makes plain Markdown of one page, and of the files that it takes words from: once, however often it is set."""

    def __init__(self, source: str, start: int, path: Path, file: str, desk: ProjectContext, mystmd: bool) -> None:
        self._source, self._start = source, start
        self._path, self._file, self._desk, self._mystmd = path, file, desk, mystmd
        self._depth = 0
        self.refers = False
        self.tops: list[NumberSlot] = []
        self.notices: list[SourceNotice] = []
        self.fences = FenceScanner(source, start, self._taken)

    def is_numbered(self, titles: TitleLookup) -> bool:
        """Whether something on the page has a number."""
        return any(number_slots.insert_numbers((*self.tops, *self.fences.spots), titles))

    def set(self, titles: TitleLookup) -> RenderedPage:
        numbers = number_slots.insert_numbers((*self.tops, *self.fences.spots), titles)
        woven = self._woven(self._source, self.fences, titles, numbers)
        return woven.unwoven(
            markdown.render_markdown(woven.text, _make_dialect(self._mystmd, self.fences.labels), self._start)
        )

    def _woven(
        self, source: str, fences: FenceScanner, titles: TitleLookup, numbers: Iterable[Substitution] = ()
    ) -> ExpandedSource:
        def wanted(kind: str, target: str) -> str | None:
            self.refers = True
            return titles(kind, target)

        inline = _find_inline_substitutions(source, fences.prose, wanted, self._desk.config)
        return substitute(source, _drop_overlapping([*fences.swaps, *numbers, *inline]))

    def _taken(self, name: str, argument: str, options: dict[str, Any], body: str) -> str | None:
        """The Markdown for what stands in other files, or in another language."""
        if name == "eval-rst":
            rst = draft_rst(body, self._path, self._file, self._desk)
            self.notices += rst.notices
            return escape_markdown(rst.set(lambda kind, target: None).text)
        if name == "csv-table" and not options.get("file"):
            return convert_csv_table(body, options)
        argument = str(options["file"]) if name == "csv-table" else argument
        if name not in ("include", "literalinclude", "csv-table") or self._depth >= MAX_INCLUDE_DEPTH:
            return None
        folder = self._desk.home if argument.startswith("/") else self._path.parent
        text = self._desk.shelf.text(files.resolve_relative_path(folder, argument.lstrip("/")), argument)
        if text is not None and name == "csv-table":
            return convert_csv_table(text, options)
        if text is None or name == "literalinclude" or "literal" in options:
            return fence_code(select_lines(text, options)) if text else None
        words = select_lines(text, options)
        self._depth += 1
        fences = FenceScanner(words, 0, self._taken)
        self._depth -= 1
        return self._woven(words, fences, lambda kind, target: None).text


def _drop_overlapping(swaps: list[Substitution]) -> list[Substitution]:
    """The swaps in order, without those that begin within another."""
    kept: list[Substitution] = []
    for swap in sorted(swaps, key=lambda one: one[:2]):
        if not kept or swap.start >= kept[-1].end:
            kept.append(swap)
    return kept


def _get_heading_titles(labels: Mapping[str, int], tops: Sequence[NumberSlot]) -> dict[str, str]:
    """The labels that stand before a heading, with its words."""
    return {name: top.title for name, top in _match_labels_to_headings(labels, tops)}


def _get_heading_ids(labels: Mapping[str, int], tops: Sequence[NumberSlot]) -> dict[str, str]:
    """The labels that stand before a heading, with its id."""
    return {name: top.id for name, top in _match_labels_to_headings(labels, tops)}


def _match_labels_to_headings(
    labels: Mapping[str, int], tops: Sequence[NumberSlot]
) -> Iterator[tuple[str, NumberSlot]]:
    starts = [top.at for top in tops]
    for name, at in labels.items():
        place = bisect_left(starts, at)
        if place < len(tops):
            yield name, tops[place]
