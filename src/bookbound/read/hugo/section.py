"""The folders of a Hugo site, in the order that Hugo lists them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from bookbound.read import files
from bookbound.read.doc import Doc
from bookbound.read.hugo.front import moment

_LATEST = 1e12
_Rank = tuple[bool, float, float, str]


@dataclass(slots=True)
class Section:
    """A folder of the site: its own page, the pages in it, and the sections below."""

    name: str
    own: Doc | None = None
    pages: list[tuple[str, Doc]] = field(default_factory=list)
    sections: dict[str, Section] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return (_label(self.own) if self.own else "") or files.readable(self.name)

    def put(self, relative: Path, doc: Doc) -> None:
        """Give a page its place; that of a bundle stands where its folder does."""
        here, folders = self, relative.parts[:-1]
        leaf = relative.stem == "index" and folders
        for name in folders[:-1] if leaf else folders:
            here = here.sections.setdefault(name, Section(name))
        if relative.stem == "_index":
            here.own = doc
        else:
            here.pages.append((folders[-1] if leaf else relative.stem, doc))

    def above(self, relative: Path) -> tuple[str, ...]:
        """The folders above a page as far as they are sections: the topmost, and those with a page of their own."""
        folders = relative.parts[:-1][: -1 if relative.stem == "index" else None]
        here, deepest = self, 1
        for depth, name in enumerate(folders, 1):
            here = here.sections[name]
            deepest = depth if here.own else deepest
        return folders[:deepest]

    def in_order(self) -> list[Doc]:
        """The section's own page, then pages and sections by weight, the newest first, and by title."""
        docs: list[Doc] = []
        waiting: list[Section | Doc] = [self]
        while waiting:
            item = waiting.pop()
            if isinstance(item, Doc):
                docs.append(item)
                continue
            docs += [item.own] if item.own else []
            inside: list[tuple[_Rank, Section | Doc]] = [
                (_rank(doc, _label(doc) or name), doc) for name, doc in item.pages
            ]
            inside += [(_rank(section.own, section.title), section) for section in item.sections.values()]
            waiting += [one for _, one in sorted(inside, key=lambda pair: pair[0], reverse=True)]
        return docs


def _label(doc: Doc) -> str:
    return doc.front.text("linktitle") or doc.title


def _rank(doc: Doc | None, title: str) -> _Rank:
    """Weights count from one; what has none comes after, the newest before the older."""
    weight = (doc.front.number("weight") or 0.0) if doc else 0.0
    written = moment(doc.front, "date") if doc else None
    return (weight == 0, weight, _LATEST - written.timestamp() if written else _LATEST * 2, title.lower())
