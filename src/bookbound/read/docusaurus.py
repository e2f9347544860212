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
from bookbound.read.docusaurus_config import Site
from bookbound.read.frontmatter import FrontMatter, front_matter, load
from bookbound.read.galley import Setting
from bookbound.read.mask import DOCUSAURUS
from bookbound.read.titles import book_title, first_title

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
    file: str
    setting: Setting

    @property
    def name(self) -> str:
        return self.front.text("id") or self._parsed[0]

    @property
    def title(self) -> str:
        return self.front.text("title") or first_title(self.setting) or self.name

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

    def in_order(self) -> list[_Doc]:
        """The pages as a reader meets them: the one that leads, then by position, then by name."""
        docs: list[_Doc] = []
        waiting = self._sorted(top=True)
        while waiting:
            item = waiting.pop()
            if isinstance(item, _Doc):
                docs.append(item)
            else:
                waiting += item._sorted()
        return docs

    def _sorted(self, top: bool = False) -> list[_Category | _Doc]:
        """What stands in this folder itself, the last first."""
        leads = [name for name, item in self.items.items() if isinstance(item, _Doc) and item.leads and not top][:1]
        names = sorted(self.items, key=lambda name: (name not in leads, self.items[name].position, name))
        return [self.items[name] for name in reversed(names)]


def read_docusaurus(root: Path, site: Site) -> Manuscript:
    """The pages of the Docusaurus site that was found at `root`."""
    paths, notices = files.find(site.docs, _SUFFIXES)
    above = root if site.docs.is_relative_to(root) else site.docs.parent
    docs: list[_Doc] = []
    for path in paths:
        parts = path.relative_to(site.docs).parts
        if not any(part.startswith("_") for part in parts):
            doc, odd = _doc(path, parts, path.relative_to(above).as_posix())
            docs += [doc] if doc else []
            notices += odd
    sidebar = _sidebar(site, docs, notices)
    ordered = sidebar.in_order()
    pages = [_page(doc, site, sidebar, at) for at, doc in enumerate(ordered)]
    title = site.title or book_title(root, [doc.setting for doc in ordered if doc.opens])
    return Manuscript(title, "docusaurus", tuple(pages), tuple(notices))


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
        notices.append(Notice(file, "its front matter is not plain YAML; passed over"))
    for state in ("draft", "unlisted"):
        if front.flag(state):
            return None, [*notices, Notice(file, f"is marked {state}; left out")]
    title = None if front.flag("hide_title") else front.span("title", source)
    setting = markdown.typeset(source, DOCUSAURUS, front.end, title)
    if not setting.text:
        return None, [*notices, Notice(file, "shows no words; left out")]
    return _Doc(path, parts, source, front, file, setting), notices


def _page(doc: _Doc, site: Site, sidebar: _Category, position: int) -> Page:
    top = sidebar.items[doc.parts[0]]
    chapter = top.label if isinstance(top, _Category) else doc.title
    url = site.address(quote(doc.slug, safe="/:@&=+$,;!~*'()"))
    return Page(doc.file, url, doc.title, chapter, position, doc.source, *doc.setting)


def _sidebar(site: Site, docs: list[_Doc], notices: list[Notice]) -> _Category:
    sidebar = _Category("")
    leads = {doc.path.parent: doc for doc in reversed(docs) if doc.leads}
    for doc in docs:
        here = sidebar
        for depth, part in enumerate(doc.parts[:-1], 1):
            inside = here.items.get(part)
            if not isinstance(inside, _Category):
                folder = site.docs.joinpath(*doc.parts[:depth])
                inside = here.items[part] = _category(folder, leads.get(folder), notices)
            here = inside
        here.items[doc.parts[-1]] = doc
    return sidebar


def _category(folder: Path, lead: _Doc | None, notices: list[Notice]) -> _Category:
    """A folder's label and position: its own file's, its leading page's, or its name's."""
    fields: object = None
    for name in ("_category_.json", "_category_.yml", "_category_.yaml"):
        if fields is None and files.is_file(folder / name):
            text, odd = decode.load(folder / name, f"{folder.name}/{name}", decode.LARGEST_SETTINGS)
            notices += odd
            fields = _json(text or "") if name.endswith(".json") else load(text or "")
    own = FrontMatter(fields if isinstance(fields, dict) else {})
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
