"""Finds the pages that toctrees and references mean, and orders the pages of a book by its toctrees."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from bookbound.sources import files
from bookbound.sources.rst.page_draft import PageDraft, Toctree
from bookbound.sources.titles import humanize_name

GENERATED_PAGE_TITLES = {"genindex": "Index", "modindex": "Module Index", "search": "Search Page"}
_EXTERNAL_URL = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_GENERIC_CAPTION = re.compile(r"(?i)(?:table of )?contents:?")
_GLOB_WILDCARDS = {"**": ".*", "**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
# A pattern with more wildcards than authors write could take for ever.
_MAX_GLOB_PARTS = 11


class _ToctreeChild(NamedTuple):
    """A page in a toctree, with the title and the caption that the toctree gives it."""

    name: str
    title: str
    caption: str


@dataclass(frozen=True, slots=True)
class BookDrafts:
    """The drafts of a book by page name; `suffixes` are the file endings that targets may have."""

    drafts: Mapping[str, PageDraft]
    suffixes: tuple[str, ...]

    def title(self, name: str) -> str:
        return self.drafts[name].title or humanize_name(posixpath.basename(name))

    def resolve(self, target: str, page: str) -> str:
        """Return the name of the page that a target on another page means, or nothing."""
        folder = "" if target.startswith("/") else posixpath.dirname(page)
        path = posixpath.normpath(posixpath.join(folder, target.strip("/")))
        suffixes = (suffix for suffix in (*self.suffixes, ".rst", ".md") if path.endswith(suffix))
        name = path.removesuffix(next(suffixes, ""))
        return next((found for found in (path, name) if found in self.drafts), "")

    def children(self, page: str) -> list[_ToctreeChild]:
        return [child for toctree in self.drafts[page].toctrees for child in self._find_children(toctree, page)]

    def find_pages(self, toctree: Toctree, page: str) -> list[str]:
        """Return the pages that one toctree of a page lists."""
        return [child.name for child in self._find_children(toctree, page)]

    def missing(self, page: str) -> list[str]:
        """Return the toctree entries of a page that match no page."""
        return [
            target
            for toctree in self.drafts[page].toctrees
            for _, target in (() if toctree.is_generated else toctree.entries)
            if target not in ("self", *GENERATED_PAGE_TITLES)
            and not _EXTERNAL_URL.match(target)
            and not self._match(toctree, target, page)
        ]

    def _find_children(self, toctree: Toctree, page: str) -> Iterable[_ToctreeChild]:
        caption = "" if _GENERIC_CAPTION.fullmatch(toctree.caption) else toctree.caption
        children: dict[str, _ToctreeChild] = {}
        for title, target in toctree.entries:
            for child in () if _EXTERNAL_URL.match(target) else self._match(toctree, target, page):
                if child != page:
                    children.setdefault(child, _ToctreeChild(child, title, caption))
        return reversed(children.values()) if toctree.is_reversed else children.values()

    def _match(self, toctree: Toctree, target: str, page: str) -> Sequence[str]:
        if not toctree.is_glob or not any(mark in target for mark in "*?["):
            name = self.resolve(target, page)
            return [name] if name else []
        folder = "" if target.startswith("/") else posixpath.dirname(page)
        glob = target.removesuffix(next((suffix for suffix in self.suffixes if target.endswith(suffix)), ""))
        pattern = compile_glob(posixpath.normpath(posixpath.join(folder, glob.lstrip("/"))))
        return sorted(name for name in self.drafts if pattern.fullmatch(name))


class OrderedPage(NamedTuple):
    """A page with its numbered title and its chapter; one that is not listed is in no toctree."""

    name: str
    title: str
    chapter: str
    is_listed: bool = True


@dataclass(frozen=True, slots=True)
class PageOrder:
    """Orders the pages of a book; `numbers` are the texts before their titles."""

    book: BookDrafts
    numbers: Mapping[str, str]

    def pages(self, root: str) -> list[OrderedPage]:
        """Return the root and the pages that it leads to, then all others, each before those it leads to."""
        drafts = self.book.drafts
        ordered = self._walk(root, "", set(), is_root=True) if root in drafts else []
        seen = {page.name for page in ordered}
        rest = sorted((name for name in drafts if name not in seen), key=_make_sort_key)
        listed = {child.name for name in rest for child in self.book.children(name)}
        for name in (*(name for name in rest if name not in listed), *rest):
            if name not in seen:
                has_children = any(child.name not in seen for child in self.book.children(name))
                chapter = self._title(name) if has_children else self._folder_title(name)
                ordered += [page._replace(is_listed=False) for page in self._walk(name, chapter, seen)]
        return ordered

    def _title(self, name: str, title: str = "") -> str:
        return f"{self.numbers.get(name, '')}{title or self.book.title(name)}"

    def _walk(self, top: str, chapter: str, seen: set[str], is_root: bool = False) -> list[OrderedPage]:
        """Return a page and the unseen pages that it leads to; the children of the root are chapters."""
        found: list[OrderedPage] = []
        stack = [(top, chapter or self._title(top))]
        while stack:
            name, chapter = stack.pop()
            if name in seen:
                continue
            seen.add(name)
            found.append(OrderedPage(name, self._title(name), chapter))
            opens_chapters = is_root and name == top
            children = reversed(self.book.children(name))
            stack += [(child.name, self._chapter(child) if opens_chapters else chapter) for child in children]
        return found

    def _chapter(self, child: _ToctreeChild) -> str:
        """Name a chapter after its page, or after the toctree caption if it is a single page."""
        is_single = not self.book.children(child.name)
        return child.caption if is_single and child.caption else self._title(child.name, child.title)

    def _folder_title(self, name: str) -> str:
        """Return the title of the folder of a page that no toctree lists."""
        top = name.partition("/")[0]
        page = next((page for page in (top, f"{top}/index") if page in self.book.drafts), "")
        return self._title(page) if page else humanize_name(top)


def _make_sort_key(name: str) -> tuple[object, ...]:
    *folders, last = name.split("/")
    return (*((1, files.natural_sort_key(part)) for part in folders), (last != "index", files.natural_sort_key(last)))


@cache
def compile_glob(glob: str) -> re.Pattern[str]:
    """Compile a pattern of page names in which one star does not match a slash, and two do."""
    parts = re.split(r"(\*\*/?|\*|\?|\[!?[^\]]+\])", glob)
    pattern = "".join(_GLOB_WILDCARDS.get(part) or _compile_glob_part(part) for part in parts)
    try:
        return re.compile(pattern if len(parts) <= _MAX_GLOB_PARTS else re.escape(glob))
    except re.error:
        return re.compile(re.escape(glob))


def _compile_glob_part(part: str) -> str:
    """Compile a class of characters such as `[a-c]`, or plain text."""
    names = part[1:-1].removeprefix("!")
    escaped = re.escape(names) if "--" in names else re.escape(names).replace(r"\-", "-")
    is_class = part.startswith("[") and part.endswith("]") and names
    return f"[{'^' * part.startswith('[!')}{escaped}]" if is_class else re.escape(part)
