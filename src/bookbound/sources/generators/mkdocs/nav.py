"""Orders MkDocs pages by the site's `nav`, by its navigation plugins or by its folders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from bookbound.sources import files, titles
from bookbound.sources.generators.mkdocs.config import MkDocsSite
from bookbound.sources.safe_config import ConfigFields, load_config
from bookbound.sources.table_of_contents import read_summary_file

NAV_FILES = {"awesome-pages": ".pages", "awesome-nav": ".nav.yml"}
"""The file that orders a folder, by the plugin that reads it."""
_REST_MARKER = "..."
_MAX_DEPTH = 50


class NavPage(NamedTuple):
    """A page with its label, and the number and label of its chapter.

    A chapter without a label gets the title of its first page.
    """

    path: Path
    label: str
    branch: int
    chapter: str


class MkDocsNav:
    """Walks the navigation of a site and collects the pages that it lists but that do not exist as `missing`."""

    def __init__(self, site: MkDocsSite, paths: list[Path]) -> None:
        self._site = site
        self._paths = sorted(paths, key=lambda path: _sort_key(path.relative_to(site.docs)))
        self._by_name = {path.relative_to(site.docs).as_posix(): path for path in self._paths}
        options = site.plugins.get("literate-nav")
        self._nav_file = str(options.get("nav_file") or "SUMMARY.md") if options is not None else ""
        self.missing: list[str] = []

    def pages(self) -> list[NavPage]:
        """Return each page once: those that are listed, then the others."""
        nav = self._site.fields.get("nav")
        if not isinstance(nav, list):
            order_file = next((file for plugin, file in NAV_FILES.items() if plugin in self._site.plugins), "")
            has_nav_file = self._nav_file in self._by_name
            nav = ["/"] if has_nav_file else FolderNav(self._site.docs, self._by_name, order_file).nav()
        found: dict[Path, NavPage] = {}
        for branch, item in enumerate(nav):
            for page in self._walk(item, branch):
                found.setdefault(page.path, page)
        for path in self._paths:
            folder = path.relative_to(self._site.docs).parts[:-1]
            chapter = titles.humanize_name(folder[0]) if folder else ""
            # A SUMMARY.md that orders the pages is not a page, but a README.md that does is one.
            if path.name != "SUMMARY.md" or not self._nav_file:
                found.setdefault(path, NavPage(path, "", -1 - len(found), chapter))
        return list(found.values())

    def _walk(self, item: object, branch: int) -> Iterator[NavPage]:
        """Yield the pages of one first-level entry, at any depth."""
        stack: list[tuple[tuple[str, object], str | None, int]] = [(("", item), None, 0)]
        while stack:
            (label, here), chapter, depth = stack.pop()
            if isinstance(here, dict):
                pairs = [(str(name or ""), value) for name, value in reversed(here.items())]
                stack += [(pair, pair[0] if chapter is None else chapter, depth + 1) for pair in pairs]
            elif isinstance(here, list) and depth < _MAX_DEPTH:
                stack += [(("", value), chapter or "", depth + 1) for value in reversed(here)]
            elif isinstance(here, str) and "://" not in here:
                for path, name in self._find_pages(here):
                    yield NavPage(path, name or label, branch, chapter or "")

    def _find_pages(self, target: str) -> Iterator[tuple[Path, str]]:
        """Yield the page that an entry names or, if it ends with a slash, the pages of the folder."""
        if target.lstrip("/") in self._by_name:
            yield self._by_name[target.lstrip("/")], ""
        elif self._nav_file and target.endswith("/"):
            yield from self._folder_pages(target.strip("/"))
        elif target.endswith(".md"):
            self.missing.append(target)

    def _folder_pages(self, folder: str) -> Iterator[tuple[Path, str]]:
        """Yield the index page and the pages that the folder's navigation file lists, or all pages without one."""
        prefix = f"{folder}/" if folder else ""
        pages = [path for name, path in self._by_name.items() if name.startswith(prefix)]
        nav_file = self._by_name.get(prefix + self._nav_file)
        entries = read_summary_file(nav_file, pages, None).entries if nav_file else {}
        index = [path for path in pages[:1] if path.stem in ("index", "README")]
        for path in (*index, *entries) if entries else pages:
            yield path, entries[path].label if path in entries else ""


