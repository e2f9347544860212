"""A navigation made from the folders of a site, as the files in them that order their pages say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from bookbound.read import decode, files
from bookbound.read.frontmatter import FrontMatter, load

# Which file orders a folder, by the plugin that reads it.
ORDERS = {"awesome-pages": ".pages", "awesome-nav": ".nav.yml"}
_REST = "..."
_DEEPEST = 50


class Folders:
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
        listed = fields.get("nav", [*arranged, _REST] if isinstance(arranged, list) else None)
        if not isinstance(listed, list) or depth > _DEEPEST:
            return [self._item(name, depth) for name in inside]
        named = {f"{folder}{name.strip('/')}" for name in _names(listed)}
        rest = [name for name in inside if name.rstrip("/") not in named]
        return list(self._listed(listed, folder, rest, depth))

    def _listed(self, listed: list[object], folder: str, rest: list[str], depth: int) -> Iterator[object]:
        """What an author listed; the rest, or what of it fits a pattern, stands where he put it."""
        inside = self._inside.get(folder, {})
        for one in listed:
            label, target = next(iter(one.items())) if isinstance(one, dict) and one else ("", one)
            if isinstance(target, list) and depth < _DEEPEST:
                yield {label: list(self._listed(target, folder, rest, depth + 1))}
            elif isinstance(target, str) and (target.startswith(_REST) or "*" in target):
                pattern = target.partition("|")[2].strip() if target.startswith(_REST) else target
                pattern = pattern.partition("=")[2] or pattern
                yield from (self._item(name, depth) for name in rest if not pattern or _fits(name, folder + pattern))
            elif isinstance(target, str):
                below = f"{folder}{target.strip('/')}"
                item = self._item(f"{below}/" if f"{below}/" in inside else below if below in inside else target, depth)
                inner = next(iter(item.values())) if isinstance(item, dict) else item
                yield {label: inner} if label and not self._settings(f"{below}/").text("title") else item

    def _item(self, name: str, depth: int) -> object:
        if not name.endswith("/") or "://" in name:
            return name
        label = self._settings(name).text("title") or files.readable(name.rstrip("/").rpartition("/")[2])
        return {label: self.nav(name, depth + 1)}

    def _settings(self, folder: str) -> FrontMatter:
        path = files.beside(self._docs, f"{folder}{self._order}") if self._order else None
        if path is None or not files.is_inside(path, self._docs):
            return FrontMatter()
        text, _ = decode.load(path, path.name, decode.LARGEST_SETTINGS)
        read = load(text or "")
        return FrontMatter(read if isinstance(read, dict) else {})


def _names(listed: list[object]) -> Iterator[str]:
    """What a list names, at any depth."""
    waiting = [listed]
    while waiting:
        for one in waiting.pop():
            target = next(iter(one.values()), None) if isinstance(one, dict) else one
            if isinstance(target, list):
                waiting.append(target)
            elif isinstance(target, str):
                yield target


def _fits(name: str, pattern: str) -> bool:
    return fnmatchcase(name.rstrip("/"), pattern.rstrip("/"))
