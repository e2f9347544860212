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
from bookbound.sources.page_loader import LoadedPage, load_markdown_page, parse_front_matter

LAST_POSITION = float("inf")
_DATE_OR_VERSION = re.compile(r"\d+[-_.]\d+")
_NUMBER_PREFIX = re.compile(r"(?P<number>\d+)\s*[-_.]+\s*(?P<name>[^-_.\s].*)")
_MDX_IMPORT = re.compile(
    r"""^import\s++(?P<name>[A-Z]\w*+)\s++from\s++(["'])(?P<target>[^"'\n]{1,500}\.mdx?)\2""", re.MULTILINE
)
_PROP = re.compile(r"""(\w++)=(["'])([^"']*+)\2""")
_PROP_USE = re.compile(r"\{\s*+props\.(?P<name>\w++)\s*+\}")
_MAX_PROPS_LENGTH = 1_000
_SITE_ALIAS = "@site/"


@dataclass(frozen=True, slots=True)
class DocusaurusPage:
    """A page, its path below the documentation folder, and its place in routes and sidebars.

    `id` is its name in sidebars, `slug` its route below that of the documentation.
    """

    loaded: LoadedPage
    parts: tuple[str, ...]
    id: str
    slug: str
    title: str
    label: str
    position: float
    is_home: bool
    is_folder_index: bool


def load_docusaurus_page(
    path: Path, parts: tuple[str, ...], file: str, partials: PartialResolver
) -> tuple[DocusaurusPage | None, list[SourceNotice]]:
    """Load the page at `path`, or nothing if it is a draft, unlisted or unreadable."""
    loaded, notices = load_markdown_page(
        path,
        file,
        DOCUSAURUS_MARKDOWN,
        find_includes=partials.find_includes,
        includes=partials.includes,
        unpublished=("draft", "unlisted"),
        shows_title=lambda front: not front.flag("hide_title"),
    )
    return (_build_page(loaded, parts) if loaded else None), notices


def _build_page(loaded: LoadedPage, parts: tuple[str, ...]) -> DocusaurusPage:
    front, stem = loaded.front_matter, loaded.path.stem
    has_prefixes = front.get("parse_number_prefixes") is not False
    split = split_number_prefix if has_prefixes else lambda part: (part, LAST_POSITION)
    *folders, (name, number) = map(split, (*parts[:-1], stem))
    name = front.text("id") or name
    title = loaded.title or name
    position = front.number("sidebar_position")
    is_folder_index = stem.lower() in ("index", "readme", *(part.lower() for part in parts[-2:-1]))
    folder = "/" + "".join(f"{part}/" for part, _ in folders)
    slug = front.text("slug")
    if not slug.startswith("/"):
        is_folder = is_folder_index and not slug
        slug = folder if is_folder else posixpath.normpath(posixpath.join(folder, slug or name))
    return DocusaurusPage(
        loaded,
        parts,
        id=folder[1:] + name,
        slug=slug,
        title=title,
        label=front.text("sidebar_label") or title,
        position=number if position is None else position,
        is_home=slug == "/" or (len(parts) == 1 and name.lower() in ("intro", "introduction")),
        is_folder_index=is_folder_index,
    )


def split_number_prefix(name: str) -> tuple[str, float]:
    """Split a name into the name proper and the number that orders it; dates and versions are part of the name."""
    match = None if _DATE_OR_VERSION.match(name) else _NUMBER_PREFIX.fullmatch(name)
    return (match["name"], float(match["number"])) if match else (name, LAST_POSITION)


class PartialResolver:
    """Finds the partials that a page imports, relative to the page or to the site's folder."""

    def __init__(self, includes: IncludeLoader, home: Path) -> None:
        self.includes = includes
        self._home = home

    def find_includes(self, source: str, path: Path, start: int = 0, depth: int = 0) -> list[Substitution]:
        """Find the partials that the page at `path` shows after `start`, with their text."""
        plain = blank_out_code(source)
        targets = {match["name"]: match["target"] for match in _MDX_IMPORT.finditer(plain, start)}
        if not targets or depth >= MAX_INCLUDE_DEPTH:
            return []
        tags = re.compile(rf"<(?P<name>{'|'.join(targets)})\b(?P<props>[^<>]*+)(?:(?<=/)>|>\s*+</(?P=name)\s*+>)")
        return [
            Substitution(*match.span(), self._load_partial(targets[match["name"]], path, match["props"], depth))
            for match in tags.finditer(plain, start)
        ]

    def _load_partial(self, target: str, path: Path, props: str, depth: int) -> str:
        base = self._home if target.startswith(_SITE_ALIAS) else path.parent
        file = files.resolve_relative_path(base, target.removeprefix(_SITE_ALIAS))
        text = self.includes.load(file, target)
        if text is None or file is None:
            return ""
        body = text[parse_front_matter(text).end :]
        body = substitute(body, self.find_includes(body, file, depth=depth + 1)).text
        values = {match[1]: match[3] for match in _PROP.finditer(props[:_MAX_PROPS_LENGTH])}
        body = _PROP_USE.sub(lambda match: values.get(match["name"], match[0]), body)
        # A component shows its text as separate blocks.
        return f"\n\n{body}\n\n"