def _sort_key(relative: Path) -> tuple[object, ...]:
    """Sort a folder's index page before its other pages, and pages before the folders inside it."""
    return relative.parts[:-1], relative.stem not in ("index", "README"), relative.name


class FolderNav:
    """Builds a navigation from folders and from the files called `order_file` in them."""

    def __init__(self, docs: Path, pages: Iterable[str], order_file: str = "") -> None:
        self._docs = docs
        self._order_file = order_file
        self._children: dict[str, dict[str, None]] = {}
        for page in pages:
            folder = ""
            for part in page.split("/")[:-1]:
                self._children.setdefault(folder, {})[f"{folder}{part}/"] = None
                folder = f"{folder}{part}/"
            self._children.setdefault(folder, {})[page] = None

    def nav(self, folder: str = "", depth: int = 0) -> list[object]:
        """List the pages of a folder, and the folders inside it with their labels."""
        children = sorted(self._children.get(folder, {}), key=lambda name: name.endswith("/"))
        fields = self._settings(folder)
        if fields.get("order") == "desc":
            children.sort(key=lambda name: name.rstrip("/"), reverse=True)
        arranged = fields.get("arrange")
        listed = fields.get("nav")
        if "nav" not in fields.fields and isinstance(arranged, list):
            listed = [*arranged, _REST_MARKER]
        if not isinstance(listed, list) or depth > _MAX_DEPTH:
            return [self._item(name, depth) for name in children]
        named = {f"{folder}{name.strip('/')}" for name in _listed_names(listed)}
        rest = [name for name in children if name.rstrip("/") not in named]
        return list(self._expand(listed, folder, rest, depth))

    def _expand(self, listed: list[object], folder: str, rest: list[str], depth: int) -> Iterator[object]:
        """Yield the items that an author lists; `...` and patterns stand for items of the `rest`."""
        children = self._children.get(folder, {})
        for entry in listed:
            label, target = next(iter(entry.items())) if isinstance(entry, dict) and entry else ("", entry)
            if isinstance(target, list) and depth < _MAX_DEPTH:
                yield {label: list(self._expand(target, folder, rest, depth + 1))}
            elif isinstance(target, str) and (target.startswith(_REST_MARKER) or "*" in target):
                pattern = target.partition("|")[2].strip() if target.startswith(_REST_MARKER) else target
                pattern = (pattern.partition("=")[2] or pattern).rstrip("/")
                matching = [name for name in rest if not pattern or fnmatchcase(name.rstrip("/"), folder + pattern)]
                yield from (self._item(name, depth) for name in matching)
            elif isinstance(target, str):
                path = f"{folder}{target.strip('/')}"
                item = self._item(next((name for name in (f"{path}/", path) if name in children), target), depth)
                inner = next(iter(item.values())) if isinstance(item, dict) else item
                yield {label: inner} if label and not self._settings(f"{path}/").text("title") else item

    def _item(self, name: str, depth: int) -> object:
        if not name.endswith("/") or "://" in name:
            return name
        label = self._settings(name).text("title") or titles.humanize_name(name.rstrip("/").rpartition("/")[2])
        return {label: self.nav(name, depth + 1)}

    def _settings(self, folder: str) -> ConfigFields:
        path = files.resolve_relative_path(self._docs, f"{folder}{self._order_file}") if self._order_file else None
        return ConfigFields.of(load_config(path) if path and files.is_inside(path, self._docs) else None)


def _listed_names(listed: list[object]) -> Iterator[str]:
    """Yield the names in a list, at any depth."""
    stack = [listed]
    while stack:
        for entry in stack.pop():
            target = next(iter(entry.values()), None) if isinstance(entry, dict) else entry
            if isinstance(target, list):
                stack.append(target)
            elif isinstance(target, str):
                yield target
