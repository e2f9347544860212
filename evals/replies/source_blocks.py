"""Finds the code blocks and the image texts in the source files of a book."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bookbound.sources.decoding import decode_text

FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,})([^\n]*)\n(.*?)^[ \t>]*\1[ \t]*$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r"""title=(?:"([^"]*)"|'([^']*)')""")
IMAGE = re.compile(r"""!\[([^\]]+)\]\(|<img\b[^>]*?\balt=["']([^"']+)["']|^[ \t]*:alt:[ \t]*(.+)$""", re.MULTILINE)
EDITOR_COMMENT = re.compile(r"\W*highlight-(?:start|end|next-line)\W*")
"""A line that Docusaurus removes."""
TEXT_FILES = (".md", ".mdx", ".rst", ".markdown", ".qmd", ".txt")


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A fenced code block: its title, and its lines without indentation and blank lines."""

    title: str
    lines: tuple[str, ...]


class SourceBlocks:
    """What the rules must know of the files of one source; a source that is one file has none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read = cache(self._read_file)

    def code_blocks(self, files: Iterable[str]) -> list[CodeBlock]:
        return [block for file in files for block in _find_code(self._read(file))]

    def image_texts(self, files: Iterable[str]) -> list[str]:
        matches = (match for file in files for match in IMAGE.finditer(self._read(file)))
        return [next(filter(None, match.groups())) for match in matches]

    def _read_file(self, file: str) -> str:
        path = self._folder / file
        is_text = self._folder.is_dir() and path.suffix in TEXT_FILES and path.is_file()
        return decode_text(path.read_bytes())[0] if is_text else ""


def _find_code(text: str) -> Iterator[CodeBlock]:
    for fence in FENCE.finditer(text):
        title = TITLE.search(fence[2])
        lines = (line.strip() for line in fence[3].split("\n"))
        if kept := tuple(line for line in lines if line and not EDITOR_COMMENT.fullmatch(line)):
            yield CodeBlock((title[1] or title[2] or "") if title else "", kept)
