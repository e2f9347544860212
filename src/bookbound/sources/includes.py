"""Inserts the text of included files into a page and maps positions back to the page's own file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from bookbound.domain.document import SourceNotice, SourceSpan
from bookbound.sources import file_loader, files
from bookbound.sources.page_builder import RenderedPage

MAX_INCLUDE_DEPTH = 10
_MAX_INCLUDED_CHARS = 5 * file_loader.MAX_PAGE_BYTES
_MAX_INCLUDES_PER_PAGE = 1_000


class Substitution(NamedTuple):
    """Replaces the characters `start` to `end` of a page's own file by `text`."""

    start: int
    end: int
    text: str


class _SourcePiece(NamedTuple):
    """The characters from `at` on are those of the page's own file at `start` to `end`, or replace them."""

    at: int
    start: int
    end: int
    is_own: bool


@dataclass(frozen=True, slots=True)
class ExpandedSource:
    """A page's source with all substitutions made."""

    text: str
    pieces: tuple[_SourcePiece, ...]

    def restore_positions(self, rendered: RenderedPage) -> RenderedPage:
        """Map a page that was rendered from this text to the page's own file; included text maps to its include."""
        if all(piece.is_own and piece.at == piece.start for piece in self.pieces):
            return rendered
        spans: list[SourceSpan] = []
        for piece, group in groupby(self._cut(rendered.spans), key=lambda pair: pair[0]):
            parts = [span for _, span in group]
            if piece.is_own:
                spans += parts
            else:
                at, length = parts[0].at, parts[-1].at + parts[-1].length - parts[0].at
                last = SourceSpan(at, length, piece.start, piece.end)
                if length == piece.end - piece.start > 1:
                    # One span as long as its source would count as a copy; two spans do not.
                    spans.append(SourceSpan(at, 1, piece.start, piece.end - 1))
                    last = SourceSpan(at + 1, length - 1, piece.end - 1, piece.end)
                spans.append(last)
        return rendered._replace(spans=tuple(spans))

    def _cut(self, spans: Iterable[SourceSpan]) -> Iterable[tuple[_SourcePiece, SourceSpan]]:
        """Cut the spans where the pieces end, and shift those of the page's own file."""
        i = 0
        for span in spans:
            while i + 1 < len(self.pieces) and self.pieces[i + 1].at <= span.start:
                i += 1
            here, verbatim = i, span.is_verbatim
            while True:
                piece = self.pieces[here]
                stop = self.pieces[here + 1].at if here + 1 < len(self.pieces) else span.end
                end = min(stop, span.end)
                shift = piece.start - piece.at if piece.is_own else 0
                is_last = not verbatim or end == span.end
                length = span.length if is_last else end - span.start
                last = min(span.end + shift, piece.end) if piece.is_own and not verbatim else end + shift
                yield piece, SourceSpan(span.at, length, span.start + shift, last)
                if is_last:
                    break
                span = SourceSpan(span.at + length, span.length - length, end, span.end)
                here += 1


def substitute(source: str, substitutions: Iterable[Substitution]) -> ExpandedSource:
    """Apply substitutions, which must be in order and must not overlap."""
    parts: list[str] = []
    pieces: list[_SourcePiece] = []
    at = done = 0
    for start, end, text in (*substitutions, Substitution(len(source), len(source), "")):
        if start > done:
            pieces.append(_SourcePiece(at, done, start, is_own=True))
            parts.append(source[done:start])
            at += start - done
        if text:
            pieces.append(_SourcePiece(at, start, end, is_own=False))
            parts.append(text)
            at += len(text)
        done = end
    return ExpandedSource("".join(parts), tuple(pieces))


class IncludeLoader:
    """Loads the files that the pages of one book include, from inside its folder and within limits."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._chars_left = _MAX_INCLUDED_CHARS
        self._loaded = 0
        self._missing: list[str] = []

    def load(self, path: Path | None, name: str) -> str | None:
        """Return the text of the file that a page calls `name`, or nothing if it cannot be read here."""
        self._loaded += 1
        text = None
        is_allowed = path and self._loaded <= _MAX_INCLUDES_PER_PAGE and files.is_inside(path, self._root)
        if path and is_allowed and files.is_file(path):
            text = file_loader.load_text(path, name).value
        if text is None or len(text) > self._chars_left:
            self._missing.append(name)
            return None
        self._chars_left -= len(text)
        return text

    def take_notices(self, file: str) -> list[SourceNotice]:
        """Report what the page `file` included without success, and start the count for the next page."""
        missing, self._missing, self._loaded = list(dict.fromkeys(self._missing)), [], 0
        if not missing:
            return []
        count = "a file" if len(missing) == 1 else f"{len(missing)} files"
        message = f"includes {count} that cannot be read here: {files.join_first_names(missing)}"
        return [SourceNotice(file, message, lost=True)]


def parse_line_range(text: str) -> slice:
    """Parse line numbers such as `2`, `2:`, `:10` and `2:10`."""
    first, colon, last = text.partition(":")
    start = max(int(first[:9]) - 1, 0) if first.isdecimal() else 0
    if last.isdecimal():
        return slice(start, int(last[:9]))
    return slice(start, None if colon or not first else start + 1)


_CODE_FENCE = re.compile(r"[ \t>]*(?P<fence>`{3,}|~{3,})(?P<info>.*)")
_INLINE_CODE = re.compile(r"`[^`\n]++`")


def blank_out_code(source: str) -> str:
    """Replace code by spaces, so that a search for include statements skips it."""
    lines, fence = [], ""
    for line in source.split("\n"):
        match = _CODE_FENCE.match(line)
        if fence or match:
            closes = match and match["fence"].startswith(fence) and not match["info"].strip()
            fence = "" if fence and closes else fence or (match["fence"] if match else "")
            line = " " * len(line)
        lines.append(_INLINE_CODE.sub(lambda code: " " * len(code[0]), line))
    return "\n".join(lines)
