"""A Docusaurus site: its pages at their routes, in the order of its generated sidebar."""

from __future__ import annotations

import json
import posixpath
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from bookbound.book import Manuscript, Notice, Page
from bookbound.read import decode, files, markdown
from bookbound.read.docusaurus_config import Site, find_site
from bookbound.read.folder import first_title
from bookbound.read.frontmatter import FrontMatter, front_matter, load
from bookbound.read.mask import DOCUSAURUS

_SUFFIXES = frozenset((".md", ".mdx"))
_NOT_A_PREFIX = re.compile(r"\d+[-_.]\d+")
_PREFIX = re.compile(r"(?P<number>\d+)\s*[-_.]+\s*(?P<name>[^-_.\s].*)")
_LAST = float("inf")


@dataclass(frozen=True, slots=True)
class _Doc:
    """One page as the site knows it."""

    path: Path
    parts: tuple[str, ...]
    source: str
    front: FrontMatter
    setting: markdown.Setting

    @property
    def name(self) -> str:
        return self.front.text("id") or self._parsed[0]

    @property
    def title(self) -> str:
        return self.front.text("title") or first_title(self.setting[0], self.setting[2]) or self.name

    @property
    def position(self) -> float:
        placed = self.front.number("sidebar_position")
        return placed if placed is not None else self._parsed[1]

    @property
    def leads(self) -> bool:
        """Whether this page is the one that its folder opens with."""
        stem = self.path.stem.lower()
        return stem in ("index", "readme") or (len(self.parts) > 1 and stem == self.parts[-2].lower())

    @property
    def slug(self) -> str:
        """The page's route below the documentation's."""
        slug = self.front.text("slug")
        if slug.startswith("/"):
            return slug
        strip = self.front.fields.get("parse_number_prefixes") is not False
        folders = [prefixed(part)[0] if strip else part for part in self.parts[:-1]]
        folder = "/" + "".join(f"{part}/" for part in folders)
        if self.leads and not slug:
            return folder
        return posixpath.normpath(posixpath.join(folder, slug or self.name))

    @property
    def _parsed(self) -> tuple[str, float]:
        if self.front.fields.get("parse_number_prefixes") is False:
            return self.path.stem, _LAST
        return prefixed(self.path.stem)


@dataclass(slots=True)
class _Category:
    """A folder of the sidebar."""

    name: str
    label: str = ""
    position: float = _LAST
    items: dict[str, _Category | _Doc] = field(default_factory=dict)

    def in_order(self, top: bool = False) -> list[_Doc]:
        """The pages as a reader meets them: the one that leads, then by position, then by name."""
        leading = [] if top else [item for item in self.items.values() if isinstance(item, _Doc) and item.leads][:1]
        rest = [(item.position, name, item) for name, item in self.items.items() if item not in leading]
        docs = list(leading)
        for _, _, item in sorted(rest, key=lambda entry: entry[:2]):
            docs += item.in_order() if isinstance(item, _Category) else [item]
        return docs


def read_docusaurus(root: Path) -> Manuscript | None:
    """The pages of the Docusaurus site at `root`; nothing where there is none."""
    site = find_site(root)
    if site is None:
        return None
    paths, notices = files.find(site.docs, _SUFFIXES)
    docs: list[_Doc] = []
    for path in paths:
        parts = path.relative_to(site.docs).parts
        if not any(part.startswith("_") for part in parts):
            doc, odd = _doc(path, parts, path.relative_to(root).as_posix())
            docs += [doc] if doc else []
            notices += odd
    if not docs:
        return None
    sidebar = _sidebar(site, docs, notices)
    pages = [_page(doc, site, root, sidebar, at) for at, doc in enumerate(sidebar.in_order(top=True))]
    return Manuscript(site.title or files.readable(root.resolve().name), "docusaurus", tuple(pages), tuple(notices))


def prefixed(name: str) -> tuple[str, float]:
    """A name without the number that orders it, and the number; dates and versions are no such numbers."""
    found = None if _NOT_A_PREFIX.match(name) else _PREFIX.fullmatch(name)
    return (found["name"], float(found["number"])) if found else (name, _LAST)


def _doc(path: Path, parts: tuple[str, ...], file: str) -> tuple[_Doc | None, list[Notice]]:
    source, notices = decode.load(path, file)
    if source is None:
        return None, notices
    front = front_matter(source)
    if front.broken:
        notices.append(Notice(file, "its front matter is not valid YAML; passed over"))
    for state in ("draft", "unlisted"):
        if front.flag(state):
            return None, [*notices, Notice(file, f"is marked {state}; left out")]
    title = None if front.flag("hide_title") else front.span("title", source)
    setting = markdown.typeset(source, DOCUSAURUS, front.end, title)
    if not setting[0]:
        return None, [*notices, Notice(file, "shows no words; left out")]
    return _Doc(path, parts, source, front, setting), notices


def _page(doc: _Doc, site: Site, root: Path, sidebar: _Category, position: int) -> Page:
    top = sidebar.items[doc.parts[0]]
    chapter = top.label if isinstance(top, _Category) else doc.title
    url = site.address(quote(doc.slug, safe="/:@&=+$,;!~*'()"))
    return Page(doc.path.relative_to(root).as_posix(), url, doc.title, chapter, position, doc.source, *doc.setting)


def _sidebar(site: Site, docs: list[_Doc], notices: list[Notice]) -> _Category:
    sidebar = _Category("")
    for doc in docs:
        here = sidebar
        for depth, part in enumerate(doc.parts[:-1], 1):
            inside = here.items.get(part)
            if not isinstance(inside, _Category):
                inside = here.items[part] = _category(site.docs.joinpath(*doc.parts[:depth]), docs, notices)
            here = inside
        here.items[doc.parts[-1]] = doc
    return sidebar


def _category(folder: Path, docs: list[_Doc], notices: list[Notice]) -> _Category:
    """A folder's label and position: its own file's, its leading page's, or its name's."""
    fields: object = None
    for name in ("_category_.json", "_category_.yml", "_category_.yaml"):
        if fields is None and (folder / name).is_file():
            text, odd = decode.load(folder / name, f"{folder.name}/{name}")
            notices += odd
            fields = _json(text or "") if name.endswith(".json") else load(text or "")
    own = FrontMatter(fields if isinstance(fields, dict) else {})
    lead = next((doc for doc in docs if doc.path.parent == folder and doc.leads), None)
    name, number = prefixed(folder.name)
    placed = own.number("position")
    if placed is None:
        placed = min(lead.position, _LAST) if lead and lead.position != _LAST else number
    label = own.text("label") or (lead and (lead.front.text("sidebar_label") or lead.title)) or files.readable(name)
    return _Category(folder.name, label, placed)


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
