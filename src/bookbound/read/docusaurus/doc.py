"""One page of a Docusaurus site, with the names that the site knows it by."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from pathlib import Path

from bookbound.book import Notice
from bookbound.read.dialect import DOCUSAURUS
from bookbound.read.doc import Doc, Weave, load_doc
from bookbound.read.frontmatter import FrontMatter
from bookbound.read.galley import Setting

LAST = float("inf")
_NOT_A_PREFIX = re.compile(r"\d+[-_.]\d+")
_PREFIX = re.compile(r"(?P<number>\d+)\s*[-_.]+\s*(?P<name>[^-_.\s].*)")


@dataclass(frozen=True, slots=True)
class SitePage:
    """A page and the folders above it in the documentation."""

    doc: Doc
    parts: tuple[str, ...]

    @property
    def front(self) -> FrontMatter:
        return self.doc.front

    @property
    def setting(self) -> Setting:
        return self.doc.setting

    @property
    def name(self) -> str:
        return self.front.text("id") or self._parsed[0]

    @property
    def id(self) -> str:
        """What sidebars call the page."""
        return "/".join((*self._folders, self.name))

    @property
    def title(self) -> str:
        return self.doc.title or self.name

    @property
    def label(self) -> str:
        return self.front.text("sidebar_label") or self.title

    @property
    def opens(self) -> bool:
        """Whether this page is the one that the documentation opens with."""
        return self.slug == "/" or (len(self.parts) == 1 and self.name.lower() in ("intro", "introduction"))

    @property
    def position(self) -> float:
        placed = self.front.number("sidebar_position")
        return placed if placed is not None else self._parsed[1]

    @property
    def leads(self) -> bool:
        """Whether this page is the one that its folder opens with."""
        stem = self.doc.path.stem.lower()
        return stem in ("index", "readme") or (len(self.parts) > 1 and stem == self.parts[-2].lower())

    @property
    def slug(self) -> str:
        """The page's route below the documentation's."""
        slug = self.front.text("slug")
        if slug.startswith("/"):
            return slug
        folder = "/" + "".join(f"{part}/" for part in self._folders)
        if self.leads and not slug:
            return folder
        return posixpath.normpath(posixpath.join(folder, slug or self.name))

    @property
    def _folders(self) -> list[str]:
        strip = self.front.fields.get("parse_number_prefixes") is not False
        return [prefixed(part)[0] if strip else part for part in self.parts[:-1]]

    @property
    def _parsed(self) -> tuple[str, float]:
        if self.front.fields.get("parse_number_prefixes") is False:
            return self.doc.path.stem, LAST
        return prefixed(self.doc.path.stem)


def prefixed(name: str) -> tuple[str, float]:
    """A name without the number that orders it, and the number; dates and versions are no such numbers."""
    found = None if _NOT_A_PREFIX.match(name) else _PREFIX.fullmatch(name)
    return (found["name"], float(found["number"])) if found else (name, LAST)


def site_page(
    path: Path, parts: tuple[str, ...], file: str, weaving: Weave | None = None
) -> tuple[SitePage | None, list[Notice]]:
    """The page at `path`; nothing where it is a draft, unlisted, or cannot be read."""
    doc, notices = load_doc(
        path,
        file,
        DOCUSAURUS,
        weave=weaving,
        unpublished=("draft", "unlisted"),
        titled=lambda front: not front.flag("hide_title"),
    )
    return (SitePage(doc, parts) if doc else None), notices
