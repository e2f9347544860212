"""Reads an mdBook: the chapters of its SUMMARY.md, with their `{{#include}}` directives expanded."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote

from bookbound.domain.document import Page, ParsedBook, SourceNotice
from bookbound.sources import file_loader, files
from bookbound.sources.generators import find_sites
from bookbound.sources.includes import MAX_INCLUDE_DEPTH, IncludeLoader, Substitution, parse_line_range, substitute
from bookbound.sources.markdown.dialect import MDBOOK_MARKDOWN, MarkdownDialect
from bookbound.sources.page_loader import FrontMatter, load_markdown_page
from bookbound.sources.safe_config import ConfigFields, load_config
from bookbound.sources.table_of_contents import read_summary_file
from bookbound.sources.titles import choose_book_title

_CONFIG_NAME = "book.toml"
_SUMMARY_NAME = "SUMMARY.md"
_DIRECTIVE = re.compile(r"\\\{\{#|\{\{\s*+#(?P<name>\w++)\s++(?P<target>[^{}\n]++)\}\}")
_INCLUDE_DIRECTIVES = frozenset(("include", "rustdoc_include", "playground", "playpen", "template"))
_ANCHOR = re.compile(r"ANCHOR(?P<end>_END)?:\s*(?P<name>[\w-]+)")
_TEMPLATE_SLOT = re.compile(r"\[\[#(?P<name>[\w-]++)(?:[ \t]++(?P<default>[^\[\]\n]*+))?\]\]")
_TEMPLATE_ARGUMENT = re.compile(r"(?P<name>[\w-]++)=(?P<value>(?:(?![ \t]++[\w-]++=)[^\n])*+)")
_MAX_ARGUMENTS_LENGTH = 1_000


@dataclass(frozen=True, slots=True)
class MdBook:
    """A book's folder of chapters and its configuration."""

    home: Path
    docs: Path
    title: str
    html: ConfigFields = field(default_factory=ConfigFields)

    @property
    def dialect(self) -> MarkdownDialect:
        prefixes = self.html.section("code").section("hidelines").fields
        own = [(str(language).lower(), str(prefix)) for language, prefix in prefixes.items()]
        return replace(MDBOOK_MARKDOWN, hidden_prefixes=(*MDBOOK_MARKDOWN.hidden_prefixes, *own))

    def page_url(self, relative: Path) -> str:
        is_index = relative.stem.lower() == "readme"
        path = relative.with_name("index.html") if is_index else relative.with_suffix(".html")
        return f"{self.html.text('site-url').rstrip('/')}/{quote(path.as_posix())}"


def is_mdbook_source(source: Path) -> bool:
    return files.is_folder(source) and _find_book(source) is not None


def is_mdbook_root(source: Path) -> bool:
    """Whether the book.toml is in or above this folder, not in a folder below it."""
    book = _find_book(source)
    return book is not None and book.home.parent != source


def read_mdbook(root: Path) -> ParsedBook:
    """Read the chapters that the SUMMARY.md of the book at `root` lists."""
    book = _find_book(root)
    if book is None:
        notice = SourceNotice(_CONFIG_NAME, "there is no such file with a SUMMARY.md in its source folder")
        return ParsedBook("", "mdbook", (), (notice,))
    base = root if book.docs.is_relative_to(root) else book.docs
    paths, notices = files.find_files(book.docs, files.MARKDOWN_SUFFIXES)
    summary = read_summary_file(book.docs / _SUMMARY_NAME, paths, book.title)
    includes = IncludeLoader(root if book.home.is_relative_to(root) else book.home)
    pages: list[Page] = []
    for path, entry in summary.entries.items():
        loaded, page_notices = load_markdown_page(
            path,
            path.relative_to(base).as_posix(),
            book.dialect,
            parse_front=lambda _: FrontMatter(),
            find_includes=lambda source, path, start: find_includes(source, path, includes, start),
            includes=includes,
        )
        notices += page_notices
        if loaded:
            url = book.page_url(path.relative_to(book.docs))
            pages.append(loaded.make_page(url, loaded.title or entry.label, entry.chapter, len(pages)))
    notices += summary.notices(summary.path.relative_to(base).as_posix())
    unlisted = [path for path in paths if path not in summary.entries]
    notices += files.report_unlisted_files(base, unlisted, summary.path)
    return ParsedBook(book.title or choose_book_title(book.home, []), "mdbook", tuple(pages), tuple(notices))


