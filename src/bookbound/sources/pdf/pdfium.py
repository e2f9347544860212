"""Extracts words and their positions from a PDF with PDFium in a child process, one JSON line per page."""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Iterator
from itertools import islice
from math import atan2, hypot, isfinite, pi
from pathlib import Path
from typing import Any, NamedTuple

MAX_MEMORY_BYTES, MAX_PAGE_CPU_SECONDS = 2 << 30, 30
"""The most memory that reading a file may take, and the most processor time that one page of it may."""
MAX_FILE_BYTES = 1 << 30
"""The most bytes of a file: PDFium looks through all of it where its table is broken."""
MAX_PAGE_LETTERS, MAX_OUTLINE_ENTRIES, MAX_PAGE_OBJECTS, MAX_STRING_LENGTH, MAX_COORDINATE = (
    200_000,
    10_000,
    200,
    500,
    1e6,
)
MONOSPACED, BOLD, ROTATED = 1, 2, 4
_FIXED_PITCH, _FORCED_BOLD, _BOLD_WEIGHT = 1, 1 << 18, 600
_MONO_NAMES = ("mono", "courier", "consola", "typewriter", "cmtt", "menlo", "inconsolata", "fixed", "sourcecode")
_HYPHENS = "\x02\ufffe"


class PdfWord(NamedTuple):
    """A word at its place, seen as it is read; `joined` where no space parts it from the one before."""

    text: str
    left: float
    right: float
    base: float
    size: float
    style: int
    joined: bool


class _TextStyle(NamedTuple):
    """What the letters of one text object have in common; `turn` counts quarters, against the clock."""

    size: float
    style: int
    turn: int


class _PositionedLetter(NamedTuple):
    """One letter at its place."""

    text: str
    left: float
    right: float
    base: float
    hand: _TextStyle


def main() -> None:
    """Print what the file says of itself, then its pages from the one that the command line names."""
    import pypdfium2

    _set_limits()
    if Path(sys.argv[1]).stat().st_size > MAX_FILE_BYTES:
        _print_json({"fault": "large"})
        return
    try:
        document = pypdfium2.PdfDocument(sys.argv[1])
        about = {"title": document.get_metadata_value("Title")[:MAX_STRING_LENGTH], "pages": len(document)}
    except pypdfium2.PdfiumError as error:
        _print_json({"fault": "password" if error.err_code in (4, 5) else "broken"})
        return
    _print_json({**about, "outline": list(_read_outline(document))})
    for number in range(int(sys.argv[2]), len(document)):
        _set_limits()
        try:
            _print_json({"label": document.get_page_label(number)[:MAX_STRING_LENGTH], **_read_page(document[number])})
        except (pypdfium2.PdfiumError, UnicodeError) as error:
            _print_json({"broken": type(error).__name__})


