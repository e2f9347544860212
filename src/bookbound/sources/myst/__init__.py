"""Reads a MyST Markdown page as a draft by converting its directives and roles to plain Markdown."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from bookbound.domain.document import SourceNotice
from bookbound.sources.includes import MAX_INCLUDE_DEPTH, ExpandedSource, Substitution, substitute
from bookbound.sources.markdown import render_markdown
from bookbound.sources.markdown.dialect import MarkdownDialect
from bookbound.sources.myst.directives import convert_csv_table, escape_markdown, fence_code
from bookbound.sources.myst.fences import FenceScan, scan_fences
from bookbound.sources.myst.number_slots import NumberSlot, find_heading_slots, insert_numbers, outline_myst
from bookbound.sources.page_builder import CharSpan, RenderedPage
from bookbound.sources.page_loader import parse_front_matter
from bookbound.sources.rst import draft_rst
from bookbound.sources.rst.page_draft import UNRESOLVED, MarkupConfig, PageDraft, ProjectContext, References
from bookbound.sources.rst.shared_markup import render_role, select_lines
from bookbound.sources.slugs import SlugRule, docutils_id
from bookbound.sources.titles import MAX_TITLE_CHARS, find_first_title

_INLINE_TOKEN = re.compile(
    r"\{(?P<role>[A-Za-z][\w:.+-]{0,60})\}`(?P<text>[^`]{1,2000})`(?!`)"
    r"|``(?:[^`\n]|`(?!`))*+``"
    r"|(?<!`)`(?!`)[^`\n]*+`"
    r"|(?<!!)\[\]\((?P<link>[^()\s<>]{1,500})\)"
    r"|<project:(?P<autolink>[^<>\s]{1,500})>"
    r"|\{\{[ \t]*(?P<name>\w{1,100})[ \t]*\}\}"
)
_DOCUMENT_LINK = re.compile(r"(?P<doc>.+)\.(?:md|rst|ipynb)(?:#.*)?")
_NOT_IN_SLUG = re.compile(r"[^a-z0-9-]+")
_QUOTES = re.compile("['\"\u2018\u2019\u201c\u201d]+")


def draft_myst(source: str, path: Path, file: str, project: ProjectContext, uses_mystmd: bool = False) -> PageDraft:
    """Draft a page that Sphinx or, with `uses_mystmd`, the tools of MyST build."""
    front = parse_front_matter(source)
    page = _MystPage(source, front.end, path, file, project, uses_mystmd)
    recorder = _ReferenceRecorder()
    plain = page.render(recorder)
    headings = page.headings = find_heading_slots(plain)
    slots = page.scan.slots
    starts = [heading.at for heading in headings]
    indexes = {name: bisect_left(starts, at) for name, at in page.scan.labels.items()}
    named = {name: headings[index] for name, index in indexes.items() if index < len(headings)}
    named |= {name: slot for slot in slots for name in slot.names}
    if front.is_broken:
        page.notices.append(SourceNotice(file, "its front matter is not plain YAML; ignored"))
    targets = {name: slot.id for name, slot in named.items()}
    targets |= {slot.id: slot.id for slot in slots if slot.kind == "displaymath"}
    return PageDraft(
        file,
        source,
        front.text("title") or find_first_title(plain),
        {name: slot.title for name, slot in named.items()},
        tuple(page.scan.toctrees),
        # Without references and numbers, the page is rendered only once.
        lambda found: page.render(found) if recorder.is_used or any(page.insert_numbers(found)) else plain,
        front.flag("orphan"),
        (*page.notices, *project.includes.take_notices(file)),
        outline_myst(headings, slots),
        targets,
    )


class _ReferenceRecorder(References):
    """Resolves nothing and remembers whether the page has references."""

    is_used = False

    def title(self, kind: str, target: str) -> str | None:
        self.is_used = True
        return None


class _MystPage:
    """Converts one page and the files that it includes to plain Markdown: once, however often it is rendered."""

    def __init__(
        self, source: str, start: int, path: Path, file: str, project: ProjectContext, uses_mystmd: bool
    ) -> None:
        self._source, self._start = source, start
        self._path, self._file, self._project = path, file, project
        self._uses_mystmd = uses_mystmd
        self._depth = 0
        self.headings: list[NumberSlot] = []
        self.notices: list[SourceNotice] = []
        self.scan = scan_fences(source, start, self._load)

    def insert_numbers(self, references: References) -> Iterator[Substitution]:
        return insert_numbers((*self.headings, *self.scan.slots), references)

    def render(self, references: References) -> RenderedPage:
        expanded = self._expand(self._source, self.scan, references, self.insert_numbers(references))
        dialect = _make_dialect(self._uses_mystmd, self.scan.labels)
        return expanded.restore_positions(render_markdown(expanded.text, dialect, self._start))

    def _expand(
        self, source: str, scan: FenceScan, references: References, numbers: Iterable[Substitution] = ()
    ) -> ExpandedSource:
        inline = _find_inline_substitutions(source, scan.prose, references, self._project.markup)
        kept: list[Substitution] = []
        for found in sorted((*scan.substitutions, *numbers, *inline), key=lambda found: found[:2]):
            # One that begins inside another is dropped.
            if not kept or found.start >= kept[-1].end:
                kept.append(found)
        return substitute(source, kept)

    def _load(self, name: str, argument: str, options: dict[str, Any], body: str) -> str | None:
        """Return the Markdown of a directive with text from another file or in another language."""
        if name == "eval-rst":
            draft = draft_rst(body, self._path, self._file, self._project)
            self.notices += draft.notices
            return escape_markdown(draft.render(UNRESOLVED).text)
        if name == "csv-table":
            argument = str(options.get("file") or "")
            if not argument:
                return convert_csv_table(body, options)
        if name not in ("include", "literalinclude", "csv-table") or self._depth >= MAX_INCLUDE_DEPTH:
            return None
        text = self._project.includes.load(self._project.resolve(argument, self._path), argument)
        if text is None:
            return None
        if name == "csv-table":
            return convert_csv_table(text, options)
        text = select_lines(text, options)
        if name == "literalinclude" or "literal" in options:
            return fence_code(text)
        self._depth += 1
        scan = scan_fences(text, 0, self._load)
        self._depth -= 1
        return self._expand(text, scan, UNRESOLVED).text


def _find_inline_substitutions(
    source: str, prose: list[CharSpan], references: References, markup: MarkupConfig
) -> Iterator[Substitution]:
    """Replace roles, links without a text, and names in double braces."""
    for start, end in prose:
        for found in _INLINE_TOKEN.finditer(source, start, end):
            if found["role"]:
                yield from _substitute_role(found, references, markup)
            elif target := found["link"] or found["autolink"]:
                doc = _DOCUMENT_LINK.fullmatch(target)
                kind, name = ("doc", doc["doc"]) if doc else ("ref", target.removeprefix("#"))
                if title := references.title(kind, name):
                    yield Substitution(*found.span(), f"`{title.replace('`', '')}`")
            elif found["name"] in markup.substitutions:
                yield Substitution(*found.span(), markup.substitutions[found["name"]][:MAX_TITLE_CHARS])


def _substitute_role(found: re.Match[str], references: References, markup: MarkupConfig) -> Iterator[Substitution]:
    """Keep the text of a role in its place, between marks that keep Markdown from parsing it."""
    role, content = found["role"], found["text"]
    shown = render_role(role, content, markup.link_captions)
    title = references.title(*shown.reference) if shown.reference else None
    text = title or shown.text
    mark = "$" if role == "math" else "`"
    at = -1 if title else content.find(text)
    if not text.strip():
        yield Substitution(*found.span(), "")
    elif at < 0:
        yield Substitution(*found.span(), f"{mark}{text.replace('`', '')}{mark}")
    else:
        start = found.start("text") + at
        yield Substitution(found.start(), start, mark)
        yield Substitution(start + len(text), found.end(), mark)


def _make_dialect(uses_mystmd: bool, labels: Iterable[str]) -> MarkdownDialect:
    """Make the dialect of one page; Sphinx numbers the anchors of headings that repeat an anchor or a label."""
    numbers, reserved = count(1), set(map(docutils_id, labels))

    def make_slug(text: str) -> str:
        slug = docutils_id(text)
        return f"id{next(numbers)}" if slug in reserved else slug

    sphinx = SlugRule(make_slug, next_on_clash=lambda wanted, found: f"id{next(numbers)}", empty_slug="id1")
    rule = SlugRule(_make_mystmd_slug, reads_images=True) if uses_mystmd else sphinx
    return MarkdownDialect(slug_rule=rule, has_definition_lists=True)


def _make_mystmd_slug(text: str) -> str:
    """Make an anchor of lower-case letters, digits and hyphens; `id-` comes before one that begins with a digit."""
    name = _NOT_IN_SLUG.sub("-", _QUOTES.sub("", " ".join(text.split())).lower())
    return re.sub(r"-{2,}", "-", re.sub(r"^(?=[0-9-])", "id-", name)).strip("-")
