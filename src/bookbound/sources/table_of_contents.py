"""Reads tables of contents: SUMMARY.md, `_toctree.yml` and `toc` code blocks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, Self, TypeVar
from urllib.parse import unquote

from bookbound.domain.document import SourceNotice
from bookbound.sources import decoding, files, safe_config
from bookbound.sources.markdown.dialect import PLAIN_MARKDOWN
from bookbound.sources.markdown.front_matter import FrontMatter
from bookbound.sources.markdown.hidden_spans import PLACEHOLDER
from bookbound.sources.markdown.markdown_it import Token, parse_markdown
from bookbound.sources.markdown.markup import strip_markup
from bookbound.sources.safe_config import parse_json, parse_yaml
from bookbound.sources.titles import MAX_TITLE_CHARS


class ContentsEntry(NamedTuple):
    """What the table of contents calls a page, and the chapter it puts it in."""

    label: str
    chapter: str


@dataclass(frozen=True, slots=True)
class TableOfContents:
    """A table of contents: its file, the title that the book's configuration gives, and the pages it lists.

    `drafts` are entries without a page yet; what is `missing` is listed and not there.
    """

    path: Path
    title: str | None
    entries: dict[Path, ContentsEntry]
    drafts: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def notices(self, file: str) -> list[SourceNotice]:
        """What of the table, which is called `file`, leads to no page."""
        drafts = [SourceNotice(file, f"the chapter {label} is a draft") for label in self.drafts]
        return drafts + [
            SourceNotice(file, f"lists {target}, which is not there", lost=True) for target in self.missing
        ]


class _SummaryLine(NamedTuple):
    """One line of a table of contents; `branch` counts the entries of the first level."""

    branch: int
    part: str
    label: str
    target: str
    linked: bool = True


def find_summary_file(paths: list[Path]) -> TableOfContents | None:
    """Of the tables of contents among `paths` that list other ones: the configured, the topmost, the longest."""
    found = []
    for path in paths:
        if path.name == "SUMMARY.md":
            summary = read_summary_file(path, paths, _find_configured_title(path.parent.resolve()))
            found += [summary] if summary.entries else []
    return min(found, key=lambda one: (one.title is None, len(one.path.parts), -len(one.entries)), default=None)


def read_summary_file(path: Path, paths: list[Path], title: str | None) -> TableOfContents:
    """What the table at `path` lists; a chapter is an entry of the first level, or the part of a lone one."""
    source, _ = decoding.load_text(path, path.name)
    lines = _parse_summary_lines(parse_markdown(strip_markup(source or "", PLAIN_MARKDOWN), indented_code=False))
    known = {page.parent.resolve() / page.name: page for page in paths}
    sizes = Counter(line.branch for line in lines)
    names: dict[int, str] = {}
    home = path.parent.resolve()
    entries: dict[Path, ContentsEntry] = {}
    missing = []
    for line in lines:
        name = names.setdefault(line.branch, line.label)
        target = files.resolve_relative_path(home, unquote(line.target).partition("#")[0])
        page = known.get(target) if target and line.target else None
        if page and page != path:
            entries.setdefault(
                page, ContentsEntry(line.label, name if sizes[line.branch] > 1 else line.part or line.label)
            )
        elif line.target.endswith(".md") and "://" not in line.target:
            missing.append(line.target)
    drafts = tuple(line.label for line in lines if line.linked and not line.target)
    return TableOfContents(path, title, entries, drafts, tuple(missing))


def _parse_summary_lines(tokens: list[Token]) -> list[_SummaryLine]:
    """The entries of lists, and the links that stand alone before and after them."""
    lines: list[_SummaryLine] = []
    part, depth, branch, heading = "", 0, 0, ""
    for token in tokens:
        if token.type in ("list_item_open", "list_item_close"):
            depth += token.nesting
            branch += token.nesting > 0 and depth == 1
        elif token.type == "heading_open":
            heading = token.tag
        elif token.type == "inline" and heading:
            # The first heading of the first level names the table itself.
            part = "" if heading == "h1" and not lines else _join_token_text(token.children or [])
            heading = ""
        elif token.type == "inline":
            links, rest = _split_links(token.children or [])
            if depth:
                lines += [_SummaryLine(branch, part, *link, linked=bool(links)) for link in links or [(rest, "")]]
            elif not rest:
                lines += [_SummaryLine(branch := branch + 1, "", *link) for link in links]
    return lines


def _split_links(tokens: list[Token]) -> tuple[list[tuple[str, str]], str]:
    """The label and the target of each link, and the words outside of them."""
    links: list[tuple[str, str]] = []
    outside: list[Token] = []
    inside: list[Token] | None = None
    for token in tokens:
        if token.type == "link_open":
            inside = []
            links.append(("", str(token.attrs["href"])))
        elif token.type == "link_close":
            links[-1] = (_join_token_text(inside or []), links[-1][1])
            inside = None
        else:
            (outside if inside is None else inside).append(token)
    return links, _join_token_text(outside)


def _join_token_text(tokens: list[Token]) -> str:
    text = "".join(token.content or " " * token.type.endswith("break") for token in tokens)
    return " ".join(text.replace(PLACEHOLDER, "").split())[:MAX_TITLE_CHARS]


def _find_configured_title(folder: Path) -> str | None:
    """The title of the book whose configuration says that its source is `folder`; nothing where none does."""
    for home in (folder, *folder.parents):
        for name, key, usual in (("book.toml", "src", "src"), ("book.json", "root", ".")):
            fields = _load_config_fields(home / name)
            if fields is not None and files.resolve_relative_path(home, fields.text(key) or usual) == folder:
                return fields.text("title")
    return None


def _load_config_fields(path: Path) -> FrontMatter | None:
    try:
        text, _ = decoding.load_text(path, path.name, decoding.MAX_CONFIG_BYTES) if files.is_file(path) else (None, [])
        read = safe_config.parse_toml(text or "").get("book", {}) if path.suffix == ".toml" else parse_json(text or "")
    except (ValueError, RecursionError):
        return None
    return FrontMatter(read) if text is not None and isinstance(read, dict) else None


_TOCTREE_FILE = "_toctree.yml"
_TOC_FENCE = re.compile(r"^```toc[ \t]*\n(?P<body>(?:(?!```)[^\n]*\n)*)```", re.MULTILINE)


def find_toctree_file(root: Path, paths: list[Path]) -> TableOfContents | None:
    """The topmost `_toctree.yml` below `root` that stands beside or above pages and lists some of them."""
    for folder in sorted({path.parent for path in paths}, key=lambda path: (len(path.parts), path)):
        for home in (folder, folder.parent):
            if home.is_relative_to(root) and files.is_file(home / _TOCTREE_FILE):
                summary = TableOfContents(home / _TOCTREE_FILE, None, _load_toctree_entries(home, set(paths)))
                if summary.entries:
                    return summary
    return None


def _load_toctree_entries(home: Path, known: set[Path]) -> dict[Path, ContentsEntry]:
    text, _ = decoding.load_text(home / _TOCTREE_FILE, _TOCTREE_FILE, decoding.MAX_CONFIG_BYTES)
    listed = parse_yaml(text or "")
    entries: dict[Path, ContentsEntry] = {}
    waiting: list[tuple[object, str]] = [(one, "") for one in reversed(listed if isinstance(listed, list) else [])]
    while waiting:
        item, chapter = waiting.pop()
        fields = FrontMatter(item if isinstance(item, dict) else {})
        title = fields.text("title")
        path = files.resolve_relative_path(home, fields.text("local")) if fields.text("local") else None
        pages = [page for end in (".mdx", ".md") if path and (page := path.with_name(path.name + end)) in known]
        for page in pages[:1]:
            entries.setdefault(page, ContentsEntry(title, chapter or title))
        inside = fields.fields.get("sections")
        waiting += [(one, chapter or title) for one in reversed(inside if isinstance(inside, list) else [])]
    return entries


def read_toc_fence_order(paths: list[Path]) -> dict[Path, int]:
    """The place of each page that a `toc` block in the opening page of its folder lists."""
    known = set(paths)
    order: dict[Path, int] = {}
    for path in paths:
        source = decoding.load_text(path, path.name)[0] if path.stem == "index" else None
        for found in _TOC_FENCE.finditer(source or ""):
            for line in found["body"].split("\n"):
                page = files.resolve_relative_path(path.parent, f"{line.strip()}.md") if line.strip() else None
                if page in known and page.parent == path.parent:
                    order.setdefault(page, len(order))
    return order


class _NestedEntry(Protocol):
    """A line of a table of contents, and how deep it stands."""

    @property
    def depth(self) -> int: ...

    def _replace(self, *, depth: int) -> Self: ...


NestedEntryT = TypeVar("NestedEntryT", bound=_NestedEntry)


def strip_root(entries: Sequence[NestedEntryT]) -> tuple[NestedEntryT, ...]:
    """The entries without a single one that all others stand under: that is the book."""
    if len(entries) < 2 or entries[0].depth or any(not entry.depth for entry in entries[1:]):
        return tuple(entries)
    return tuple(entry._replace(depth=entry.depth - 1) for entry in entries[1:])
