"""Loads one Docusaurus page: its id, slug and position, and the partials that it imports."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from pathlib import Path

from bookbound.domain.document import SourceNotice
from bookbound.sources import files
from bookbound.sources.includes import MAX_INCLUDE_DEPTH, IncludeLoader, Substitution, blank_out_code, substitute
from bookbound.sources.markdown.dialect import DOCUSAURUS_MARKDOWN
from bookbound.sources.markdown.front_matter import FrontMatter, parse_front_matter
from bookbound.sources.page_builder import RenderedPage
from bookbound.sources.page_loader import IncludeExpander, LoadedPage, load_markdown_page

LAST_POSITION = float("inf")
_DATE_OR_VERSION = re.compile(r"\d+[-_.]\d+")
_NUMBER_PREFIX = re.compile(r"(?P<number>\d+)\s*[-_.]+\s*(?P<name>[^-_.\s].*)")


@dataclass(frozen=True, slots=True)
class DocusaurusPage:
    """A page and the folders above it in the documentation."""

    doc: LoadedPage
    parts: tuple[str, ...]

    @property
    def front(self) -> FrontMatter:
        return self.doc.front

    @property
    def setting(self) -> RenderedPage:
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
        return [split_number_prefix(part)[0] if strip else part for part in self.parts[:-1]]

    @property
    def _parsed(self) -> tuple[str, float]:
        if self.front.fields.get("parse_number_prefixes") is False:
            return self.doc.path.stem, LAST_POSITION
        return split_number_prefix(self.doc.path.stem)


def split_number_prefix(name: str) -> tuple[str, float]:
    """A name without the number that orders it, and the number; dates and versions are no such numbers."""
    found = None if _DATE_OR_VERSION.match(name) else _NUMBER_PREFIX.fullmatch(name)
    return (found["name"], float(found["number"])) if found else (name, LAST_POSITION)


def load_page(
    path: Path, parts: tuple[str, ...], file: str, weaving: IncludeExpander | None = None
) -> tuple[DocusaurusPage | None, list[SourceNotice]]:
    """The page at `path`; nothing where it is a draft, unlisted, or cannot be read."""
    doc, notices = load_markdown_page(
        path,
        file,
        DOCUSAURUS_MARKDOWN,
        weave=weaving,
        unpublished=("draft", "unlisted"),
        titled=lambda front: not front.flag("hide_title"),
    )
    return (DocusaurusPage(doc, parts) if doc else None), notices


_MDX_IMPORT = re.compile(
    r"""^import\s++(?P<name>[A-Z]\w*+)\s++from\s++(["'])(?P<target>[^"'\n]{1,500}\.mdx?)\2""", re.MULTILINE
)
_SITE_ALIAS = "@site/"
_MAX_PROPS_LENGTH = 1_000


class PartialResolver:
    """Finds partials beside a page or below the site's own folder, `home`."""

    def __init__(self, shelf: IncludeLoader, home: Path) -> None:
        self._shelf = shelf
        self._home = home

    def swaps(self, source: str, path: Path, start: int = 0, depth: int = 0) -> list[Substitution]:
        """The partials that the page at `path` shows from `start` on, each with its words."""
        plain = blank_out_code(source)
        targets = {found["name"]: found["target"] for found in _MDX_IMPORT.finditer(plain, start)}
        if not targets or depth >= MAX_INCLUDE_DEPTH:
            return []
        shown = re.compile(rf"<(?P<name>{'|'.join(targets)})\b(?P<props>[^<>]*+)(?:(?<=/)>|>\s*+</(?P=name)\s*+>)")
        return [
            Substitution(*found.span(), self._words(targets[found["name"]], path, found["props"], depth))
            for found in shown.finditer(plain, start)
        ]

    def _words(self, target: str, path: Path, props: str, depth: int) -> str:
        home, name = (
            (self._home, target[len(_SITE_ALIAS) :]) if target.startswith(_SITE_ALIAS) else (path.parent, target)
        )
        other = files.resolve_relative_path(home, name)
        text = self._shelf.text(other, target)
        if text is None or other is None:
            return ""
        body = text[parse_front_matter(text).end :]
        words = substitute(body, self.swaps(body, other, depth=depth + 1)).text
        # A component shows its words as blocks of their own.
        return f"\n\n{_fill_props(words, props)}\n\n"


def _fill_props(words: str, props: str) -> str:
    """The words with the strings that the component was given."""
    given = {found[1]: found[3] for found in re.finditer(r"""(\w++)=(["'])([^"']*+)\2""", props[:_MAX_PROPS_LENGTH])}

    def value(found: re.Match[str]) -> str:
        return given.get(found["name"], found[0])

    return re.sub(r"\{\s*+props\.(?P<name>\w++)\s*+\}", value, words)
