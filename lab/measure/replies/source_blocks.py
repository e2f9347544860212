"""Finds the lists, tables, code blocks and image texts in the pages that a reply cites."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from bookbound.domain.document import Block, Page
from bookbound.sources import parse_book
from bookbound.sources.decoding import decode_text

FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,})([^\n]*)\n(.*?)^[ \t>]*\1[ \t]*$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r"""title=(?:"([^"]*)"|'([^']*)')""")
IMAGE = re.compile(r"""!\[([^\]]+)\]\(|<img\b[^>]*?\balt=["']([^"']+)["']|^[ \t]*:alt:[ \t]*(.+)$""", re.MULTILINE)
EDITOR_COMMENT = re.compile(r"\W*highlight-(?:start|end|next-line)\W*")
"""A line that Docusaurus removes."""
MARKDOWN = (".md", ".mdx", ".markdown")
TEXT_FILES = (*MARKDOWN, ".rst")


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A fenced code block: its title, and its lines without indentation and blank lines."""

    title: str
    lines: tuple[str, ...]


class SourceBlocks:
    """What the rules must know of the files of one source; a source that is one file has no text files."""

    def __init__(self, source: Path) -> None:
        self._source = source
        self._read = cache(self._read_file)

    def lists(self, files: Iterable[str]) -> list[tuple[str, ...]]:
        """The items of each list, those of the lists inside it too."""
        return [
            tuple(_own_text(page, item) for item in _find(block, "item"))
            for page, block in self._find_blocks("list", files)
        ]

    def tables(self, files: Iterable[str]) -> list[tuple[str, ...]]:
        """The rows of each table, the header first."""
        return [
            tuple(page.text[row.start : row.end] for row in _find(block, "row"))
            for page, block in self._find_blocks("table", files)
        ]

    def code_blocks(self, files: Iterable[str]) -> list[CodeBlock]:
        """The fenced code of the Markdown files among these; in other formats a fence is something else."""
        return [block for file in files if Path(file).suffix in MARKDOWN for block in _find_code(self._read(file))]

    def image_texts(self, files: Iterable[str]) -> list[str]:
        matches = (match for file in files for match in IMAGE.finditer(self._read(file)))
        return [next(filter(None, match.groups())) for match in matches]

    @cached_property
    def _pages(self) -> tuple[Page, ...]:
        return parse_book(self._source).pages

    def _find_blocks(self, kind: str, files: Iterable[str]) -> Iterator[tuple[Page, Block]]:
        for page in self._pages:
            if page.file.partition("#")[0] in files:
                yield from ((page, each) for block in page.blocks for each in _find_outermost(block, kind))

    def _read_file(self, file: str) -> str:
        path = self._source / file
        is_text = self._source.is_dir() and path.suffix in TEXT_FILES and path.is_file()
        return decode_text(path.read_bytes())[0] if is_text else ""


def _find_outermost(block: Block, kind: str) -> Iterator[Block]:
    if block.kind == kind:
        yield block
    else:
        yield from (each for child in block.children for each in _find_outermost(child, kind))


def _find(block: Block, kind: str) -> Iterator[Block]:
    if block.kind == kind:
        yield block
    yield from (each for child in block.children for each in _find(child, kind))


def _own_text(page: Page, item: Block) -> str:
    """The text of an item before the first list, code or table inside it."""
    inner = [child.start for child in item.children if child.kind in ("list", "code", "table", "admonition")]
    return page.text[item.start : min([item.end, *inner])]


def _find_code(text: str) -> Iterator[CodeBlock]:
    for fence in FENCE.finditer(text):
        title = TITLE.search(fence[2])
        lines = (line.strip() for line in fence[3].split("\n"))
        if kept := tuple(line for line in lines if line and not EDITOR_COMMENT.fullmatch(line)):
            yield CodeBlock((title[1] or title[2] or "") if title else "", kept)
