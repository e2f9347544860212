"""Orders MkDocs pages by the site's `nav`, by its navigation plugins or by its folders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from bookbound.sources import decoding, files, titles
from bookbound.sources.generators.mkdocs.config import MkDocsSite
from bookbound.sources.markdown.front_matter import FrontMatter
from bookbound.sources.safe_config import parse_yaml
from bookbound.sources.table_of_contents import read_summary_file

# Which file orders a folder, by the plugin that reads it.
NAV_FILES = {"awesome-pages": ".pages", "awesome-nav": ".nav.yml"}
_REST_MARKER = "..."
_MAX_FOLDER_DEPTH = 50


class FolderNav:
    """The folders of one site; each page is a path below `docs`, and `order` the name of the files that order them."""

    def __init__(self, docs: Path, pages: Iterable[str], order: str = "") -> None:
        self._docs = docs
        self._order = order
        self._inside: dict[str, dict[str, None]] = {}
        for page in pages:
            here = ""
            for part in page.split("/")[:-1]:
                self._inside.setdefault(here, {})[f"{here}{part}/"] = None
                here = f"{here}{part}/"
            self._inside.setdefault(here, {})[page] = None

    def nav(self, folder: str = "", depth: int = 0) -> list[object]:
        """What a navigation would list for a folder: pages as they stand, folders with their labels."""
        inside = sorted(self._inside.get(folder, {}), key=lambda name: name.endswith("/"))
        fields = self._settings(folder).fields
        if fields.get("order") == "desc":
            inside.sort(key=lambda name: name.rstrip("/"), reverse=True)
        arranged = fields.get("arrange")
        listed = fields.get("nav", [*arranged, _REST_MARKER] if isinstance(arranged, list) else None)
        if not isinstance(listed, list) or depth > _MAX_FOLDER_DEPTH:
            return [self._item(name, depth) for name in inside]
        named = {f"{folder}{name.strip('/')}" for name in _listed_names(listed)}
        rest = [name for name in inside if name.rstrip("/") not in named]
        return list(self._listed(listed, folder, rest, depth))

    def _listed(self, listed: list[object], folder: str, rest: list[str], depth: int) -> Iterator[object]:
        """What an author listed; the rest, or what of it fits a pattern, stands where he put it."""
        inside = self._inside.get(folder, {})
        for one in listed:
            label, target = next(iter(one.items())) if isinstance(one, dict) and one else ("", one)
            if isinstance(target, list) and depth < _MAX_FOLDER_DEPTH:
                yield {label: list(self._listed(target, folder, rest, depth + 1))}
            elif isinstance(target, str) and (target.startswith(_REST_MARKER) or "*" in target):
                pattern = target.partition("|")[2].strip() if target.startswith(_REST_MARKER) else target
                pattern = pattern.partition("=")[2] or pattern
                yield from (
                    self._item(name, depth) for name in rest if not pattern or _matches_pattern(name, folder + pattern)
                )
            elif isinstance(target, str):
                below = f"{folder}{target.strip('/')}"
                item = self._item(f"{below}/" if f"{below}/" in inside else below if below in inside else target, depth)
                inner = next(iter(item.values())) if isinstance(item, dict) else item
                yield {label: inner} if label and not self._settings(f"{below}/").text("title") else item

    def _item(self, name: str, depth: int) -> object:
        if not name.endswith("/") or "://" in name:
            return name
        label = self._settings(name).text("title") or titles.humanize_name(name.rstrip("/").rpartition("/")[2])
        return {label: self.nav(name, depth + 1)}

    def _settings(self, folder: str) -> FrontMatter:
        path = files.resolve_relative_path(self._docs, f"{folder}{self._order}") if self._order else None
        if path is None or not files.is_inside(path, self._docs):
            return FrontMatter()
        text, _ = decoding.load_text(path, path.name, decoding.MAX_CONFIG_BYTES)
        read = parse_yaml(text or "")
        return FrontMatter(read if isinstance(read, dict) else {})


def _listed_names(listed: list[object]) -> Iterator[str]:
    """What a list names, at any depth."""
    waiting = [listed]
    while waiting:
        for one in waiting.pop():
            target = next(iter(one.values()), None) if isinstance(one, dict) else one
            if isinstance(target, list):
                waiting.append(target)
            elif isinstance(target, str):
                yield target


def _matches_pattern(name: str, pattern: str) -> bool:
    return fnmatchcase(name.rstrip("/"), pattern.rstrip("/"))


_MAX_NAV_DEPTH = 50


class NavPage(NamedTuple):
    """A page with the label that the navigation gives it, and the number and label of the chapter that it is in.

    A chapter without a label is called by its first page.
    """

    path: Path
    label: str
    branch: int
    chapter: str


class MkDocsNav:
    """Walks the navigation of one site; what it names and is not there is `missing`."""

    def __init__(self, site: MkDocsSite, paths: list[Path]) -> None:
        self._site = site
        self._paths = sorted(paths, key=lambda path: file_sort_key(path.relative_to(site.docs)))
        self._known = {path.relative_to(site.docs).as_posix(): path for path in paths}
        literate = site.plugins.get("literate-nav")
        self._nav_file = str((literate or {}).get("nav_file") or "SUMMARY.md") if literate is not None else ""
        self.missing: list[str] = []

    def pages(self) -> list[NavPage]:
        """The pages that are listed, then the others, each once."""
        nav = self._site.fields.fields.get("nav")
        listed = nav if isinstance(nav, list) else ["/"] if self._nav_file in self._known else self._generated()
        found: dict[Path, NavPage] = {}
        for branch, item in enumerate(listed):
            for page in self._walk(item, branch):
                found.setdefault(page.path, page)
        for path in self._paths:
            folder = path.relative_to(self._site.docs).parts[:-1]
            name = titles.humanize_name(folder[0]) if folder else ""
            # A SUMMARY.md that orders the pages is none of them; a README.md that does is one.
            if path.name != "SUMMARY.md" or not self._nav_file:
                found.setdefault(path, NavPage(path, "", -1 - len(found), name))
        return list(found.values())

    def _generated(self) -> list[object]:
        """Without a navigation each page at the top stands for itself and each folder for a chapter."""
        order = next((file for plugin, file in NAV_FILES.items() if plugin in self._site.plugins), "")
        names = [path.relative_to(self._site.docs).as_posix() for path in self._paths]
        return FolderNav(self._site.docs, names, order).nav()

    def _walk(self, item: object, branch: int) -> Iterator[NavPage]:
        """The pages of one entry of the first level, at any depth."""
        waiting: list[tuple[object, str, str | None, int]] = [(item, "", None, 0)]
        while waiting:
            here, label, chapter, depth = waiting.pop()
            if isinstance(here, dict):
                pairs = [(value, str(name or "")) for name, value in here.items()]
                waiting += [
                    (value, name, name if chapter is None else chapter, depth + 1) for value, name in reversed(pairs)
                ]
            elif isinstance(here, list) and depth < _MAX_NAV_DEPTH:
                waiting += [(value, "", chapter or "", depth + 1) for value in reversed(here)]
            elif isinstance(here, str) and "://" not in here:
                for path, name in self._named(here):
                    yield NavPage(path, name or label, branch, chapter or "")

    def _named(self, target: str) -> Iterator[tuple[Path, str]]:
        """The page that a navigation names or, with a slash at its end, the pages of the folder."""
        if target.lstrip("/") in self._known:
            yield self._known[target.lstrip("/")], ""
        elif self._nav_file and target.endswith("/"):
            yield from self._folder(target.strip("/"))
        elif target.endswith(".md"):
            self.missing.append(target)

    def _folder(self, folder: str) -> Iterator[tuple[Path, str]]:
        """What the folder's own table of contents lists, its opening page first; without one, all its pages."""
        prefix = f"{folder}/" if folder else ""
        inside = [path for name, path in self._known.items() if name.startswith(prefix)]
        inside.sort(key=lambda path: file_sort_key(path.relative_to(self._site.docs)))
        table = self._known.get(prefix + self._nav_file)
        entries = read_summary_file(table, inside, None).entries if table else {}
        opening = [path for path in inside[:1] if path.stem in ("index", "README")]
        for path in (*opening, *entries) if entries else inside:
            yield path, entries[path].label if path in entries else ""


def file_sort_key(relative: Path) -> tuple[object, ...]:
    """A folder's opening page, its others, then the folders inside it, all by their names."""
    return relative.parts[:-1], relative.stem not in ("index", "README"), relative.name
