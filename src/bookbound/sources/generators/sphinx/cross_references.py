"""Resolves references between pages and renders the drafts as pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from bookbound.domain.document import Page, SourceNotice
from bookbound.sources import decoding
from bookbound.sources.generators.sphinx.numbering import BookNumbering
from bookbound.sources.generators.sphinx.page_order import OrderedPage, PageOrder
from bookbound.sources.myst import draft_myst
from bookbound.sources.notebook import load_notebook_as_markdown
from bookbound.sources.rst import draft_rst
from bookbound.sources.rst.page_draft import PageDraft, ProjectContext, TitleLookup
from bookbound.sources.rst.roles import TITLE_AND_TARGET
from bookbound.sources.sphinx_inventory import Inventory
from bookbound.sources.titles import MAX_TITLE_CHARS

_MYST_SUFFIXES = frozenset((".md", ".markdown", ".ipynb"))
_GENERATED_PAGE_TITLES = {"genindex": "Index", "modindex": "Module Index", "search": "Search Page"}


def draft_page(
    path: Path, file: str, desk: ProjectContext, mystmd: bool = False
) -> tuple[PageDraft | None, list[SourceNotice]]:
    """The draft of a file, by what it ends in, and what is odd about it."""
    kind = path.suffix.lower()
    source, notices = load_notebook_as_markdown(path, file) if kind == ".ipynb" else decoding.load_text(path, file)
    if source is None:
        return None, notices
    made = (
        draft_myst(source, path, file, desk, mystmd) if kind in _MYST_SUFFIXES else draft_rst(source, path, file, desk)
    )
    return made, [*notices, *made.notices]


class BookReferences:
    """Knows the titles that the references of all pages show; what a built copy lists comes after the pages' own."""

    def __init__(self, order: PageOrder, numbers: BookNumbering, built: Inventory | None = None) -> None:
        self._order, self._numbers = order, numbers
        drafts = order.drafts.items()
        self._targets = {label: (page, to) for page, each in drafts for label, to in each.targets.items()}
        listed = built.get("std:label", {}) if built else {}
        written = {name: title for each in order.drafts.values() for name, title in each.labels.items()}
        self._labels = _GENERATED_PAGE_TITLES | {name: entry.title for name, entry in listed.items()} | written

    def on(self, page: str) -> TitleLookup:
        """What the references of one page show."""

        def title(kind: str, target: str) -> str | None:
            found = look_up(kind, target)
            return found[:MAX_TITLE_CHARS] if found else found

        def look_up(kind: str, target: str) -> str | None:
            match kind:
                case "number":
                    return self._numbers.shown(page, target)
                case "ref":
                    return self._labels.get(_normalize_label(target))
                case "numref" | "eq":
                    return self._numbered(kind, target)
            name = self._order.resolve(target, page)
            return self._order.title(name) if name else None

        return title

    def _numbered(self, kind: str, target: str) -> str | None:
        """What a reference by number shows, in the words before its target where there are some."""
        titled = TITLE_AND_TARGET.match(target)
        words, label = (titled["title"], titled["target"]) if titled else ("", target)
        found = self._targets.get(_normalize_label(label) if kind == "numref" else f"equation-{label}")
        if not found:
            return None
        return self._numbers.refers(*found, words) if kind == "numref" else self._numbers.shown(*found)


def _normalize_label(label: str) -> str:
    return " ".join(label.lower().split())


def render_pages(
    listed: Iterable[OrderedPage],
    order: PageOrder,
    references: BookReferences,
    files: Mapping[str, str],
    address: Callable[[str], str],
) -> tuple[list[Page], list[SourceNotice]]:
    """The pages in their order, and which of them show no words."""
    pages: list[Page] = []
    notices: list[SourceNotice] = []
    for name, chapter, _ in listed:
        made = order.drafts[name]
        setting = made.set(references.on(name))
        if setting.text:
            place = files[name], address(name), order.heading(name), chapter, len(pages)
            pages.append(Page(*place, made.source, *setting))
        else:
            notices.append(SourceNotice(files[name], "shows no words; left out"))
    return pages, notices
