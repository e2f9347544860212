"""Numbers sections, figures, tables, code blocks and formulas as Sphinx does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from bookbound.sources.generators.sphinx.page_order import BookDrafts
from bookbound.sources.rst.page_draft import OutlineItem

NumberPath = tuple[int, ...]
_MAX_TOCTREE_DEPTH = 100
_DEFAULT_FORMATS = {"section": "Section %s", "figure": "Fig. %s", "table": "Table %s", "code-block": "Listing %s"}


@dataclass(frozen=True, slots=True)
class NumberingConfig:
    """The settings of a project for numbers; `formats` are those of references and captions by kind."""

    numfig: bool = False
    section_depth: int = 1
    formats: Mapping[str, str] = field(default_factory=dict)
    section_suffix: str = ". "


class _NumberedItem(NamedTuple):
    """An item and its number, which is empty if it has none."""

    item: OutlineItem
    number: NumberPath = ()

    @property
    def digits(self) -> str:
        return ".".join(map(str, self.number))

    def format(self, template: str) -> str:
        if "{" in template:
            return template.replace("{name}", self.item.title).replace("{number}", self.digits)
        return template.replace("%s", self.digits)


class BookNumbering:
    """Numbers sections from each numbered toctree on, and everything else from the first page on."""

    def __init__(self, book: BookDrafts, root: str, config: NumberingConfig) -> None:
        self._book, self._config = book, config
        self._formats = _DEFAULT_FORMATS | dict(config.formats)
        self._sections: dict[str, dict[int, NumberPath]] = {}
        self._counters: Counter[tuple[str, NumberPath]] = Counter()
        self._items: dict[str, dict[str, _NumberedItem]] = {}
        for name, draft in book.drafts.items():
            for toctree in draft.toctrees:
                stack = [0]
                for child in book.find_pages(toctree, name) if toctree.numbered_levels else ():
                    self._number_sections(child, toctree.numbered_levels, stack)
        self._number_items(root, (), 0, config.numfig)
        # Sphinx numbers figures only on pages that the root leads to, but formulas on each page.
        for name in book.drafts:
            self._number_items(name, (), 0, False)

    def format_number(self, page: str, target: str) -> str:
        """Return the text before a heading or a caption, or the number of a formula."""
        found = self._items.get(page, {}).get(target)
        if not found or not found.number:
            return ""
        match found.item.kind:
            case "section":
                return f"{found.digits}{self._config.section_suffix}"
            case "displaymath":
                return f"({found.digits})"
            case kind:
                return found.format(self._formats[kind])

    def format_reference(self, page: str, target: str, title: str) -> str | None:
        """Return what a `numref` role shows, or None if its target has no number."""
        found = self._items.get(page, {}).get(target)
        if not found or not found.number or (found.item.kind != "section" and not self._config.numfig):
            return None
        return found.format(title or self._formats.get(found.item.kind, "%s"))

    def title_numbers(self) -> dict[str, str]:
        """Return the text before the titles of numbered pages."""
        numbers = {}
        for name in self._sections:
            sections = (item for item in self._book.drafts[name].outline if item.kind == "section")
            numbers[name] = next((self.format_number(name, item.ids[0]) for item in sections), "")
        return numbers

    def _number_sections(self, page: str, depth: int, stack: list[int]) -> None:
        """Number the sections of a page and of the pages that it lists; the end of `stack` counts its title."""
        if page in self._sections or len(stack) > _MAX_TOCTREE_DEPTH:
            return
        numbers = self._sections[page] = {}
        draft, base = self._book.drafts[page], len(stack)
        for index, item in enumerate(draft.outline):
            if item.kind == "section":
                _resize_counters(stack, base + item.level - 1)
                stack[-1] += 1
                numbers[index] = tuple(stack) if depth >= item.level else ()
            elif item.kind == "toctree" and depth != item.level:
                _resize_counters(stack, base + item.level)
                for child in self._book.find_pages(draft.toctrees[int(item.ids[0])], page):
                    self._number_sections(child, depth - item.level, stack)
        del stack[base:]

    def _number_items(self, page: str, parent: NumberPath, depth: int, numfig: bool) -> None:
        """Number the items of a page and of the pages that it lists, below the number of the `parent` section."""
        if page in self._items or page not in self._book.drafts or depth > _MAX_TOCTREE_DEPTH:
            return
        items = self._items[page] = {}
        draft, sections = self._book.drafts[page], self._sections.get(page, {})
        first = next(iter(sections.values()), ())
        parents: list[NumberPath] = [parent]
        formulas = 0
        for index, item in enumerate(draft.outline):
            nearest = parents[min(item.level, len(parents) - 1)]
            number: NumberPath = ()
            if item.kind == "section":
                number = sections.get(index, ())
                del parents[item.level :]
                parents += [sections.get(index, first) or parents[-1]] * (item.level + 1 - len(parents))
            elif item.kind == "toctree":
                for child in self._book.find_pages(draft.toctrees[int(item.ids[0])], page):
                    self._number_items(child, nearest, depth + 1, numfig)
                continue
            elif numfig:
                above = nearest[: self._config.section_depth]
                self._counters[item.kind, above] += 1
                number = (*above, self._counters[item.kind, above])
            elif item.kind == "displaymath":
                formulas += 1
                number = (formulas,)
            items |= dict.fromkeys(item.ids, _NumberedItem(item, number))


def _resize_counters(stack: list[int], length: int) -> None:
    del stack[length:]
    stack += [0] * (length - len(stack))
