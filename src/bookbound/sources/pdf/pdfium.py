"""Extracts words and their positions from a PDF with PDFium in a child process, one JSON line per page.

This file runs as a script, so it imports nothing from the package.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Iterator
from itertools import chain, islice
from math import atan2, hypot, isfinite, pi
from pathlib import Path
from typing import Any, NamedTuple

MAX_MEMORY_BYTES = 2 << 30
MAX_PAGE_CPU_SECONDS = 30
MAX_FILE_BYTES = 1 << 30
"""PDFium scans the whole file if its cross-reference table is broken."""
MAX_PAGES = 10_000
"""A small file can name one page any number of times, and each time costs as much as a page of its own."""
MAX_PAGE_LETTERS = 200_000
MAX_OUTLINE_ENTRIES = 10_000
MAX_STRING_LENGTH = 500
MAX_COORDINATE = 1e6
MONOSPACED, BOLD, ROTATED = 1, 2, 4
_FIXED_PITCH_FLAG = 1
_FORCE_BOLD_FLAG = 1 << 18
# From "semi-bold" on, in the scale of CSS and OpenType.
_BOLD_WEIGHT = 600
_MONO_NAMES = ("mono", "courier", "consola", "typewriter", "cmtt", "menlo", "inconsolata", "fixed", "sourcecode")
# PDFium gives these instead of a hyphen that ends a line.
_HYPHENS = "\x02\ufffe"


class PdfWord(NamedTuple):
    """A word and its position in reading direction; it `is_joined` if no space separates it from the previous word."""

    text: str
    left: float
    right: float
    baseline: float
    size: float
    style: int
    is_joined: bool


class _TextStyle(NamedTuple):
    """The style of a text object; `turn` counts quarter turns counterclockwise."""

    size: float
    style: int
    turn: int


class _Letter(NamedTuple):
    text: str
    left: float
    right: float
    baseline: float
    style: _TextStyle


def main() -> None:
    """Print the file's metadata, then its pages from the number given on the command line."""
    import pypdfium2

    _set_limits()
    if Path(sys.argv[1]).stat().st_size > MAX_FILE_BYTES:
        _print_json({"error": "large"})
        return
    try:
        document = pypdfium2.PdfDocument(sys.argv[1])
        info = {"title": document.get_metadata_value("Title")[:MAX_STRING_LENGTH], "pages": len(document)}
    except pypdfium2.PdfiumError as error:
        _print_json({"error": "password" if error.err_code in (4, 5) else "broken"})
        return
    if len(document) > MAX_PAGES:
        _print_json({"error": "pages"})
        return
    _print_json({**info, "outline": list(_read_outline(document))})
    for number in range(int(sys.argv[2]), len(document)):
        _set_limits()
        try:
            _print_json({"label": document.get_page_label(number)[:MAX_STRING_LENGTH], **_read_page(document[number])})
        except (pypdfium2.PdfiumError, UnicodeError) as error:
            _print_json({"broken": type(error).__name__})


def _set_limits() -> None:
    """Limit the memory of the process and the processor time of the next page, if the system can."""
    if sys.platform == "win32":
        return
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(usage.ru_utime + usage.ru_stime) + MAX_PAGE_CPU_SECONDS
    limits = {resource.RLIMIT_AS: MAX_MEMORY_BYTES, resource.RLIMIT_CPU: seconds, resource.RLIMIT_CORE: 0}
    for kind, soft in limits.items():
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (soft if hard < 0 else min(soft, hard), hard))


def _print_json(value: dict[str, Any]) -> None:
    print(json.dumps(value), flush=True)


def _read_outline(document: Any) -> Iterator[tuple[int, str, int, float]]:
    """Yield depth, title, page and height of each entry; -1 for a page or height that it does not name."""
    for entry in islice(document.get_toc(), MAX_OUTLINE_ENTRIES):
        target = entry.get_dest()
        page = target.get_index() if target else None
        view = target.get_view()[1] if target else []
        height = view[1] if len(view) == 3 else view[0] if len(view) == 1 else -1.0
        yield entry.level, entry.get_title()[:MAX_STRING_LENGTH], -1 if page is None else page, height


