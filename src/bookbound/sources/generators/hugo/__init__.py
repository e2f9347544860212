"""Reads a Hugo site: its published pages, section by section in Hugo's order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from bookbound.domain.document import Page, ParsedBook, SourceNotice
from bookbound.sources import files, titles
from bookbound.sources.generators.hugo.config import HugoSite, find_hugo_site, list_languages
from bookbound.sources.generators.hugo.page_source import expand_shortcodes, parse_date_field, parse_hugo_front_matter
from bookbound.sources.generators.hugo.permalinks import PageLocation
from bookbound.sources.includes import ExpandedSource, substitute
from bookbound.sources.markdown.dialect import HUGO_MARKDOWN
from bookbound.sources.markdown.front_matter import FrontMatter
from bookbound.sources.page_loader import LoadedPage, load_markdown_page
from bookbound.sources.titles import choose_book_title

_LATEST_TIMESTAMP = 1e12
_SortKey = tuple[bool, float, float, str]


@dataclass(slots=True)
class HugoSection:
    """A folder of the site: its own page, the pages in it, and the sections below."""

    name: str
    own: LoadedPage | None = None
    pages: list[tuple[str, LoadedPage]] = field(default_factory=list)
    sections: dict[str, HugoSection] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return (_link_title(self.own) if self.own else "") or titles.humanize_name(self.name)

    def put(self, relative: Path, doc: LoadedPage) -> None:
        """Give a page its place; that of a bundle stands where its folder does."""
        here, folders = self, relative.parts[:-1]
        leaf = relative.stem == "index" and folders
        for name in folders[:-1] if leaf else folders:
            here = here.sections.setdefault(name, HugoSection(name))
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

    def in_order(self) -> list[LoadedPage]:
        """The section's own page, then pages and sections by weight, the newest first, and by title."""
        docs: list[LoadedPage] = []
        waiting: list[HugoSection | LoadedPage] = [self]
        while waiting:
            item = waiting.pop()
            if isinstance(item, LoadedPage):
                docs.append(item)
                continue
            docs += [item.own] if item.own else []
            inside: list[tuple[_SortKey, HugoSection | LoadedPage]] = [
                (_sort_key(doc, _link_title(doc) or name), doc) for name, doc in item.pages
            ]
            inside += [(_sort_key(section.own, section.title), section) for section in item.sections.values()]
            waiting += [one for _, one in sorted(inside, key=lambda pair: pair[0], reverse=True)]
        return docs


def _link_title(doc: LoadedPage) -> str:
    return doc.front.text("linktitle") or doc.title


def _sort_key(doc: LoadedPage | None, title: str) -> _SortKey:
    """Weights count from one; what has none comes after, the newest before the older."""
    weight = (doc.front.number("weight") or 0.0) if doc else 0.0
    written = parse_date_field(doc.front, "date") if doc else None
    return (
        weight == 0,
        weight,
        _LATEST_TIMESTAMP - written.timestamp() if written else _LATEST_TIMESTAMP * 2,
        title.lower(),
    )


__all__ = ["is_hugo_source", "list_languages", "read_hugo"]
_PAGE_SUFFIXES = frozenset((".md", ".markdown", ".mdown"))
_NOT_RENDERED = (False, "never", "link")


def is_hugo_source(source: Path) -> bool:
    """Whether a configuration of Hugo stands beside a folder of content."""
    return files.is_folder(source) and find_hugo_site(source) is not None


def read_hugo(root: Path, language: str | None = None) -> ParsedBook:
    """The pages of the Hugo site at `root` that are published now, in its first language or in the named one."""
    site = find_hugo_site(root, language)
    if site is None:
        return ParsedBook(
            "", "hugo", (), (SourceNotice(".", "there is no configuration of Hugo beside a content folder"),)
        )
    paths, notices = files.find_files(site.content, _PAGE_SUFFIXES)
    others = [code for code in site.languages if code != site.language]
    if others:
        notices.append(
            SourceNotice(".", f"read in {site.language}; --edition reads another language: {', '.join(others)}")
        )
    top, now, changing = HugoSection(""), datetime.now(UTC), False
    docs: list[tuple[Path, LoadedPage]] = []
    for path, relative in _select_pages(site, paths, notices):
        doc = _load_page(site, path, notices)
        if doc is None:
            continue
        changing = changing or any(date and date > now for date in _publication_dates(doc.front))
        why = _unpublished_reason(doc.front, now)
        if why:
            notices.append(SourceNotice(doc.file, f"{why}; left out"))
        else:
            docs.append((relative, doc))
            top.put(relative, doc)
    pages: list[Page] = []
    places = {doc.file: relative for relative, doc in docs}
    for doc in top.in_order():
        relative = places[doc.file]
        placed = PageLocation(relative, doc.front, doc.title, top.above(relative))
        title = doc.title or titles.humanize_name(placed.name)
        section = top.sections.get(relative.parts[0])
        pages.append(doc.page(placed.address(site), title, section.title if section else title, len(pages)))
    title = site.settings.text("title") or choose_book_title(site.home, [top.own.setting] if top.own else [])
    return ParsedBook(title, "hugo", tuple(pages), tuple(notices), changing=changing)


def _select_pages(site: HugoSite, paths: Iterable[Path], notices: list[SourceNotice]) -> list[tuple[Path, Path]]:
    """The files that are pages in the site's language, each with its place; what else a bundle holds is none."""
    placed = [(path, site.placed(path)) for path in paths if site.holds(path)]
    bundles = {relative.parent for _, relative in placed if relative.stem == "index"} - {Path()}
    pages = []
    for path, relative in placed:
        folders = relative.parent.parents if relative.stem == "index" else (relative.parent, *relative.parent.parents)
        if bundles.isdisjoint(folders):
            pages.append((path, relative))
        else:
            notices.append(
                SourceNotice(path.relative_to(site.home).as_posix(), "belongs to a bundle, is no page; left out")
            )
    return pages


def _load_page(site: HugoSite, path: Path, notices: list[SourceNotice]) -> LoadedPage | None:
    """The page in a file, unless it is none that Hugo would ever publish."""

    def woven(source: str, path: Path, start: int) -> tuple[ExpandedSource, list[SourceNotice]]:
        return substitute(source, expand_shortcodes(source, parse_hugo_front_matter(source), site.settings)), []

    doc, odd = load_markdown_page(
        path,
        path.relative_to(site.home).as_posix(),
        HUGO_MARKDOWN,
        fields=parse_hugo_front_matter,
        weave=woven,
        unpublished=("draft", "headless"),
        titled=lambda front: True,
    )
    notices += odd
    return doc


def _publication_dates(front: FrontMatter) -> tuple[datetime | None, datetime | None]:
    """From when and until when Hugo publishes a page."""
    return parse_date_field(front, "publishdate") or parse_date_field(front, "date"), parse_date_field(
        front, "expirydate"
    )


def _unpublished_reason(front: FrontMatter, now: datetime) -> str:
    """Why Hugo does not publish a page now, or nothing."""
    begins, ends = _publication_dates(front)
    build = front.fields.get("build", front.fields.get("_build"))
    if isinstance(build, dict) and build.get("render") in _NOT_RENDERED:
        return "is never shown by itself"
    if begins and begins > now:
        return "is dated in the future"
    return "has expired" if ends and ends <= now else ""
