"""What a SUMMARY.md says of its book: which pages it has, in which order and under which names."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from bookbound.book import Notice
from bookbound.read import decode, files, toml
from bookbound.read.cut import NOTHING
from bookbound.read.dialect import MARKDOWN
from bookbound.read.frontmatter import FrontMatter, plain_json
from bookbound.read.markdown_it import Token, parse
from bookbound.read.mask import mask
from bookbound.read.titles import LONGEST


class Entry(NamedTuple):
    """What the table of contents calls a page, and the chapter it puts it in."""

    label: str
    chapter: str


@dataclass(frozen=True, slots=True)
class Summary:
    """A table of contents: its file, the title that the book's configuration gives, and the pages it lists.

    `drafts` are entries without a page yet; what is `missing` is listed and not there.
    """

    path: Path
    title: str | None
    entries: dict[Path, Entry]
    drafts: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def notices(self, file: str) -> list[Notice]:
        """What of the table, which is called `file`, leads to no page."""
        drafts = [Notice(file, f"the chapter {label} is a draft") for label in self.drafts]
        return drafts + [Notice(file, f"lists {target}, which is not there", lost=True) for target in self.missing]


class _Line(NamedTuple):
    """One line of a table of contents; `branch` counts the entries of the first level."""

    branch: int
    part: str
    label: str
    target: str
    linked: bool = True


def find_summary(paths: list[Path]) -> Summary | None:
    """Of the tables of contents among `paths` that list other ones: the configured, the topmost, the longest."""
    found = []
    for path in paths:
        if path.name == "SUMMARY.md":
            summary = read_summary(path, paths, _configured_title(path.parent.resolve()))
            found += [summary] if summary.entries else []
    return min(found, key=lambda one: (one.title is None, len(one.path.parts), -len(one.entries)), default=None)


def read_summary(path: Path, paths: list[Path], title: str | None) -> Summary:
    """What the table at `path` lists; a chapter is an entry of the first level, or the part of a lone one."""
    source, _ = decode.load(path, path.name)
    lines = _lines(parse(mask(source or "", MARKDOWN), indented_code=False))
    known = {page.parent.resolve() / page.name: page for page in paths}
    sizes = Counter(line.branch for line in lines)
    names: dict[int, str] = {}
    home = path.parent.resolve()
    entries: dict[Path, Entry] = {}
    missing = []
    for line in lines:
        name = names.setdefault(line.branch, line.label)
        target = files.beside(home, unquote(line.target).partition("#")[0])
        page = known.get(target) if target and line.target else None
        if page and page != path:
            entries.setdefault(page, Entry(line.label, name if sizes[line.branch] > 1 else line.part or line.label))
        elif line.target.endswith(".md") and "://" not in line.target:
            missing.append(line.target)
    drafts = tuple(line.label for line in lines if line.linked and not line.target)
    return Summary(path, title, entries, drafts, tuple(missing))


def _lines(tokens: list[Token]) -> list[_Line]:
    """The entries of lists, and the links that stand alone before and after them."""
    lines: list[_Line] = []
    part, depth, branch, heading = "", 0, 0, ""
    for token in tokens:
        if token.type in ("list_item_open", "list_item_close"):
            depth += token.nesting
            branch += token.nesting > 0 and depth == 1
        elif token.type == "heading_open":
            heading = token.tag
        elif token.type == "inline" and heading:
            # The first heading of the first level names the table itself.
            part = "" if heading == "h1" and not lines else _words(token.children or [])
            heading = ""
        elif token.type == "inline":
            links, rest = _links(token.children or [])
            if depth:
                lines += [_Line(branch, part, *link, linked=bool(links)) for link in links or [(rest, "")]]
            elif not rest:
                lines += [_Line(branch := branch + 1, "", *link) for link in links]
    return lines


def _links(tokens: list[Token]) -> tuple[list[tuple[str, str]], str]:
    """The label and the target of each link, and the words outside of them."""
    links: list[tuple[str, str]] = []
    outside: list[Token] = []
    inside: list[Token] | None = None
    for token in tokens:
        if token.type == "link_open":
            inside = []
            links.append(("", str(token.attrs["href"])))
        elif token.type == "link_close":
            links[-1] = (_words(inside or []), links[-1][1])
            inside = None
        else:
            (outside if inside is None else inside).append(token)
    return links, _words(outside)


def _words(tokens: list[Token]) -> str:
    text = "".join(token.content or " " * token.type.endswith("break") for token in tokens)
    return " ".join(text.replace(NOTHING, "").split())[:LONGEST]


def _configured_title(folder: Path) -> str | None:
    """The title of the book whose configuration says that its source is `folder`; nothing where none does."""
    for home in (folder, *folder.parents):
        for name, key, usual in (("book.toml", "src", "src"), ("book.json", "root", ".")):
            fields = _fields(home / name)
            if fields is not None and files.beside(home, fields.text(key) or usual) == folder:
                return fields.text("title")
    return None


def _fields(path: Path) -> FrontMatter | None:
    try:
        text, _ = decode.load(path, path.name, decode.LARGEST_SETTINGS) if files.is_file(path) else (None, [])
        read = toml.loads(text or "").get("book", {}) if path.suffix == ".toml" else plain_json(text or "")
    except (ValueError, RecursionError):
        return None
    return FrontMatter(read) if text is not None and isinstance(read, dict) else None
