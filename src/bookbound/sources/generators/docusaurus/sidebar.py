"""Orders Docusaurus pages by the author's sidebars or by the sidebar generated from the folders."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from bookbound.domain.document import SourceNotice
from bookbound.sources import decoding, files, titles
from bookbound.sources.generators.docusaurus.config import CURRENT_VERSION, DocusaurusSite, instance_prefix
from bookbound.sources.generators.docusaurus.javascript_literals import JavaScriptFile
from bookbound.sources.generators.docusaurus.site_pages import LAST_POSITION, DocusaurusPage, split_number_prefix
from bookbound.sources.markdown.front_matter import FrontMatter
from bookbound.sources.safe_config import parse_json, parse_yaml

_SIDEBAR_FILES = ("sidebars.js", "sidebars.ts", "sidebars.json", "sidebars.mjs", "sidebars.cjs")


def load_sidebars(site: DocusaurusSite, version: str) -> tuple[dict[str, object] | None, str]:
    """The sidebars that an author wrote for a version, and the file; nothing where that is no plain data."""
    if site.home is None:
        return None, ""
    if version != CURRENT_VERSION:
        path = site.home / f"{instance_prefix(site)}versioned_sidebars" / f"version-{version}-sidebars.json"
        named = [path]
    else:
        own = site.options.get("sidebarPath")
        if own is False:
            return None, ""
        given = files.resolve_relative_path(site.home, own) if isinstance(own, str) else None
        named = [given] if given else [site.home / name for name in _SIDEBAR_FILES if not site.id]
    found = next((path for path in named if files.is_file(path) and files.is_inside(path, site.home)), None)
    if found is None:
        return None, ""
    text, _ = decoding.load_text(found, found.name, decoding.MAX_CONFIG_BYTES)
    value = parse_json(text or "") if found.suffix == ".json" else JavaScriptFile(text or "").exported()
    return (value if isinstance(value, dict) else {}), found.name


_MAX_DEPTH = 50
_VERSION_PREFIX = re.compile(r"^version-[^/]*/")


class SidebarEntry(NamedTuple):
    """A page with the chapter that the sidebar puts it in."""

    page: DocusaurusPage
    chapter: str


@dataclass(slots=True)
class SidebarCategory:
    """A folder of the generated sidebar; `link` is the page that its own file says it opens with."""

    label: str = ""
    position: float = LAST_POSITION
    link: str = ""
    items: dict[str, SidebarCategory | DocusaurusPage] = field(default_factory=dict)

    def in_order(self) -> list[DocusaurusPage]:
        """The pages as a reader meets them: the one that leads, then by position, then by name."""
        pages: list[DocusaurusPage] = []
        waiting = self.entries()[::-1]
        while waiting:
            item = waiting.pop()
            if isinstance(item, DocusaurusPage):
                pages.append(item)
            else:
                waiting += item.entries()[::-1]
        return pages

    def entries(self, top: bool = False) -> list[SidebarCategory | DocusaurusPage]:
        """What stands in this folder itself."""
        names = sorted(
            self.items,
            key=lambda name: (top or not self._leads(self.items[name]), self.items[name].position, name),
        )
        return [self.items[name] for name in names]

    def _leads(self, item: SidebarCategory | DocusaurusPage) -> bool:
        return isinstance(item, DocusaurusPage) and (item.id == self.link if self.link else item.leads)

    def placed(self) -> Iterator[SidebarEntry]:
        """The pages with their chapters: a page at the top is its own."""
        for item in self.entries(top=True):
            if isinstance(item, DocusaurusPage):
                yield SidebarEntry(item, item.title)
            else:
                yield from (SidebarEntry(page, item.label) for page in item.in_order())

    def below(self, folder: str) -> SidebarCategory | None:
        """The category of a folder that a sidebar names."""
        here: SidebarCategory | DocusaurusPage | None = self
        for part in folder.split("/"):
            if part not in ("", "."):
                here = here.items.get(part) if isinstance(here, SidebarCategory) else None
        return here if isinstance(here, SidebarCategory) else None


def generate_sidebar(docs: Path, pages: list[DocusaurusPage], notices: list[SourceNotice]) -> SidebarCategory:
    """The sidebar that is made from the folders of the documentation."""
    sidebar = SidebarCategory()
    leads = {page.doc.path.parent: page for page in reversed(pages) if page.leads}
    for page in pages:
        here = sidebar
        for depth, part in enumerate(page.parts[:-1], 1):
            inside = here.items.get(part)
            if not isinstance(inside, SidebarCategory):
                folder = docs.joinpath(*page.parts[:depth])
                inside = here.items[part] = _load_category(folder, leads.get(folder), notices)
            here = inside
        here.items[page.parts[-1]] = page
    return sidebar


def walk_sidebars(
    sidebars: dict[str, object], pages: list[DocusaurusPage], tree: SidebarCategory
) -> Iterator[SidebarEntry]:
    """The pages of the sidebars that an author wrote, one sidebar after the other."""
    known = {page.id: page for page in pages}
    waiting: list[tuple[object, str, int]] = [(items, "", 0) for items in reversed(list(sidebars.values()))]
    while waiting:
        item, chapter, depth = waiting.pop()
        if isinstance(item, list):
            waiting += [(one, chapter, depth) for one in reversed(item)]
        elif isinstance(item, str) and (page := known.get(_VERSION_PREFIX.sub("", item))):
            yield SidebarEntry(page, chapter or page.label)
        elif isinstance(item, dict) and depth < _MAX_DEPTH:
            fields, kind = FrontMatter(item), item.get("type")
            if kind in ("doc", "ref"):
                page = known.get(_VERSION_PREFIX.sub("", fields.text("id"))) if kind == "doc" else None
                if page:
                    yield SidebarEntry(page, chapter or fields.text("label") or page.label)
            elif kind == "category":
                link = item.get("link")
                opening = [link["id"]] if isinstance(link, dict) and isinstance(link.get("id"), str) else []
                waiting += [(one, chapter or fields.text("label"), depth + 1) for one in (item.get("items"), *opening)]
            elif kind == "autogenerated":
                folder = tree.below(fields.text("dirName"))
                for placed in folder.placed() if folder else ():
                    yield SidebarEntry(placed.page, chapter or placed.chapter)
            elif kind is None:
                waiting += [(items, chapter or str(label), depth + 1) for label, items in reversed(item.items())]


def _load_category(folder: Path, lead: DocusaurusPage | None, notices: list[SourceNotice]) -> SidebarCategory:
    """A folder's label and position: its own file's, its leading page's, or its name's."""
    fields: object = None
    for name in ("_category_.json", "_category_.yml", "_category_.yaml"):
        if fields is None and files.is_file(folder / name):
            text, odd = decoding.load_text(folder / name, f"{folder.name}/{name}", decoding.MAX_CONFIG_BYTES)
            notices += odd
            fields = parse_json(text or "") if name.endswith(".json") else parse_yaml(text or "")
    own = FrontMatter(fields if isinstance(fields, dict) else {})
    name, number = split_number_prefix(folder.name)
    placed = own.number("position")
    if placed is None:
        placed = min(lead.position, LAST_POSITION) if lead and lead.position != LAST_POSITION else number
    link = own.fields.get("link")
    opening = FrontMatter(link).text("id") if isinstance(link, dict) else ""
    return SidebarCategory(own.text("label") or (lead.label if lead else titles.humanize_name(name)), placed, opening)
