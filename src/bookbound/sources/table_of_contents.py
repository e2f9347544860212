"""Reads tables of contents: SUMMARY.md, `_toctree.yml` and `toc` code blocks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple, Protocol, Self, TypeVar
from urllib.parse import unquote

from bookbound.domain.document import SourceNotice
from bookbound.sources import file_loader, files
from bookbound.sources.markdown import join_token_text
from bookbound.sources.markdown.dialect import PLAIN_MARKDOWN
from bookbound.sources.markdown.markdown_it import Token, parse_markdown
from bookbound.sources.markdown.markup import strip_markup
from bookbound.sources.safe_config import ConfigFields, load_config
from bookbound.sources.titles import MAX_TITLE_CHARS


class ContentsEntry(NamedTuple):
    """A page's label and chapter in the table of contents."""

    label: str
    chapter: str


@dataclass(frozen=True, slots=True)
class TableOfContents:
    """A table of contents: its file, the configured title of the book and the pages it lists.

    `drafts` are entries without a page yet; `missing` are targets that do not exist.
    """

    path: Path
    title: str | None
    entries: dict[Path, ContentsEntry]
    drafts: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def notices(self, file: str) -> list[SourceNotice]:
        """Report the entries that lead to no page; `file` is the name of the table."""
        return [SourceNotice(file, f"the chapter {label} is a draft") for label in self.drafts] + [
            SourceNotice(file, f"lists {target}, which does not exist", lost=True) for target in self.missing
        ]


class _SummaryLine(NamedTuple):
    """One entry of a SUMMARY.md; `branch` is the number of its first-level entry."""

    branch: int
    part: str
    label: str
    target: str
    is_link: bool = True


def find_summary_file(paths: list[Path]) -> TableOfContents | None:
    """Return the SUMMARY.md that lists pages; prefer a configured one, then the topmost, then the longest."""
    summaries = (
        read_summary_file(path, paths, _find_configured_title(path.parent.resolve()))
        for path in paths
        if path.name == "SUMMARY.md"
    )
    filled = (each for each in summaries if each.entries)
    return min(filled, key=lambda one: (one.title is None, len(one.path.parts), -len(one.entries)), default=None)


def read_summary_file(path: Path, paths: list[Path], title: str | None) -> TableOfContents:
    """Read a SUMMARY.md; the chapter of a page is its first-level entry, or its part if no entry of it has children."""
    source = file_loader.load_text(path, path.name).value or ""
    lines = _parse_summary_lines(parse_markdown(strip_markup(source, PLAIN_MARKDOWN).text, indented_code=False))
    pages = {page.parent.resolve() / page.name: page for page in paths}
    sizes = Counter(line.branch for line in lines)
    divided = {line.part for line in lines if sizes[line.branch] > 1}
    branches: dict[int, str] = {}
    folder = path.parent.resolve()
    entries: dict[Path, ContentsEntry] = {}
    missing = []
    for line in lines:
        branch = branches.setdefault(line.branch, line.label)
        target = files.resolve_relative_path(folder, unquote(line.target).partition("#")[0])
        page = pages.get(target) if target and line.target else None
        if page and page != path:
            chapter = branch if line.part in divided else line.part or line.label
            entries.setdefault(page, ContentsEntry(line.label, chapter))
        elif line.target.endswith(".md") and "://" not in line.target:
            missing.append(line.target)
    drafts = tuple(line.label for line in lines if line.is_link and not line.target)
    return TableOfContents(path, title, entries, drafts, tuple(missing))


def _parse_summary_lines(tokens: list[Token]) -> list[_SummaryLine]:
    """Return the entries of lists, and the links in paragraphs of links before and after them."""
    lines: list[_SummaryLine] = []
    part = heading = ""
    depth = branch = 0
    for token in tokens:
        if token.type in ("list_item_open", "list_item_close"):
            depth += token.nesting
            branch += token.nesting > 0 and depth == 1
        elif token.type == "heading_open":
            heading = token.tag
        elif token.type == "inline" and heading:
            # The first level-1 heading is the title of the table itself.
            part = "" if heading == "h1" and not lines else _label(token.children or [])
            heading = ""
        elif token.type == "inline":
            links, rest = _split_links(token.children or [])
            if depth:
                lines += [_SummaryLine(branch, part, *link, is_link=bool(links)) for link in links or [(rest, "")]]
            elif not rest:
                lines += [_SummaryLine(branch := branch + 1, "", *link) for link in links]
    return lines


