"""Inserts the text of included files into a page and maps positions back to the page's own file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from bookbound.domain.document import SourceNotice, SourceSpan
from bookbound.sources import decoding, files
from bookbound.sources.page_builder import RenderedPage

MAX_INCLUDE_DEPTH = 10
"""How many files may take words from each other in a row."""
# The most characters that all pages together take from other files, and the most files that one page does.
_MAX_INCLUDED_CHARS = 5 * decoding.MAX_PAGE_BYTES
_MAX_INCLUDES_PER_PAGE = 1_000


class Substitution(NamedTuple):
    """Other words in the place of characters `start` to `end` of a page's own file."""

    start: int
    end: int
    text: str


class _SourcePiece(NamedTuple):
    """Characters from `at` on: those of the page's own file at `start` to `end`, or others in the place of them."""

    at: int
    start: int
    end: int
    own: bool


@dataclass(frozen=True, slots=True)
class ExpandedSource:
    """A text of several files."""

    text: str
    pieces: tuple[_SourcePiece, ...]

    def unwoven(self, setting: RenderedPage) -> RenderedPage:
        """What was set of this text, with each word at its place in the page's own file, or where it is called for."""
        if all(piece.own and piece.at == piece.start for piece in self.pieces):
            return setting
        runs: list[SourceSpan] = []
        for piece, group in groupby(self._cut(setting.runs), key=lambda pair: pair[0]):
            parts = [run for _, run in group]
            if piece.own:
                runs += parts
            else:
                at, length = parts[0].at, parts[-1].at + parts[-1].length - parts[0].at
                runs += _make_inexact_spans(at, length, piece.start, piece.end)
        return setting._replace(runs=tuple(runs))

    def _cut(self, runs: Iterable[SourceSpan]) -> Iterable[tuple[_SourcePiece, SourceSpan]]:
        """The runs, cut where the pieces end; those of the page's own file lead into it."""
        i = 0
        for run in runs:
            while i + 1 < len(self.pieces) and self.pieces[i + 1].at <= run.start:
                i += 1
            here = i
            verbatim = run.end - run.start == run.length
            while True:
                piece = self.pieces[here]
                stop = self.pieces[here + 1].at if here + 1 < len(self.pieces) else run.end
                end = min(stop, run.end)
                shift = piece.start - piece.at if piece.own else 0
                whole = not verbatim or end == run.end
                length = run.length if whole else end - run.start
                last = min(run.end + shift, piece.end) if piece.own and not verbatim else end + shift
                yield piece, SourceSpan(run.at, length, run.start + shift, last)
                if whole:
                    break
                run = SourceSpan(run.at + length, run.length - length, end, run.end)
                here += 1


def _make_inexact_spans(at: int, length: int, start: int, end: int) -> list[SourceSpan]:
    """Words that stand for what is written otherwise: a run as long as its source would count as a copy."""
    if length != end - start or length < 2:
        return [SourceSpan(at, length, start, end)]
    return [SourceSpan(at, 1, start, end - 1), SourceSpan(at + 1, length - 1, end - 1, end)]


def substitute(source: str, swaps: Iterable[Substitution]) -> ExpandedSource:
    """The source with the swaps, which stand in order and apart."""
    parts: list[str] = []
    pieces: list[_SourcePiece] = []
    at, done = 0, 0
    for start, end, text in (*swaps, Substitution(len(source), len(source), "")):
        if start > done:
            pieces.append(_SourcePiece(at, done, start, own=True))
            parts.append(source[done:start])
            at += start - done
        if text:
            pieces.append(_SourcePiece(at, start, end, own=False))
            parts.append(text)
            at += len(text)
        done = end
    return ExpandedSource("".join(parts), tuple(pieces))


class IncludeLoader:
    """The files that pages of one book may take words from: those inside of its folder, and so much of them."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._room = _MAX_INCLUDED_CHARS
        self._taken = 0
        self._missing: list[str] = []

    def text(self, path: Path | None, name: str) -> str | None:
        """The words of the file at `path`, which a page calls `name`; nothing where it may not or cannot be read."""
        self._taken += 1
        text = None
        if path and self._taken <= _MAX_INCLUDES_PER_PAGE and files.is_inside(path, self._root) and files.is_file(path):
            text, _ = decoding.load_text(path, name)
        if text is None or len(text) > self._room:
            self._missing.append(name)
            return None
        self._room -= len(text)
        return text

    def notices(self, file: str) -> list[SourceNotice]:
        """What the page `file` asked for since and did not get."""
        missing, self._missing, self._taken = list(dict.fromkeys(self._missing)), [], 0
        if not missing:
            return []
        count = "a file" if len(missing) == 1 else f"{len(missing)} files"
        told = f"takes words from {count} that cannot be read here: {files.join_first_names(missing)}"
        return [SourceNotice(file, told, lost=True)]


_CODE_FENCE = re.compile(r"[ \t>]*(?P<fence>`{3,}|~{3,})(?P<info>.*)")
_INLINE_CODE = re.compile(r"`[^`\n]++`")


def blank_out_code(source: str) -> str:
    """The source with spaces for all that stands in code."""
    lines, fence = [], ""
    for line in source.split("\n"):
        found = _CODE_FENCE.match(line)
        if fence or found:
            closes = found and found["fence"].startswith(fence) and not found["info"].strip()
            fence = "" if fence and closes else fence or (found["fence"] if found else "")
            line = " " * len(line)
        lines.append(_INLINE_CODE.sub(lambda code: " " * len(code[0]), line))
    return "\n".join(lines)