def _find_book(root: Path) -> MdBook | None:
    """Find the book in `root` or in a folder below it, or the one whose chapters `root` has."""
    try:
        below = [path.parent for path in root.glob(f"*/{_CONFIG_NAME}")]
    except OSError:
        below = []
    below.sort(key=lambda path: files.natural_sort_key(path.name))
    books, _ = find_sites(root, [_CONFIG_NAME], _load_book, below, levels=2)
    if not books:
        return None
    is_root = os.path.realpath(books[0].docs) == os.path.realpath(root)
    return replace(books[0], docs=root) if is_root else books[0]


def _load_book(config: Path) -> list[MdBook]:
    fields = ConfigFields.of(load_config(config))
    book = fields.section("book")
    docs = files.resolve_relative_path(config.parent, book.text("src") or "src")
    if docs is None or not files.is_file(docs / _SUMMARY_NAME):
        return []
    return [MdBook(config.parent, docs, book.text("title"), fields.section("output").section("html"))]


def find_includes(
    source: str, path: Path, includes: IncludeLoader, start: int = 0, depth: int = 0
) -> Iterator[Substitution]:
    """Yield the directives of the page at `path` after `start`, with the text that replaces them."""
    for match in _DIRECTIVE.finditer(source, start):
        if match[0].startswith("\\"):
            yield Substitution(match.start(), match.start() + 1, "")
        elif match["name"] == "title":
            yield Substitution(*match.span(), "")
        elif match["name"] in _INCLUDE_DIRECTIVES:
            yield Substitution(*match.span(), _include_file(match["name"], match["target"], path, includes, depth))


def _include_file(directive: str, target: str, path: Path, includes: IncludeLoader, depth: int) -> str:
    reference, _, arguments = target.strip().partition(" ")
    name, _, part = reference.partition(":")
    file = files.resolve_relative_path(path.parent, name)
    text = includes.load(file, name) if depth < MAX_INCLUDE_DEPTH else None
    if text is None or file is None:
        return ""
    if directive in ("playground", "playpen"):
        return f"```rust,{arguments.strip()}\n{text.rstrip()}\n```"
    if directive == "template":
        text = _fill_template(text, arguments[:_MAX_ARGUMENTS_LENGTH])
    lines = text.splitlines()
    if part and not part.partition(":")[0].isdecimal() and not part.startswith(":"):
        lines = list(_anchor_lines(lines, part.partition(":")[0]))
    else:
        lines = lines[parse_line_range(part)]
    text = "\n".join(lines)
    return substitute(text, find_includes(text, file, includes, depth=depth + 1)).text


def _fill_template(text: str, arguments: str) -> str:
    """Fill the slots of a template, unless the result could be larger than any page."""
    values = {match["name"]: match["value"].strip() for match in _TEMPLATE_ARGUMENT.finditer(arguments)}
    if text.count("[[#") * len(arguments) > file_loader.MAX_PAGE_BYTES:
        return text
    return _TEMPLATE_SLOT.sub(lambda slot: values.get(slot["name"], slot["default"] or ""), text)


def _anchor_lines(lines: list[str], name: str) -> Iterator[str]:
    """Yield the lines between the comments that begin and end an anchor."""
    is_inside = False
    for line in lines:
        anchor = _ANCHOR.search(line)
        if anchor and anchor["name"] == name:
            if anchor["end"]:
                return
            is_inside = True
        elif is_inside and not anchor:
            yield line
