"""Numbers sections, figures, tables, code blocks and formulas as Sphinx does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from bookbound.sources.generators.sphinx.page_order import PageOrder
from bookbound.sources.rst.page_draft import OutlineItem, ProjectConfig

NumberPath = tuple[int, ...]
_MAX_TOCTREE_DEPTH = 100


class NumberedItem(NamedTuple):
    """A thing and its number; one without has the empty number."""

    mark: OutlineItem
    number: NumberPath = ()

    @property
    def digits(self) -> str:
        return ".".join(map(str, self.number))


class BookNumbering:
    """Counts the things of all pages: sections from each numbered list of pages on, all else from the first page on."""

    def __init__(self, order: PageOrder, root: str, config: ProjectConfig) -> None:
        self._order, self._config = order, config
        self._sections: dict[str, dict[int, NumberPath]] = {}
        self._counted: Counter[tuple[str, NumberPath]] = Counter()
        self._found: dict[str, dict[str, NumberedItem]] = {}
        for name, draft in order.drafts.items():
            for toctree in draft.toctrees:
                stack = [0]
                for child in order.listed(toctree, name) if toctree.numbered else ():
                    self._number_sections(child, toctree.numbered, stack)
        self._count(root, (), 0, config.numfig)
        for name in order.drafts:
            self._count(name, (), 0, False)

    def on(self, page: str) -> Mapping[str, NumberedItem]:
        """The things of a page by their ids."""
        return self._found.get(page, {})

    def shown(self, page: str, target: str) -> str:
        """What is set before a heading or a caption, or for the number of a formula; nothing where it has none."""
        found = self.on(page).get(target)
        if not found or not found.number:
            return ""
        if found.mark.kind == "section":
            return f"{found.digits}{self._config.number_suffix}"
        if found.mark.kind == "displaymath":
            return f"({found.digits})"
        return self._formatted(found, self._config.formats[found.mark.kind])

    def refers(self, page: str, target: str, title: str = "") -> str | None:
        """What a reference by number shows for a thing of a page; nothing where that has none."""
        found = self.on(page).get(target)
        kind = found.mark.kind if found else ""
        if not found or not found.number or (kind != "section" and not self._config.numfig):
            return None
        return self._formatted(found, title or self._config.formats.get(kind, "%s"))

    def titles(self) -> dict[str, str]:
        """What is set before the titles of those pages that are numbered."""
        tops = {
            name: next((mark.ids[0] for mark in draft.outline if mark.kind == "section"), "")
            for name, draft in self._order.drafts.items()
            if name in self._sections
        }
        return {name: self.shown(name, top) for name, top in tops.items()}

    def _formatted(self, found: NumberedItem, form: str) -> str:
        if "{" in form:
            return form.replace("{name}", found.mark.title).replace("{number}", found.digits)
        return form.replace("%s", found.digits)

    def _number_sections(self, page: str, depth: int, stack: list[int]) -> None:
        """Number a page's sections and those of the pages it lists; the last of `stack` counts its own title."""
        if page in self._sections or len(stack) > _MAX_TOCTREE_DEPTH:
            return
        numbers = self._sections[page] = {}
        draft, base = self._order.drafts[page], len(stack)
        for at, mark in enumerate(draft.outline):
            if mark.kind == "section":
                _resize_counters(stack, base + mark.level - 1)
                stack[-1] += 1
                numbers[at] = tuple(stack) if depth >= mark.level else ()
            elif mark.kind == "toctree" and depth != mark.level:
                _resize_counters(stack, base + mark.level)
                for child in self._order.listed(draft.toctrees[int(mark.ids[0])], page):
                    self._number_sections(child, depth - mark.level, stack)
        del stack[base:]

    def _count(self, page: str, above: NumberPath, depth: int, numfig: bool) -> None:
        """Count the things of a page and, where it lists others, of those; `above` is the number of what holds it."""
        if page in self._found or page not in self._order.drafts or depth > _MAX_TOCTREE_DEPTH:
            return
        found = self._found[page] = {}
        draft, sections = self._order.drafts[page], self._sections.get(page, {})
        first = next(iter(sections.values()), ())
        under: list[NumberPath] = [above]
        formulas = 0
        for at, mark in enumerate(draft.outline):
            if mark.kind == "section":
                del under[mark.level :]
                number = sections.get(at, first)
                under += [number or under[-1]] * (mark.level + 1 - len(under))
                thing = NumberedItem(mark, sections.get(at, ()))
            elif mark.kind == "toctree":
                for child in self._order.listed(draft.toctrees[int(mark.ids[0])], page):
                    self._count(child, under[min(mark.level, len(under) - 1)], depth + 1, numfig)
                continue
            elif numfig:
                thing = NumberedItem(mark, self._next(mark.kind, under[min(mark.level, len(under) - 1)]))
            else:
                formulas += mark.kind == "displaymath"
                thing = NumberedItem(mark, (formulas,) if mark.kind == "displaymath" else ())
            found |= dict.fromkeys(mark.ids, thing)

    def _next(self, kind: str, above: NumberPath) -> NumberPath:
        above = above[: self._config.numfig_depth]
        self._counted[kind, above] += 1
        return (*above, self._counted[kind, above])


def _resize_counters(stack: list[int], length: int) -> None:
    """Cut a stack of counters, or let it count anew further down."""
    del stack[length:]
    stack += [0] * (length - len(stack))
