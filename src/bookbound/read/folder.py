"""A folder of Markdown or text pages, in the order of its table of contents or of its names."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from urllib.parse import quote, unquote

from bookbound.book import Block, Manuscript, Notice, Page
from bookbound.read import decode, files, markdown, text
from bookbound.read.frontmatter import FrontMatter, front_matter
from bookbound.read.mask import MARKDOWN, MDX

MARKDOWN_SUFFIXES = frozenset((".md", ".mdx", ".markdown"))
TEXT_SUFFIXES = frozenset((".rst", ".txt"))
_INDEX = frozenset(("readme", "index", "_index"))
_REPOSITORY_NOTES = frozenset("readme license contributing changelog code_of_conduct security summary".split())
_NOT_PAGES = re.compile(r"(?i)(?:requirements[\w-]*|cmakelists|robots|licen[cs]e|constraints)\.txt")
_LINK = re.compile(r"\]\(<?([^()\s<>#]+\.(?:md|mdx|markdown|rst|txt))[^()]*\)")


def read_folder(root: Path) -> Manuscript | None:
    """The pages below `root`; nothing where there are none."""
    paths, notices = files.find(root, MARKDOWN_SUFFIXES | TEXT_SUFFIXES)
    if any(path.suffix.lower() != ".txt" for path in paths):
        paths = [path for path in paths if path.suffix.lower() != ".txt"]
    paths = [path for path in paths if not _NOT_PAGES.fullmatch(path.name)]
    home = _home(root, paths)
    pages: list[Page] = []
    for path in _in_order(root, paths):
        page, odd = read_page(path, path.relative_to(root), home, len(pages))
        notices += odd
        pages += [page] if page else []
    if not pages:
        return None
    texts = sum(page.file.lower().endswith((".rst", ".txt")) for page in pages)
    kind = "text" if texts * 2 > len(pages) else "markdown"
    return Manuscript(_title(root, home, pages), kind, tuple(pages), tuple(notices))


def read_page(path: Path, relative: Path, home: Path, position: int) -> tuple[Page | None, list[Notice]]:
    """One file as a page, named and addressed by its path."""
    file = relative.as_posix()
    source, notices = decode.load(path, file)
    if source is None:
        return None, notices
    front = FrontMatter()
    if path.suffix.lower() in MARKDOWN_SUFFIXES:
        front = front_matter(source)
        dialect = MDX if path.suffix.lower() == ".mdx" else MARKDOWN
        set_text, runs, blocks = markdown.typeset(source, dialect, front.end)
    else:
        set_text, runs, blocks = text.typeset(source, marked_up=path.suffix.lower() == ".rst")
    if front.broken:
        notices.append(Notice(file, "its front matter is not valid YAML; passed over"))
    if not set_text:
        return None, [*notices, Notice(file, "shows no words; left out")]
    title = front.text("title") or first_title(set_text, blocks) or files.readable(_named(relative))
    inside = relative.relative_to(home) if relative.is_relative_to(home) else Path(relative.name)
    chapter = files.readable(inside.parts[0]) if len(inside.parts) > 1 else title
    url = _url(inside) if relative.is_relative_to(home) else quote("/" + relative.with_suffix("").as_posix())
    return Page(file, url, title, chapter, position, source, set_text, runs, blocks), notices


def first_title(set_text: str, blocks: tuple[Block, ...]) -> str:
    """The first heading of the first level."""
    return next((set_text[b.start : b.end] for b in blocks if b.kind == "heading" and b.level == 1), "")


def _home(root: Path, paths: list[Path]) -> Path:
    """The folder that holds the book itself, beside which stand only the notes that every repository has."""
    book = [path for path in paths if path.stem.lower() not in _REPOSITORY_NOTES] or paths
    return Path(os.path.commonpath([path.parent for path in book])).relative_to(root) if book else Path()


def _title(root: Path, home: Path, pages: list[Page]) -> str:
    """The heading of the page that the folder, or the book in it, opens with; else the folder's name."""
    for folder in ("", home.as_posix()):
        for page in pages:
            path = PurePosixPath(page.file)
            heading = first_title(page.text, page.blocks)
            if heading and path.stem.lower() in _INDEX and path.parent == PurePosixPath(folder):
                return heading
    return files.readable(root.resolve().name)


def _named(relative: Path) -> str:
    return relative.parent.name if relative.stem.lower() in _INDEX and relative.parent.name else relative.stem


def _url(relative: Path) -> str:
    address = relative.with_suffix("") if relative.stem.lower() not in _INDEX else relative.parent
    return quote("/" + ("" if address == Path() else address.as_posix()))


def _in_order(root: Path, paths: list[Path]) -> list[Path]:
    """By the links of the nearest table of contents, then README and index before their neighbours."""
    listed = _listed(root, paths)
    rank = {path: place for place, path in enumerate(listed)}

    def key(path: Path) -> tuple[object, ...]:
        relative = path.relative_to(root)
        index = relative.stem.lower() in _INDEX
        parts = [(1, files.natural(part)) for part in relative.parts]
        return (rank.get(path, len(rank)), [*parts[:-1], (0 if index else 1, parts[-1][1])])

    kept = [path for path in paths if path.name.lower() != "summary.md" or not listed]
    return sorted(kept, key=key)


def _listed(root: Path, paths: list[Path]) -> list[Path]:
    listed: list[Path] = []
    known = {path.resolve(): path for path in paths}
    for contents in (path for path in paths if path.name.lower() == "summary.md"):
        source, _ = decode.load(contents, "")
        for link in _LINK.findall(source or ""):
            path = known.get((contents.parent / unquote(link)).resolve())
            if path and path not in listed:
                listed.append(path)
    return listed