def _read_page(page: Any) -> dict[str, Any]:
    import pypdfium2.raw as raw

    words = list(_group_words(_read_letters(page.get_textpage(), page.get_cropbox(), page.get_rotation() // 90)))
    has_objects = not words and raw.FPDFPage_CountObjects(page) > 0
    return {"height": page.get_height(), "words": words, "pictures": has_objects}


def _group_words(letters: Iterator[_Letter | None]) -> Iterator[PdfWord]:
    """Group letters of one style that neither a space nor a wide gap separates."""
    text = ""
    first = last = _Letter("", 0.0, 0.0, 0.0, _TextStyle(0.0, 0, 0))
    joined = False
    for letter in chain(letters, [None]):
        near = letter is not None and _is_adjacent(last, letter)
        if text and (not near or (letter and letter.style != last.style)):
            # PDFium counts in UTF-16, so a letter can be two halves.
            whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            yield PdfWord(whole, first.left, last.right, first.baseline, *first.style[:2], joined)
            text, joined = "", near
        elif not text:
            joined = joined and near
        if letter is None:
            joined = False
            continue
        first = first if text else letter
        text, last = text + letter.text, letter


def _is_adjacent(before: _Letter, letter: _Letter) -> bool:
    size = max(before.style.size, letter.style.size)
    level = abs(letter.baseline - before.baseline) < 0.5 * size and before.style.turn == letter.style.turn
    # The letters of a ligature all have its position.
    return level and -1.1 * size < letter.left - before.right < 0.25 * size


def _read_letters(text: Any, box: tuple[float, ...], turn: int) -> Iterator[_Letter | None]:
    """Yield the letters that are visible on the page, and None for a space between them."""
    import pypdfium2.raw as raw

    styles: dict[int, _TextStyle] = {}
    x, y, edges = ctypes.c_double(), ctypes.c_double(), raw.FS_RECTF()
    for at in range(min(text.count_chars(), MAX_PAGE_LETTERS)):
        letter = chr(raw.FPDFText_GetUnicode(text, at))
        is_control = letter < " " and letter not in _HYPHENS
        if is_control or letter.isspace() or raw.FPDFText_IsGenerated(text, at):
            yield None
            continue
        raw.FPDFText_GetCharOrigin(text, at, x, y)
        # Skips letters outside of the page, and those whose position is not a number.
        if not (box[0] <= x.value <= box[2] and box[1] <= y.value <= box[3]):
            continue
        raw.FPDFText_GetLooseCharBox(text, at, edges)
        text_object = raw.FPDFText_GetTextObject(text, at)
        key = ctypes.cast(text_object, ctypes.c_void_p).value or 0
        if key not in styles:
            styles[key] = _read_style(raw, text, at, text_object, turn)
        style = styles[key]
        left, base = _to_reading_position(x.value, y.value, box, style.turn)
        corners = ((edges.left, edges.bottom), (edges.right, edges.top))
        right = max(_to_reading_position(*corner, box, style.turn)[0] for corner in corners)
        yield _Letter("-" if letter in _HYPHENS else letter, left, right, base, style)


def _to_reading_position(x: float, y: float, box: tuple[float, ...], turn: int) -> tuple[float, float]:
    """Return the distance from the top left corner of the page, rotated so that its text runs to the right."""
    from_left, from_right = x - box[0], box[2] - x
    from_bottom, from_top = y - box[1], box[3] - y
    turned = ((from_left, from_top), (from_bottom, from_left), (from_right, from_bottom), (from_top, from_right))
    position = turned[turn]
    across, down = (round(min(max(value, -MAX_COORDINATE), MAX_COORDINATE), 2) for value in position)
    return across, down


def _read_style(raw: Any, text: Any, at: int, text_object: Any, page_turn: int) -> _TextStyle:
    matrix = raw.FS_MATRIX(1, 0, 0, 1, 0, 0)
    raw.FPDFText_GetMatrix(text, at, matrix)
    size = round(raw.FPDFText_GetFontSize(text, at) * hypot(matrix.c, matrix.d), 1)
    size = size if 0 < size < MAX_COORDINATE else 0.1
    angle = atan2(matrix.b, matrix.a)
    turn = round(angle / (pi / 2)) % 4 if isfinite(angle) else 0
    rotated = ROTATED * (turn != page_turn)
    font = raw.FPDFTextObj_GetFont(text_object) if text_object else None
    if not font:
        return _TextStyle(size, rotated, turn)
    buffer = ctypes.create_string_buffer(MAX_STRING_LENGTH)
    raw.FPDFFont_GetBaseFontName(font, buffer, MAX_STRING_LENGTH)
    name = buffer.value.decode("utf-8", "replace").lower().replace(" ", "")
    flags = max(0, raw.FPDFFont_GetFlags(font))
    mono = flags & _FIXED_PITCH_FLAG or any(part in name for part in _MONO_NAMES)
    bold = flags & _FORCE_BOLD_FLAG or "bold" in name or raw.FPDFFont_GetWeight(font) >= _BOLD_WEIGHT
    return _TextStyle(size, MONOSPACED * bool(mono) + BOLD * bool(bold) + rotated, turn)


if __name__ == "__main__":
    main()
