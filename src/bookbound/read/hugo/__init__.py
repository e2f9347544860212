"""A Hugo site: its pages by weight, date and title, at their addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from bookbound.book import Manuscript, Notice, Page
from bookbound.read import decode, files, toml
from bookbound.read.dialect import HUGO
from bookbound.read.doc import Doc, load_doc
from bookbound.read.frontmatter import FrontMatter, load, plain_json
from bookbound.read.hugo.front import hugo_fields, moment
from bookbound.read.titles import book_title
from bookbound.read.woven import Swap, Woven, weave

_SUFFIXES = frozenset((".md", ".markdown", ".mdown"))
_NAMES = ("hugo", "config", "config/_default/hugo", "config/_default/config")
_ENDINGS = (".toml", ".yaml", ".yml", ".json")
_HIGHLIGHT = re.compile(r"\{\{[<%]\s*(?P<end>/?)highlight(?:\s+(?P<language>\w+))?[^{}]*?[>%]\}\}")
_LATEST = 1e12
_Rank = tuple[bool, float, float, str]


@dataclass(slots=True)
class _Section:
    """A folder of the site: its own page, the pages in it, and the sections below."""

    name: str
    own: Doc | None = None
    pages: list[tuple[str, Doc]] = field(default_factory=list)
    sections: dict[str, _Section] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return (self.own.front.text("linktitle") or self.own.title if self.own else "") or files.readable(self.name)

    def in_order(self) -> list[Doc]:
        """The section's own page, then pages and sections by weight, the newest first, and by title."""
        docs: list[Doc] = []
        waiting: list[_Section | Doc] = [self]
        while waiting:
            item = waiting.pop()
            if isinstance(item, Doc):
                docs.append(item)
                continue
            docs += [item.own] if item.own else []
            inside: list[tuple[_Rank, _Section | Doc]] = [
                (_rank(doc, doc.title or name), doc) for name, doc in item.pages
            ]
            inside += [(_rank(section.own, section.title), section) for section in item.sections.values()]
            waiting += [one for _, one in sorted(inside, key=lambda pair: pair[0], reverse=True)]
        return docs


def knows_hugo(source: Path) -> bool:
    """Whether a configuration of Hugo stands beside a folder of content."""
    return files.is_folder(source) and _configuration(source) is not None


def read_hugo(root: Path) -> Manuscript:
    """The pages of the Hugo site at `root` that are published now."""
    found = _configuration(root)
    if found is None:
        return Manuscript("", "hugo", (), (Notice(".", "there is no configuration of Hugo beside a content folder"),))
    settings, content = found
    paths, notices = files.find(content, _SUFFIXES)
    top = _Section("")
    tops: dict[str, _Section] = {}
    for path in paths:
        relative = path.relative_to(content)
        doc, odd = load_doc(
            path,
            path.relative_to(root).as_posix(),
            HUGO,
            fields=hugo_fields,
            weave=_weave,
            unpublished=("draft", "headless"),
            titled=lambda front: True,
        )
        notices += odd
        late = _unpublished(doc.front) if doc else ""
        if doc and late:
            notices.append(Notice(doc.file, f"{late}; left out"))
        elif doc:
            _put(top, relative, doc)
            tops[doc.file] = top.sections.get(relative.parts[0], top)
    pages: list[Page] = []
    for doc in top.in_order():
        title = doc.title or files.readable(doc.path.parent.name if _bundled(doc.path) else doc.path.stem)
        section = tops[doc.file]
        address = _address(settings, doc.path.relative_to(content), doc.front)
        pages.append(doc.page(address, title, section.title if section is not top else title, len(pages)))
    title = settings.text("title") or book_title(root, [top.own.setting] if top.own else [])
    return Manuscript(title, "hugo", tuple(pages), tuple(notices))


def _put(top: _Section, relative: Path, doc: Doc) -> None:
    here = top
    folders = relative.parts[:-1]
    leaf = relative.stem == "index" and folders
    for name in folders[:-1] if leaf else folders:
        here = here.sections.setdefault(name, _Section(name))
    if relative.stem == "_index":
        here.own = doc
    else:
        here.pages.append((folders[-1] if leaf else relative.stem, doc))


def _rank(doc: Doc | None, title: str) -> _Rank:
    """Weights count from one; what has none comes after, the newest before the older."""
    weight = (doc.front.number("weight") or 0.0) if doc else 0.0
    written = moment(doc.front, "date") if doc else None
    return (weight == 0, weight, _LATEST - written.timestamp() if written else _LATEST * 2, title.lower())


def _unpublished(front: FrontMatter) -> str:
    """Why Hugo does not publish a page today, or nothing."""
    now = datetime.now(UTC)
    begins, ends = moment(front, "publishdate") or moment(front, "date"), moment(front, "expirydate")
    build = front.fields.get("build", front.fields.get("_build"))
    if isinstance(build, dict) and build.get("render") in (False, "never"):
        return "is never shown by itself"
    if begins and begins > now:
        return "is dated in the future"
    return "has expired" if ends and ends <= now else ""


def _bundled(path: Path) -> bool:
    return path.stem in ("index", "_index")


def _address(settings: FrontMatter, relative: Path, front: FrontMatter) -> str:
    """A page's address: what its author wrote, or its path in lower case with hyphens for spaces."""
    own = front.text("url")
    folders = relative.parts[:-1]
    names = [*folders] if _bundled(relative) else [*folders, relative.stem]
    slug = front.text("slug")
    if slug and names and relative.stem != "_index":
        names[-1] = slug
    path = "/".join(re.sub(r"\s+", "-", name.strip()) for name in names)
    if settings.fields.get("disablepathtolower") is not True:
        path = path.lower()
    ugly = settings.flag("uglyurls") and names and not _bundled(relative)
    path = own.lstrip("/") if own else f"{path}.html" if ugly else f"{path}/" if path else ""
    return settings.text("baseurl").rstrip("/") + "/" + quote(path)


def _weave(source: str, path: Path, start: int) -> tuple[Woven, list[Notice]]:
    """Code between two `highlight` shortcodes is code."""
    swaps = [
        Swap(*found.span(), "```" if found["end"] else f"```{found['language'] or ''}")
        for found in _HIGHLIGHT.finditer(source, start)
    ]
    return weave(source, swaps), []


def _configuration(root: Path) -> tuple[FrontMatter, Path] | None:
    for name in (f"{stem}{ending}" for stem in _NAMES for ending in _ENDINGS):
        if files.is_file(root / name):
            text, _ = decode.load(root / name, name, decode.LARGEST_SETTINGS)
            settings = FrontMatter(_lowered(text or "", name))
            content = files.beside(root, settings.text("contentdir") or "content")
            if content and files.is_folder(content) and files.is_inside(content, root):
                return settings, content
    return None


def _lowered(text: str, name: str) -> dict[str, object]:
    try:
        read: object = toml.loads(text) if name.endswith(".toml") else None
    except (ValueError, RecursionError):
        read = None
    if not name.endswith(".toml"):
        read = plain_json(text) if name.endswith(".json") else load(text)
    return {str(key).lower(): value for key, value in read.items()} if isinstance(read, dict) else {}
