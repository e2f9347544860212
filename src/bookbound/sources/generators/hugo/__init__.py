"""Reads a Hugo site: its published pages, section by section in Hugo's order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from bookbound.domain.document import Page, ParsedBook, SourceNotice
from bookbound.sources import files, titles
from bookbound.sources.generators.hugo.config import HugoSite, find_hugo_site
from bookbound.sources.generators.hugo.page_source import (
    PageLocation,
    expand_shortcodes,
    parse_date_field,
    parse_hugo_front_matter,
)
from bookbound.sources.markdown.dialect import HUGO_MARKDOWN
from bookbound.sources.page_loader import FrontMatter, LoadedPage, load_markdown_page

_PAGE_SUFFIXES = frozenset((".md", ".markdown", ".mdown"))
_NOT_RENDERED = (False, "never", "link")
# Later than any date, so that newer pages have smaller keys and those without a date the largest.
_LATEST_TIMESTAMP = 1e12
_SortKey = tuple[bool, float, float, str]


@dataclass(slots=True)
class HugoSection:
    """A folder of the site: its index page, its other pages by name, and the sections inside it."""

    name: str
    index: LoadedPage | None = None
    pages: list[tuple[str, LoadedPage]] = field(default_factory=list)
    sections: dict[str, HugoSection] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return (_link_title(self.index) if self.index else "") or titles.humanize_name(self.name)

    def add(self, relative: Path, page: LoadedPage) -> None:
        """Add a page to its section; a page bundle counts as a page of the folder that contains it."""
        here, folders = self, relative.parts[:-1]
        is_bundle = relative.stem == "index" and folders
        for name in folders[:-1] if is_bundle else folders:
            here = here.sections.setdefault(name, HugoSection(name))
        if relative.stem == "_index":
            here.index = page
        else:
            here.pages.append((folders[-1] if is_bundle else relative.stem, page))

    def sections_above(self, relative: Path) -> tuple[str, ...]:
        """Return the folders above a page that are sections: the first one, and those with an index page."""
        folders = relative.parts[:-1][: -1 if relative.stem == "index" else None]
        here, deepest = self, 1
        for depth, name in enumerate(folders, 1):
            here = here.sections[name]
            deepest = depth if here.index else deepest
        return folders[:deepest]

    def walk(self) -> Iterator[LoadedPage]:
        """Yield the index page, then pages and sections by weight, date (newest first) and title."""
        stack: list[HugoSection | LoadedPage] = [self]
        while stack:
            item = stack.pop()
            if isinstance(item, LoadedPage):
                yield item
                continue
            if item.index:
                yield item.index
            children: list[tuple[_SortKey, HugoSection | LoadedPage]] = [
                (_sort_key(page, _link_title(page) or name), page) for name, page in item.pages
            ]
            children += [(_sort_key(section.index, section.title), section) for section in item.sections.values()]
            stack += [child for _, child in sorted(children, key=lambda pair: pair[0], reverse=True)]


def _link_title(page: LoadedPage) -> str:
    return page.front_matter.text("linktitle") or page.title


def _sort_key(page: LoadedPage | None, title: str) -> _SortKey:
    """Pages with a weight come first, then the newest; to Hugo, 0 is no weight."""
    weight = (page.front_matter.number("weight") or 0.0) if page else 0.0
    date = parse_date_field(page.front_matter, "date") if page else None
    age = _LATEST_TIMESTAMP - date.timestamp() if date else _LATEST_TIMESTAMP * 2
    return weight == 0, weight, age, title.lower()


def is_hugo_source(source: Path) -> bool:
    return files.is_folder(source) and find_hugo_site(source) is not None


def list_languages(source: Path) -> list[str]:
    """List the languages of the site, the default one first."""
    site = find_hugo_site(source)
    return list(site.languages) if site else []


def read_hugo(root: Path, language: str | None = None) -> ParsedBook:
    """Read the pages of the site that are published now, in the named or the default language."""
    site = find_hugo_site(root, language)
    if site is None:
        notice = SourceNotice(".", "has no Hugo configuration next to a content folder")
        return ParsedBook("", "hugo", (), (notice,))
    paths, notices = files.find_files(site.content, _PAGE_SUFFIXES)
    others = [code for code in site.languages if code != site.language]
    if others:
        message = f"read in {site.language}; --edition reads another language: {', '.join(others)}"
        notices.append(SourceNotice(".", message))
    top, now, is_volatile = HugoSection(""), datetime.now(UTC), False
    locations: dict[str, Path] = {}
    for path, relative in list(_select_pages(site, paths, notices)):
        loaded, page_notices = load_markdown_page(
            path,
            path.relative_to(site.home).as_posix(),
            HUGO_MARKDOWN,
            parse_front=parse_hugo_front_matter,
            find_includes=lambda source, *_: expand_shortcodes(source, parse_hugo_front_matter(source), site.settings),
            unpublished=("draft", "headless"),
            shows_title=lambda front: True,
        )
        notices += page_notices
        if loaded is None:
            continue
        start, end = _publication_dates(loaded.front_matter)
        is_volatile = is_volatile or any(date and date > now for date in (start, end))
        reason = _unpublished_reason(loaded.front_matter, now)
        if reason:
            notices.append(SourceNotice(loaded.file, f"{reason}; left out"))
        else:
            locations[loaded.file] = relative
            top.add(relative, loaded)
    pages: list[Page] = []
    for loaded in top.walk():
        relative = locations[loaded.file]
        location = PageLocation(relative, loaded.front_matter, loaded.title, top.sections_above(relative))
        title = loaded.title or titles.humanize_name(location.name)
        section = top.sections.get(relative.parts[0])
        pages.append(loaded.make_page(location.url(site), title, section.title if section else title, len(pages)))
    homes = [top.index.rendered] if top.index else []
    title = site.settings.text("title") or titles.choose_book_title(site.home, homes)
    return ParsedBook(title, "hugo", tuple(pages), tuple(notices), is_volatile=is_volatile)


def _select_pages(site: HugoSite, paths: Iterable[Path], notices: list[SourceNotice]) -> Iterator[tuple[Path, Path]]:
    """Yield the pages in the site's language with their relative paths; other files of a bundle are not pages."""
    candidates = [(path, site.relative_path(path)) for path in paths if site.contains(path)]
    bundles = {relative.parent for _, relative in candidates if relative.stem == "index"} - {Path()}
    for path, relative in candidates:
        folders = relative.parent.parents if relative.stem == "index" else (relative.parent, *relative.parent.parents)
        if bundles.isdisjoint(folders):
            yield path, relative
        else:
            notices.append(SourceNotice(path.relative_to(site.home).as_posix(), "is part of a page bundle; left out"))


def _publication_dates(front: FrontMatter) -> tuple[datetime | None, datetime | None]:
    start = parse_date_field(front, "publishdate") or parse_date_field(front, "date")
    return start, parse_date_field(front, "expirydate")


def _unpublished_reason(front: FrontMatter, now: datetime) -> str:
    start, end = _publication_dates(front)
    build = front.section("build" if "build" in front.fields else "_build")
    if build.get("render") in _NOT_RENDERED:
        return "is never rendered"
    if start and start > now:
        return "has a date in the future"
    return "has expired" if end and end <= now else ""
