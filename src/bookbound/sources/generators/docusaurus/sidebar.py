"""Orders Docusaurus pages by the author's sidebars or by the sidebar generated from the folders."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from bookbound.sources import file_loader, files, titles
from bookbound.sources.generators import find_file
from bookbound.sources.generators.docusaurus.config import CURRENT_VERSION, DocusaurusSite
from bookbound.sources.generators.docusaurus.javascript_literals import JavaScriptFile
from bookbound.sources.generators.docusaurus.site_pages import LAST_POSITION, DocusaurusPage, split_number_prefix
from bookbound.sources.safe_config import ConfigFields, load_config

_SIDEBAR_FILES = ("sidebars.js", "sidebars.ts", "sidebars.json", "sidebars.mjs", "sidebars.cjs")
_CATEGORY_FILES = ("_category_.json", "_category_.yml", "_category_.yaml")
_VERSION_PREFIX = re.compile(r"^version-[^/]*/")
_MAX_DEPTH = 50


class SidebarEntry(NamedTuple):
    """A page and its chapter."""

    page: DocusaurusPage
    chapter: str


@dataclass(slots=True)
class SidebarCategory:
    """A folder of the generated sidebar; `link` is the id of the page that its category file opens with."""

    label: str = ""
    position: float = LAST_POSITION
    link: str = ""
    items: dict[str, SidebarCategory | DocusaurusPage] = field(default_factory=dict)

    def entries(self) -> Iterator[SidebarEntry]:
        """Yield the pages with their chapters; a page at the top is its own chapter."""
        for item in self._sorted_items(is_top=True):
            if isinstance(item, DocusaurusPage):
                yield SidebarEntry(item, item.title)
            else:
                yield from (SidebarEntry(page, item.label) for page in item._pages())

    def find_folder(self, folder: str) -> SidebarCategory | None:
        here: SidebarCategory | DocusaurusPage | None = self
        for part in folder.split("/"):
            if part not in ("", "."):
                here = here.items.get(part) if isinstance(here, SidebarCategory) else None
        return here if isinstance(here, SidebarCategory) else None

    def _pages(self) -> Iterator[DocusaurusPage]:
        """Yield the pages at any depth: the index page first, then by position, then by name."""
        stack: list[SidebarCategory | DocusaurusPage] = [self]
        while stack:
            item = stack.pop()
            if isinstance(item, DocusaurusPage):
                yield item
            else:
                stack += reversed(item._sorted_items())

    def _sorted_items(self, is_top: bool = False) -> list[SidebarCategory | DocusaurusPage]:
        def is_index(item: SidebarCategory | DocusaurusPage) -> bool:
            if is_top or not isinstance(item, DocusaurusPage):
                return False
            return item.id == self.link if self.link else item.is_folder_index

        items = sorted(self.items.items(), key=lambda pair: (not is_index(pair[1]), pair[1].position, pair[0]))
        return [item for _, item in items]


def load_sidebars(site: DocusaurusSite, version: str) -> tuple[dict[str, object] | None, str]:
    """Load the author's sidebars for a version and their file name; they are empty if they are not plain data."""
    chosen = site.options.get("sidebarPath")
    if version != CURRENT_VERSION:
        path = find_file(site.home / f"{site.prefix}versioned_sidebars", [f"version-{version}-sidebars.json"])
    elif isinstance(chosen, str):
        path = files.resolve_relative_path(site.home, chosen)
    else:
        path = None if chosen is False or site.id else find_file(site.home, _SIDEBAR_FILES)
    if path is None or not files.is_file(path) or not files.is_inside(path, site.home):
        return None, ""
    if path.suffix == ".json":
        sidebars = load_config(path)
    else:
        sidebars = JavaScriptFile(file_loader.load_config_text(path) or "").exported_value()
    return (sidebars if isinstance(sidebars, dict) else {}), path.name


def generate_sidebar(docs: Path, pages: list[DocusaurusPage]) -> SidebarCategory:
    """Generate a sidebar from the folders of the documentation."""
    sidebar = SidebarCategory()
    indexes = {page.loaded.path.parent: page for page in reversed(pages) if page.is_folder_index}
    for page in pages:
        here = sidebar
        for depth, part in enumerate(page.parts[:-1], 1):
            child = here.items.get(part)
            if not isinstance(child, SidebarCategory):
                folder = docs.joinpath(*page.parts[:depth])
                child = here.items[part] = _load_category(folder, indexes.get(folder))
            here = child
        here.items[page.parts[-1]] = page
    return sidebar


def _load_category(folder: Path, index: DocusaurusPage | None) -> SidebarCategory:
    """Take a folder's label and position from its category file, its index page or its name."""
    config = find_file(folder, _CATEGORY_FILES)
    fields = ConfigFields.of(load_config(config) if config else None)
    name, number = split_number_prefix(folder.name)
    position = fields.number("position")
    if position is None:
        position = index.position if index and index.position != LAST_POSITION else number
    label = fields.text("label") or (index.label if index else titles.humanize_name(name))
    return SidebarCategory(label, position, fields.section("link").text("id"))


def walk_sidebars(
    sidebars: dict[str, object], pages: list[DocusaurusPage], generated: SidebarCategory
) -> Iterator[SidebarEntry]:
    """Yield the pages of the author's sidebars, one sidebar after the other."""
    by_id = {page.id: page for page in pages}
    stack: list[tuple[object, str, int]] = [(items, "", 0) for items in reversed(list(sidebars.values()))]
    while stack:
        item, chapter, depth = stack.pop()
        if isinstance(item, list):
            stack += [(one, chapter, depth) for one in reversed(item)]
        elif isinstance(item, str):
            if page := by_id.get(_VERSION_PREFIX.sub("", item)):
                yield SidebarEntry(page, chapter or page.label)
        elif isinstance(item, dict) and depth < _MAX_DEPTH:
            fields, kind = ConfigFields(item), item.get("type")
            chapter = chapter or fields.text("label")
            if kind == "doc":
                stack.append((fields.text("id"), chapter, depth))
            elif kind == "category":
                stack += [(one, chapter, depth + 1) for one in (item.get("items"), fields.section("link").text("id"))]
            elif kind == "autogenerated":
                folder = generated.find_folder(fields.text("dirName"))
                for entry in folder.entries() if folder else ():
                    yield SidebarEntry(entry.page, chapter or entry.chapter)
            elif kind is None:
                stack += [(items, chapter or str(label), depth + 1) for label, items in reversed(item.items())]
