"""A page's sections: what stands under each heading, and under which names."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace

from bookbound.book import Block, Page
from bookbound.split.pieces import tiled


@dataclass(frozen=True, slots=True)
class Section:
    """The blocks from a heading to the next, and the headings they stand under, but for the page's title."""

    under: tuple[Block, ...]
    heading: Block | None
    blocks: tuple[Block, ...] = ()

    @property
    def anchor(self) -> str:
        return next((heading.anchor for heading in reversed(self.under) if heading.anchor), "")

    def anchor_at(self, start: int) -> str:
        """The anchor of the innermost block with one that holds a character, else that of the section."""
        found, blocks = self.anchor, self.blocks
        while at := bisect_right(blocks, start, key=lambda block: block.start):
            block = blocks[at - 1]
            if start >= block.end:
                break
            found, blocks = block.anchor or found, block.children
        return found

    def names(self, page: Page) -> tuple[str, ...]:
        return tuple(name for heading in self.under if (name := _name(page, heading)))

    def holds(self, other: Section) -> bool:
        """Whether the other is a subsection of this one."""
        depth = len(self.under)
        return len(other.under) > depth and other.under[:depth] == self.under


def sections(page: Page) -> list[Section]:
    """The sections of a page that hold words of their own; a heading over subsections alone lives in their names."""
    found = [Section((), None)]
    bodies: list[list[Block]] = [[]]
    for block in tiled(page.text, page.blocks, 0, len(page.text), "paragraph"):
        if block.kind != "heading":
            bodies[-1].append(block)
            continue
        is_title = block.level <= 1 and _name(page, block) == _words(page.title)
        above = (heading for heading in found[-1].under if heading.level < block.level)
        found.append(Section(() if is_title else (*above, block), block))
        bodies.append([])
    found = [replace(section, blocks=tuple(body)) for section, body in zip(found, bodies, strict=True)]
    return [kept for i, section in enumerate(found) if (kept := _kept(section, found[i + 1 : i + 2]))]


def _kept(section: Section, after: list[Section]) -> Section | None:
    """The section if it has a body, its heading as its body if nothing else would hold that, or nothing."""
    if section.blocks:
        return section
    if section.heading is None or (after and section.holds(after[0])):
        return None
    return replace(section, heading=None, blocks=(section.heading,))


def _name(page: Page, heading: Block) -> str:
    return _words(page.text[heading.start : heading.end])


def _words(text: str) -> str:
    return " ".join(text.split())
