"""Reads an mdBook: the chapters of its SUMMARY.md, with their `{{#include}}` directives expanded."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bookbound.domain.document import Page, ParsedBook, SourceNotice
from bookbound.sources import decoding, files, safe_config
from bookbound.sources.includes import MAX_INCLUDE_DEPTH, ExpandedSource, IncludeLoader, Substitution, substitute
from bookbound.sources.markdown.dialect import MDBOOK_MARKDOWN, MarkdownDialect
from bookbound.sources.markdown.front_matter import FrontMatter
from bookbound.sources.page_loader import load_markdown_page
from bookbound.sources.skipped_files import report_unlisted_files
from bookbound.sources.table_of_contents import read_summary_file
from bookbound.sources.titles import choose_book_title

_DIRECTIVE = re.compile(r"\\\{\{#|\{\{\s*+#(?P<name>\w++)\s++(?P<target>[^{}\n]++)\}\}")
_ANCHOR_START, _ANCHOR_END = re.compile(r"ANCHOR:\s*([\w-]+)"), re.compile(r"ANCHOR_END:\s*([\w-]+)")
_INCLUDE_DIRECTIVES = frozenset(("include", "rustdoc_include", "playground", "playpen", "template"))
_TEMPLATE_SLOT = re.compile(r"\[\[#(?P<name>[\w-]++)(?:[ \t]++(?P<usual>[^\[\]\n]*+))?\]\]")
_MAX_PROPERTIES_LENGTH = 1_000
_TEMPLATE_ARGUMENT = re.compile(r"(?P<name>[\w-]++)=(?P<value>(?:(?![ \t]++[\w-]++=)[^\n])*+)")


def find_includes(source: str, path: Path, shelf: IncludeLoader, start: int = 0, depth: int = 0) -> list[Substitution]:
    """The links of the page at `path` from `start` on, each with the words that mdBook puts in its place."""
    swaps = []
    for found in _DIRECTIVE.finditer(source, start):
        if found[0].startswith("\\"):
            swaps.append(Substitution(found.start(), found.start() + 1, ""))
        elif found["name"] == "title":
            swaps.append(Substitution(*found.span(), ""))
        elif found["name"] in _INCLUDE_DIRECTIVES:
            words = _include_file(found["name"], found["target"], path, shelf, depth)
            swaps.append(Substitution(*found.span(), words))
    return swaps


def _include_file(name: str, target: str, path: Path, shelf: IncludeLoader, depth: int) -> str:
    called, _, properties = target.strip().partition(" ")
    file, _, part = called.partition(":")
    other = files.resolve_relative_path(path.parent, file)
    text = shelf.text(other, file) if depth < MAX_INCLUDE_DEPTH else None
    if text is None or other is None:
        return ""
    if name in ("playground", "playpen"):
        return f"```rust,{properties.strip()}\n{text.rstrip()}\n```"
    if name == "template":
        text = _fill_template(text, properties[:_MAX_PROPERTIES_LENGTH])
    words = _select_lines(text, part)
    return substitute(words, find_includes(words, other, shelf, depth=depth + 1)).text


def _fill_template(text: str, properties: str) -> str:
    """A template with what it is given; one that would grow beyond all bounds stays as it is."""
    given = {one["name"]: one["value"].strip() for one in _TEMPLATE_ARGUMENT.finditer(properties)}
    if text.count("[[#") * len(properties) > decoding.MAX_PAGE_BYTES:
        return text
    return _TEMPLATE_SLOT.sub(lambda slot: given.get(slot["name"], slot["usual"] or ""), text)


def _select_lines(text: str, part: str) -> str:
    """All lines, those of a range such as `2`, `2:`, `:10` and `2:10`, or those between the ends of an anchor."""
    lines = text.splitlines()
    first, colon, last = part.partition(":")
    if first and not first.isdecimal():
        return "\n".join(_anchor_lines(lines, first))
    start = max(int(first[:9] or 1) - 1, 0)
    end = int(last[:9]) if last.isdecimal() else len(lines) if colon or not first else start + 1
    return "\n".join(lines[start:end])


def _anchor_lines(lines: list[str], name: str) -> list[str]:
    kept, inside = [], False
    for line in lines:
        opened, closed = _ANCHOR_START.search(line), _ANCHOR_END.search(line)
        if closed and closed[1] == name:
            break
        if opened and opened[1] == name:
            inside = True
        elif inside and not opened and not closed:
            kept.append(line)
    return kept


_CONFIG_NAME, _SUMMARY_NAME = "book.toml", "SUMMARY.md"


@dataclass(frozen=True, slots=True)
class _MdBook:
    """Where a book keeps its chapters, and what its configuration says of it."""

    home: Path
    src: Path
    title: str
    html: dict[str, Any] = field(default_factory=dict)

    @property
    def dialect(self) -> MarkdownDialect:
        code = self.html.get("code")
        lines = code.get("hidelines") if isinstance(code, dict) else None
        own = [(str(name).lower(), str(prefix)) for name, prefix in lines.items()] if isinstance(lines, dict) else []
        return replace(MDBOOK_MARKDOWN, hidden=(*MDBOOK_MARKDOWN.hidden, *own))

    def address(self, relative: Path) -> str:
        """A chapter's address: a README opens its folder."""
        named = relative.with_name("index.html") if relative.stem.lower() == "readme" else relative.with_suffix(".html")
        base = str(self.html.get("site-url") or "/")
        return f"{base.rstrip('/')}/{quote(named.as_posix())}"


