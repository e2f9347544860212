"""Orders the pages of a book by its toctrees."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from bookbound.sources import files, titles
from bookbound.sources.rst.page_draft import PageDraft, Toctree

_EXTERNAL_URL = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_GENERATED_PAGES = frozenset(("self", "genindex", "modindex", "search"))
_GENERIC_CAPTION = re.compile(r"(?i)(?:table of )?contents:?")
_GLOB_WILDCARDS = {"**": ".*", "**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
# A pattern of more wildcards than any author writes could take for ever.
_MAX_GLOB_PARTS = 11


class OrderedPage(NamedTuple):
    """A page in its place: its name, the chapter it belongs to, and whether some list leads to it."""

    name: str
    chapter: str
    reached: bool = True


class _ToctreeChild(NamedTuple):
    """A page that another lists: under which title, and in a list of which name."""

    name: str
    label: str
    caption: str


@dataclass(frozen=True, slots=True)
class PageOrder:
    """Puts the pages of a book into the order of their lists; `suffixes` are what their files end in.

    `numbers` are set before the titles of pages wherever these are listed.
    """

    drafts: Mapping[str, PageDraft]
    suffixes: tuple[str, ...]
    numbers: Mapping[str, str] = field(default_factory=dict)

    def pages(self, root: str) -> list[OrderedPage]:
        """The root and what it leads to, and then all others, each before what it leads to."""
        listed = self._below(root, "", chapters=True) if root in self.drafts else []
        seen = {page.name for page in listed}
        held = {child.name for name in self.drafts if name not in seen for child in self.children(name)}
        left = sorted((name for name in self.drafts if name not in seen), key=_make_sort_key)
        for name in (*(name for name in left if name not in held), *left):
            if name not in seen:
                alone = not any(child.name not in seen for child in self.children(name))
                below = self._below(name, self._folder(name) if alone else self.heading(name), seen=seen)
                listed += [page._replace(reached=False) for page in below]
        return listed

    def title(self, name: str) -> str:
        return self.drafts[name].title or titles.humanize_name(posixpath.basename(name))

    def heading(self, name: str) -> str:
        """What a page is called in a list, with its number."""
        return f"{self.numbers.get(name, '')}{self.title(name)}"

    def children(self, name: str) -> list[_ToctreeChild]:
        """The pages that a page lists, in order."""
        return [child for toctree in self.drafts[name].toctrees for child in self._in(toctree, name)]

    def listed(self, toctree: Toctree, name: str) -> list[str]:
        """The pages that one list of a page leads to, in order."""
        return [child.name for child in self._in(toctree, name)]

    def resolve(self, target: str, name: str) -> str:
        """The name of the page that a target on another page means; empty where there is none."""
        folder = "" if target.startswith("/") else posixpath.dirname(name)
        wanted = posixpath.normpath(posixpath.join(folder, target.strip("/")))
        ends = (end for end in (*self.suffixes, ".rst", ".md") if wanted.endswith(end))
        bare = wanted.removesuffix(next(ends, ""))
        return next((found for found in (wanted, bare) if found in self.drafts), "")

    def _below(self, top: str, chapter: str, chapters: bool = False, seen: set[str] | None = None) -> list[OrderedPage]:
        """A page and what it leads to, each page once; where it has `chapters`, its children are those."""
        found: list[OrderedPage] = []
        seen = set() if seen is None else seen
        waiting = [(top, chapter or self.heading(top))]
        while waiting:
            name, chapter = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            found.append(OrderedPage(name, chapter))
            opens = chapters and name == top
            below = [(child.name, self._chapter(child) if opens else chapter) for child in self.children(name)]
            waiting += reversed(below)
        return found

    def _chapter(self, child: _ToctreeChild) -> str:
        """A chapter is called as its page is; one of a single page stands under the name of its list."""
        alone = not self.children(child.name)
        named = f"{self.numbers.get(child.name, '')}{child.label or self.title(child.name)}"
        return child.caption if alone and child.caption else named

    def _folder(self, name: str) -> str:
        """What a page belongs to that no list leads to: the page of its folder, or the folder."""
        top = name.partition("/")[0]
        page = next((page for page in (top, f"{top}/index") if page in self.drafts), "")
        return self.heading(page) if page else titles.humanize_name(top)

    def missing(self, name: str) -> list[str]:
        """The targets of a page's lists that lead nowhere."""
        return [
            target
            for toctree in self.drafts[name].toctrees
            for _, target in (() if toctree.made else toctree.lines)
            if not _EXTERNAL_URL.match(target)
            and target not in _GENERATED_PAGES
            and not self._found(toctree, target, name)
        ]

    def _in(self, toctree: Toctree, name: str) -> Iterable[_ToctreeChild]:
        caption = "" if _GENERIC_CAPTION.fullmatch(toctree.caption) else toctree.caption
        found: dict[str, _ToctreeChild] = {}
        for label, target in toctree.lines:
            for child in () if _EXTERNAL_URL.match(target) else self._found(toctree, target, name):
                if child != name:
                    found.setdefault(child, _ToctreeChild(child, label, caption))
        return reversed(found.values()) if toctree.backwards else found.values()

    def _found(self, toctree: Toctree, target: str, name: str) -> Sequence[str]:
        """The pages that a line of a list means."""
        if toctree.glob and any(mark in target for mark in "*?["):
            return self._matched(target, name)
        page = self.resolve(target, name)
        return [page] if page else []

    def _matched(self, target: str, name: str) -> Sequence[str]:
        folder = "" if target.startswith("/") else posixpath.dirname(name)
        bare = target.removesuffix(next((end for end in self.suffixes if target.endswith(end)), ""))
        wanted = compile_glob(posixpath.normpath(posixpath.join(folder, bare.lstrip("/"))))
        return sorted(each for each in self.drafts if wanted.fullmatch(each))


def _make_sort_key(name: str) -> tuple[object, ...]:
    *folders, last = name.split("/")
    return (*((1, files.natural_sort_key(part)) for part in folders), (last != "index", files.natural_sort_key(last)))


@cache
def compile_glob(glob: str) -> re.Pattern[str]:
    """A pattern of names: a star stands for anything within a folder, two for anything."""
    parts = re.split(r"(\*\*/?|\*|\?|\[!?[^\]]+\])", glob)
    made = [
        _GLOB_WILDCARDS.get(part) or (_compile_character_class(part) if part.startswith("[") else re.escape(part))
        for part in parts
    ]
    try:
        return re.compile("".join(made) if len(parts) <= _MAX_GLOB_PARTS else re.escape(glob))
    except re.error:
        return re.compile(re.escape(glob))


def _compile_character_class(part: str) -> str:
    """One of several characters, or of those between two."""
    named = part[1:-1].removeprefix("!")
    escaped = re.escape(named) if "--" in named else re.escape(named).replace(r"\-", "-")
    return f"[{'^' * part.startswith('[!')}{escaped}]" if part.endswith("]") and named else re.escape(part)
