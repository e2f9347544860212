"""A Hugo site: its pages by weight, date and title, at their addresses."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from bookbound.book import Manuscript, Notice, Page
from bookbound.read import files
from bookbound.read.dialect import HUGO
from bookbound.read.doc import Doc, load_doc
from bookbound.read.frontmatter import FrontMatter
from bookbound.read.hugo.address import Placed
from bookbound.read.hugo.config import Site, find_site, languages
from bookbound.read.hugo.front import hugo_fields, moment
from bookbound.read.hugo.section import Section
from bookbound.read.hugo.shortcodes import swaps
from bookbound.read.titles import book_title
from bookbound.read.woven import Woven, weave

__all__ = ["knows_hugo", "languages", "read_hugo"]

_SUFFIXES = frozenset((".md", ".markdown", ".mdown"))
_UNSEEN = (False, "never", "link")


def knows_hugo(source: Path) -> bool:
    """Whether a configuration of Hugo stands beside a folder of content."""
    return files.is_folder(source) and find_site(source) is not None


def read_hugo(root: Path, language: str | None = None) -> Manuscript:
    """The pages of the Hugo site at `root` that are published now, in its first language or in the named one."""
    site = find_site(root, language)
    if site is None:
        return Manuscript("", "hugo", (), (Notice(".", "there is no configuration of Hugo beside a content folder"),))
    paths, notices = files.find(site.content, _SUFFIXES)
    others = [code for code in site.languages if code != site.language]
    if others:
        notices.append(Notice(".", f"read in {site.language}; --edition reads another language: {', '.join(others)}"))
    top, now, changing = Section(""), datetime.now(UTC), False
    docs: list[tuple[Path, Doc]] = []
    for path, relative in _pages(site, paths, notices):
        doc = _loaded(site, path, notices)
        if doc is None:
            continue
        changing = changing or any(date and date > now for date in _dates(doc.front))
        why = _unpublished(doc.front, now)
        if why:
            notices.append(Notice(doc.file, f"{why}; left out"))
        else:
            docs.append((relative, doc))
            top.put(relative, doc)
    pages: list[Page] = []
    places = {doc.file: relative for relative, doc in docs}
    for doc in top.in_order():
        relative = places[doc.file]
        placed = Placed(relative, doc.front, doc.title, top.above(relative))
        title = doc.title or files.readable(placed.name)
        section = top.sections.get(relative.parts[0])
        pages.append(doc.page(placed.address(site), title, section.title if section else title, len(pages)))
    title = site.settings.text("title") or book_title(site.home, [top.own.setting] if top.own else [])
    return Manuscript(title, "hugo", tuple(pages), tuple(notices), changing=changing)


def _pages(site: Site, paths: Iterable[Path], notices: list[Notice]) -> list[tuple[Path, Path]]:
    """The files that are pages in the site's language, each with its place; what else a bundle holds is none."""
    placed = [(path, site.placed(path)) for path in paths if site.holds(path)]
    bundles = {relative.parent for _, relative in placed if relative.stem == "index"} - {Path()}
    pages = []
    for path, relative in placed:
        folders = relative.parent.parents if relative.stem == "index" else (relative.parent, *relative.parent.parents)
        if bundles.isdisjoint(folders):
            pages.append((path, relative))
        else:
            notices.append(Notice(path.relative_to(site.home).as_posix(), "belongs to a bundle, is no page; left out"))
    return pages


def _loaded(site: Site, path: Path, notices: list[Notice]) -> Doc | None:
    """The page in a file, unless it is none that Hugo would ever publish."""

    def woven(source: str, path: Path, start: int) -> tuple[Woven, list[Notice]]:
        return weave(source, swaps(source, hugo_fields(source), site.settings)), []

    doc, odd = load_doc(
        path,
        path.relative_to(site.home).as_posix(),
        HUGO,
        fields=hugo_fields,
        weave=woven,
        unpublished=("draft", "headless"),
        titled=lambda front: True,
    )
    notices += odd
    return doc


def _dates(front: FrontMatter) -> tuple[datetime | None, datetime | None]:
    """From when and until when Hugo publishes a page."""
    return moment(front, "publishdate") or moment(front, "date"), moment(front, "expirydate")


def _unpublished(front: FrontMatter, now: datetime) -> str:
    """Why Hugo does not publish a page now, or nothing."""
    begins, ends = _dates(front)
    build = front.fields.get("build", front.fields.get("_build"))
    if isinstance(build, dict) and build.get("render") in _UNSEEN:
        return "is never shown by itself"
    if begins and begins > now:
        return "is dated in the future"
    return "has expired" if ends and ends <= now else ""
