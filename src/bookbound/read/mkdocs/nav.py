"""The order of an MkDocs site: its `nav`, and the order of its files where that says nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bookbound.read import files
from bookbound.read.mkdocs.config import Site
from bookbound.read.mkdocs.folders import ORDERS, Folders
from bookbound.read.summary import read_summary

_DEEPEST = 50


class Listed(NamedTuple):
    """A page with the label that the navigation gives it, and the number and label of the chapter that it is in.

    A chapter without a label is called by its first page.
    """

    path: Path
    label: str
    branch: int
    chapter: str


class Nav:
    """Walks the navigation of one site; what it names and is not there is `missing`."""

    def __init__(self, site: Site, paths: list[Path]) -> None:
        self._site = site
        self._paths = sorted(paths, key=lambda path: file_order(path.relative_to(site.docs)))
        self._known = {path.relative_to(site.docs).as_posix(): path for path in paths}
        literate = site.plugins.get("literate-nav")
        self._nav_file = str((literate or {}).get("nav_file") or "SUMMARY.md") if literate is not None else ""
        self.missing: list[str] = []

    def pages(self) -> list[Listed]:
        """The pages that are listed, then the others, each once."""
        nav = self._site.fields.fields.get("nav")
        listed = nav if isinstance(nav, list) else ["/"] if self._nav_file in self._known else self._generated()
        found: dict[Path, Listed] = {}
        for branch, item in enumerate(listed):
            for page in self._walk(item, branch):
                found.setdefault(page.path, page)
        for path in self._paths:
            folder = path.relative_to(self._site.docs).parts[:-1]
            name = files.readable(folder[0]) if folder else ""
            # A SUMMARY.md that orders the pages is none of them; a README.md that does is one.
            if path.name != "SUMMARY.md" or not self._nav_file:
                found.setdefault(path, Listed(path, "", -1 - len(found), name))
        return list(found.values())

    def _generated(self) -> list[object]:
        """Without a navigation each page at the top stands for itself and each folder for a chapter."""
        order = next((file for plugin, file in ORDERS.items() if plugin in self._site.plugins), "")
        names = [path.relative_to(self._site.docs).as_posix() for path in self._paths]
        return Folders(self._site.docs, names, order).nav()

    def _walk(self, item: object, branch: int) -> Iterator[Listed]:
        """The pages of one entry of the first level, at any depth."""
        waiting: list[tuple[object, str, str | None, int]] = [(item, "", None, 0)]
        while waiting:
            here, label, chapter, depth = waiting.pop()
            if isinstance(here, dict):
                pairs = [(value, str(name or "")) for name, value in here.items()]
                waiting += [
                    (value, name, name if chapter is None else chapter, depth + 1) for value, name in reversed(pairs)
                ]
            elif isinstance(here, list) and depth < _DEEPEST:
                waiting += [(value, "", chapter or "", depth + 1) for value in reversed(here)]
            elif isinstance(here, str) and "://" not in here:
                for path, name in self._named(here):
                    yield Listed(path, name or label, branch, chapter or "")

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
        inside.sort(key=lambda path: file_order(path.relative_to(self._site.docs)))
        table = self._known.get(prefix + self._nav_file)
        entries = read_summary(table, inside, None).entries if table else {}
        opening = [path for path in inside[:1] if path.stem in ("index", "README")]
        for path in (*opening, *entries) if entries else inside:
            yield path, entries[path].label if path in entries else ""


def file_order(relative: Path) -> tuple[object, ...]:
    """A folder's opening page, its others, then the folders inside it, all by their names."""
    return relative.parts[:-1], relative.stem not in ("index", "README"), relative.name