def _set_limits() -> None:
    """Let the next page have its time, and the whole no more than its memory; a system without limits has none."""
    try:
        import resource
    except ImportError:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = int(used.ru_utime + used.ru_stime) + MAX_PAGE_CPU_SECONDS
    for what, soft in ((resource.RLIMIT_AS, MAX_MEMORY_BYTES), (resource.RLIMIT_CPU, most), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(what)[1]
        resource.setrlimit(what, (soft if hard < 0 else min(soft, hard), hard))


def _print_json(what: dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)


def _read_outline(document: Any) -> Iterator[tuple[int, str, int, float]]:
    """Depth, title, page and height of each entry; -1 for a page that it does not name."""
    for entry in islice(document.get_toc(), MAX_OUTLINE_ENTRIES):
        place = entry.get_dest()
        page = place.get_index() if place else None
        view = place.get_view()[1] if place else []
        height = view[1] if len(view) == 3 else view[0] if len(view) == 1 else -1.0
        yield entry.level, entry.get_title()[:MAX_STRING_LENGTH], -1 if page is None else page, height


def _read_page(page: Any) -> dict[str, Any]:
    import pypdfium2.raw as raw

    words = list(_group_words(_read_letters(page.get_textpage(), page.get_cropbox(), page.get_rotation() // 90)))
    objects = min(raw.FPDFPage_CountObjects(page), MAX_PAGE_OBJECTS) if not words else 0
    kinds = {raw.FPDFPageObj_GetType(raw.FPDFPage_GetObject(page, i)) for i in range(objects)}
    return {"height": page.get_height(), "words": words, "pictures": bool(kinds)}


def _group_words(letters: Iterator[_PositionedLetter | None]) -> Iterator[PdfWord]:
    """The words in the order of the file: letters that no space and no wide gap parts, in one hand."""
    held = ""
    first = last = _PositionedLetter("", 0.0, 0.0, 0.0, _TextStyle(0.0, 0, 0))
    joined = False
    for letter in letters:
        near = letter is not None and _is_adjacent(last, letter)
        if held and (not near or (letter and letter.hand != last.hand)):
            yield PdfWord(_join_surrogates(held), first.left, last.right, first.base, *first.hand[:2], joined)
            held, joined = "", near
        elif not held:
            joined = joined and near
        if letter is None:
            joined = False
            continue
        first = first if held else letter
        held, last = held + letter.text, letter
    if held:
        yield PdfWord(_join_surrogates(held), first.left, last.right, first.base, *first.hand[:2], joined)


def _is_adjacent(before: _PositionedLetter, letter: _PositionedLetter) -> bool:
    size = max(before.hand.size, letter.hand.size)
    level = abs(letter.base - before.base) < 0.5 * size and before.hand.turn == letter.hand.turn
    # The letters of a ligature all stand where it does.
    return level and -1.1 * size < letter.left - before.right < 0.25 * size


def _read_letters(text: Any, box: tuple[float, ...], turn: int) -> Iterator[_PositionedLetter | None]:
    """The letters that stand on the page, each seen as it is read, and nothing where a space parts them."""
    import pypdfium2.raw as raw

    hands: dict[int, _TextStyle] = {}
    x, y, edges = ctypes.c_double(), ctypes.c_double(), raw.FS_RECTF()
    for at in range(min(text.count_chars(), MAX_PAGE_LETTERS)):
        letter = chr(raw.FPDFText_GetUnicode(text, at))
        control = letter < " " and letter not in _HYPHENS
        if control or letter.isspace() or raw.FPDFText_IsGenerated(text, at):
            yield None
            continue
        raw.FPDFText_GetCharOrigin(text, at, x, y)
        # What is written beside the page nobody sees; a place that is no number is nowhere.
        if not (box[0] <= x.value <= box[2] and box[1] <= y.value <= box[3]):
            continue
        raw.FPDFText_GetLooseCharBox(text, at, edges)
        held = raw.FPDFText_GetTextObject(text, at)
        key = ctypes.cast(held, ctypes.c_void_p).value or 0
        if key not in hands:
            hands[key] = _read_style(raw, text, at, held, turn)
        own = hands[key]
        left, base = _to_reading_position(x.value, y.value, box, own.turn)
        corners = ((edges.left, edges.bottom), (edges.right, edges.top))
        right = max(_to_reading_position(*corner, box, own.turn)[0] for corner in corners)
        yield _PositionedLetter("-" if letter in _HYPHENS else letter, left, right, base, own)


def _to_reading_position(x: float, y: float, box: tuple[float, ...], turn: int) -> tuple[float, float]:
    """A place from the top left corner of the page, turned so that the words there run to the right."""
    left, bottom, right, top = box
    place = ((x - left, top - y), (y - bottom, x - left), (right - x, y - bottom), (top - y, right - x))[turn]
    across, down = (round(min(max(at, -MAX_COORDINATE), MAX_COORDINATE), 2) for at in place)
    return across, down


def _read_style(raw: Any, text: Any, at: int, held: Any, turn: int) -> _TextStyle:
    matrix = raw.FS_MATRIX(1, 0, 0, 1, 0, 0)
    raw.FPDFText_GetMatrix(text, at, matrix)
    size = round(raw.FPDFText_GetFontSize(text, at) * hypot(matrix.c, matrix.d), 1)
    size = size if 0 < size < MAX_COORDINATE else 0.1
    angle = atan2(matrix.b, matrix.a)
    own = round(angle / (pi / 2)) % 4 if isfinite(angle) else 0
    turned = ROTATED * (own != turn)
    font = raw.FPDFTextObj_GetFont(held) if held else None
    if not font:
        return _TextStyle(size, turned, own)
    name = ctypes.create_string_buffer(MAX_STRING_LENGTH)
    raw.FPDFFont_GetBaseFontName(font, name, MAX_STRING_LENGTH)
    plain = name.value.decode("utf-8", "replace").lower().replace(" ", "")
    flags = max(0, raw.FPDFFont_GetFlags(font))
    mono = flags & _FIXED_PITCH or any(part in plain for part in _MONO_NAMES)
    bold = flags & _FORCED_BOLD or "bold" in plain or raw.FPDFFont_GetWeight(font) >= _BOLD_WEIGHT
    return _TextStyle(size, MONOSPACED * bool(mono) + BOLD * bool(bold) + turned, own)


def _join_surrogates(letters: str) -> str:
    """Letters as a text, two halves of one character put together."""
    return letters.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


if __name__ == "__main__":
    main()
