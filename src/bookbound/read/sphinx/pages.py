"""Drafts of all pages become pages, once it is known what their references show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from bookbound.book import Notice, Page
from bookbound.read import decode
from bookbound.read.myst import myst_draft
from bookbound.read.notebook import load_notebook
from bookbound.read.sphinx.draft import Desk, Draft, Titles, rst_draft
from bookbound.read.sphinx.inventory import Inventory
from bookbound.read.sphinx.numbers import Numbers
from bookbound.read.sphinx.order import Listed, Order
from bookbound.read.sphinx.roles import TITLED
from bookbound.read.titles import LONGEST

_MYST = frozenset((".md", ".markdown", ".ipynb"))
_MADE = {"genindex": "Index", "modindex": "Module Index", "search": "Search Page"}


def draft(path: Path, file: str, desk: Desk, mystmd: bool = False) -> tuple[Draft | None, list[Notice]]:
    """The draft of a file, by what it ends in, and what is odd about it."""
    kind = path.suffix.lower()
    source, notices = load_notebook(path, file) if kind == ".ipynb" else decode.load(path, file)
    if source is None:
        return None, notices
    made = myst_draft(source, path, file, desk, mystmd) if kind in _MYST else rst_draft(source, path, file, desk)
    return made, [*notices, *made.notices]


class References:
    """Knows the titles that the references of all pages show; what a built copy lists comes after the pages' own."""

    def __init__(self, order: Order, numbers: Numbers, built: Inventory | None = None) -> None:
        self._order, self._numbers = order, numbers
        drafts = order.drafts.items()
        self._targets = {label: (page, to) for page, each in drafts for label, to in each.targets.items()}
        listed = built.get("std:label", {}) if built else {}
        written = {name: title for each in order.drafts.values() for name, title in each.labels.items()}
        self._labels = _MADE | {name: entry.title for name, entry in listed.items()} | written

    def on(self, page: str) -> Titles:
        """What the references of one page show."""

        def title(kind: str, target: str) -> str | None:
            found = look_up(kind, target)
            return found[:LONGEST] if found else found

        def look_up(kind: str, target: str) -> str | None:
            match kind:
                case "number":
                    return self._numbers.shown(page, target)
                case "ref":
                    return self._labels.get(_normal(target))
                case "numref" | "eq":
                    return self._numbered(kind, target)
            name = self._order.resolve(target, page)
            return self._order.title(name) if name else None

        return title

    def _numbered(self, kind: str, target: str) -> str | None:
        """What a reference by number shows, in the words before its target where there are some."""
        titled = TITLED.match(target)
        words, label = (titled["title"], titled["target"]) if titled else ("", target)
        found = self._targets.get(_normal(label) if kind == "numref" else f"equation-{label}")
        if not found:
            return None
        return self._numbers.refers(*found, words) if kind == "numref" else self._numbers.shown(*found)


def _normal(label: str) -> str:
    return " ".join(label.lower().split())


def set_pages(
    listed: Iterable[Listed],
    order: Order,
    references: References,
    files: Mapping[str, str],
    address: Callable[[str], str],
) -> tuple[list[Page], list[Notice]]:
    """The pages in their order, and which of them show no words."""
    pages: list[Page] = []
    notices: list[Notice] = []
    for name, chapter, _ in listed:
        made = order.drafts[name]
        setting = made.set(references.on(name))
        if setting.text:
            place = files[name], address(name), order.heading(name), chapter, len(pages)
            pages.append(Page(*place, made.source, *setting))
        else:
            notices.append(Notice(files[name], "shows no words; left out"))
    return pages, notices