def is_mdbook_source(source: Path) -> bool:
    """Whether a book.toml with a table of contents stands at, above or in a folder of this one."""
    return files.is_folder(source) and _find_book(source) is not None


def is_mdbook_root(source: Path) -> bool:
    """Whether the book.toml stands at or above this folder, and not only in one of its folders."""
    book = _find_book(source)
    return book is not None and book.home.parent != source


def read_mdbook(root: Path) -> ParsedBook:
    """The chapters that the SUMMARY.md of the book at `root` lists."""
    book = _find_book(root)
    if book is None:
        return ParsedBook(
            "", "mdbook", (), (SourceNotice(_CONFIG_NAME, "there is no table of contents, SUMMARY.md, beside it"),)
        )
    above = root if book.src.is_relative_to(root) else book.src
    paths, notices = files.find_files(book.src, files.MARKDOWN_SUFFIXES)
    summary = read_summary_file(book.src / _SUMMARY_NAME, paths, book.title)
    shelf = IncludeLoader(root if book.home.is_relative_to(root) else book.home)

    def woven(source: str, path: Path, start: int) -> tuple[ExpandedSource, list[SourceNotice]]:
        whole = substitute(source, find_includes(source, path, shelf, start))
        return whole, shelf.notices(path.relative_to(above).as_posix())

    pages: list[Page] = []
    for path, entry in summary.entries.items():
        file = path.relative_to(above).as_posix()
        doc, odd = load_markdown_page(path, file, book.dialect, fields=lambda _: FrontMatter(), weave=woven)
        notices += odd
        if doc:
            url = book.address(path.relative_to(book.src))
            pages.append(doc.page(url, doc.title or entry.label, entry.chapter, len(pages)))
    notices += summary.notices(summary.path.relative_to(above).as_posix())
    notices += report_unlisted_files(above, [path for path in paths if path not in summary.entries], summary)
    title = book.title or choose_book_title(book.home, [])
    return ParsedBook(title, "mdbook", tuple(pages), tuple(notices))


def _find_book(root: Path) -> _MdBook | None:
    """The book at `root`, the one that it is the source of, or the first in its folders."""
    here = root.resolve()
    try:
        below = sorted(
            (path.parent for path in root.glob(f"*/{_CONFIG_NAME}")), key=lambda path: files.natural_sort_key(path.name)
        )
    except OSError:
        below = []
    for home in (root, *below):
        book = _load_config(home)
        if book and files.is_inside(book.src, root):
            return book
    for home in (here.parent, here.parent.parent):
        book = _load_config(home)
        if book and book.src.resolve() == here:
            return replace(book, src=root)
    return None


def _load_config(home: Path) -> _MdBook | None:
    if not files.is_file(home / _CONFIG_NAME):
        return None
    text, _ = decoding.load_text(home / _CONFIG_NAME, _CONFIG_NAME, decoding.MAX_CONFIG_BYTES)
    try:
        fields = safe_config.parse_toml(text or "")
    except (ValueError, RecursionError):
        fields = {}
    book = FrontMatter(fields["book"] if isinstance(fields.get("book"), dict) else {})
    output = fields.get("output")
    html = output.get("html") if isinstance(output, dict) else None
    src = files.resolve_relative_path(home, book.text("src") or "src")
    if src is None or not files.is_file(src / _SUMMARY_NAME):
        return None
    return _MdBook(home, src, book.text("title"), html if isinstance(html, dict) else {})