def _split_links(tokens: list[Token]) -> tuple[list[tuple[str, str]], str]:
    """Return the label and target of each link, and the text outside links."""
    links: list[tuple[str, str]] = []
    outside: list[Token] = []
    rest = iter(tokens)
    for token in rest:
        if token.type == "link_open":
            inside = list(takewhile(lambda token: token.type != "link_close", rest))
            links.append((_label(inside), str(token.attrs["href"])))
        else:
            outside.append(token)
    return links, _label(outside)


def _label(tokens: list[Token]) -> str:
    return " ".join(join_token_text(tokens).split())[:MAX_TITLE_CHARS]


def _find_configured_title(folder: Path) -> str | None:
    """Return the title of the book whose book.toml or book.json names `folder` as its source."""
    for home in (folder, *folder.parents):
        for name, key, default in (("book.toml", "src", "src"), ("book.json", "root", ".")):
            config = load_config(home / name) if files.is_file(home / name) else None
            if isinstance(config, dict):
                fields = ConfigFields(config).section("book") if name == "book.toml" else ConfigFields(config)
                if files.resolve_relative_path(home, fields.text(key) or default) == folder:
                    return fields.text("title")
    return None


_TOCTREE_FILE = "_toctree.yml"
_TOC_FENCE = re.compile(r"^```toc[ \t]*\n(?P<body>(?:(?!```)[^\n]*\n)*)```", re.MULTILINE)


def find_toctree_file(root: Path, paths: list[Path]) -> TableOfContents | None:
    """Return the topmost `_toctree.yml` next to or one folder above pages that lists some of them."""
    folders = sorted({path.parent for path in paths}, key=lambda path: (len(path.parts), path))
    for home in (home for folder in folders for home in (folder, folder.parent)):
        is_inside = home.is_relative_to(root) and files.is_file(home / _TOCTREE_FILE)
        if is_inside and (entries := _load_toctree_entries(home, set(paths))):
            return TableOfContents(home / _TOCTREE_FILE, None, entries)
    return None


def _load_toctree_entries(home: Path, pages: set[Path]) -> dict[Path, ContentsEntry]:
    parsed = load_config(home / _TOCTREE_FILE)
    entries: dict[Path, ContentsEntry] = {}
    pending: list[tuple[object, str]] = [(item, "") for item in reversed(parsed if isinstance(parsed, list) else [])]
    while pending:
        item, chapter = pending.pop()
        fields = ConfigFields.of(item)
        title, local = fields.text("title"), fields.text("local")
        path = files.resolve_relative_path(home, local) if local else None
        page = next((p for end in (".mdx", ".md") if path and (p := path.with_name(path.name + end)) in pages), None)
        if page:
            entries.setdefault(page, ContentsEntry(title, chapter or title))
        pending += [(section, chapter or title) for section in reversed(fields.list_items("sections"))]
    return entries


def read_toc_fence_order(paths: list[Path]) -> dict[Path, int]:
    """Return the position of each page that a `toc` block in the index page of its folder lists."""
    pages, order = set(paths), dict[Path, int]()
    for path in (path for path in paths if path.stem == "index"):
        for fence in _TOC_FENCE.finditer(file_loader.load_text(path, path.name).value or ""):
            for line in filter(None, map(str.strip, fence["body"].split("\n"))):
                page = files.resolve_relative_path(path.parent, f"{line}.md")
                if page in pages and page.parent == path.parent:
                    order.setdefault(page, len(order))
    return order


class _NestedEntry(Protocol):
    @property
    def depth(self) -> int: ...

    def _replace(self, *, depth: int) -> Self: ...


NestedEntryT = TypeVar("NestedEntryT", bound=_NestedEntry)


def strip_root(entries: Sequence[NestedEntryT]) -> tuple[NestedEntryT, ...]:
    """Drop a first entry that contains all others, because it is the book itself."""
    if len(entries) < 2 or entries[0].depth or any(not entry.depth for entry in entries[1:]):
        return tuple(entries)
    return tuple(entry._replace(depth=entry.depth - 1) for entry in entries[1:])
