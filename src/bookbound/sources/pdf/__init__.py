"""Reads a PDF: its chapters and printed pages, without running headers, footers and contents pages."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from bookbound.domain.document import Page, ParsedBook, SourceNotice
from bookbound.domain.errors import SourceError
from bookbound.sources import files
from bookbound.sources.pdf.block_detection import detect_blocks
from bookbound.sources.pdf.block_renderer import Dehyphenator, render_blocks
from bookbound.sources.pdf.chapters import PdfChapter, split_chapters
from bookbound.sources.pdf.heading_detection import Typography, measure_typography, normalize_title
from bookbound.sources.pdf.line_layout import TextLine, extract_lines
from bookbound.sources.pdf.reader_process import OutlineEntry, PdfInfo, PdfPage, open_pdf
from bookbound.sources.titles import fallback_title

MIN_CONTENTS_LINES, MIN_CONTENTS_SHARE = 4, 0.6
_DOT_LEADERS = re.compile(r"(?:\.\s?|…\s?){3,}(?:\d+|[ivxlc]+)$")


def find_contents_pages(pages: Mapping[int, Sequence[TextLine]], outline: Sequence[OutlineEntry]) -> set[int]:
    """The numbers of the pages of which most lines are titles of the outline, or lead to a page number with dots."""
    known = {normalize_title(entry.title) for entry in outline} - {""}
    return {number for number, lines in pages.items() if _is_contents_page(lines, known)}


def _is_contents_page(lines: Sequence[TextLine], known: set[str]) -> bool:
    listed = sum(bool(_DOT_LEADERS.search(line.text)) or normalize_title(line.cells[0].text) in known for line in lines)
    return listed >= max(MIN_CONTENTS_LINES, MIN_CONTENTS_SHARE * len(lines))


MAX_MARGIN_LINES, MARGIN_GAP, MIN_REPEATS, MIN_REPEATED_SHARE, MIN_PAGE_SHARE = 3, 1.6, 3, 0.6, 0.3
_PAGE_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b", re.IGNORECASE)
MarginPosition = tuple[bool, int, float]
"""Head or foot, how far down, and how large."""


def strip_headers_and_footers(folios: Sequence[list[TextLine]]) -> list[list[TextLine]]:
    """The lines of each page without those that are repeated in one place of page after page."""
    slots: dict[MarginPosition, list[tuple[int, TextLine]]] = defaultdict(list)
    for number, lines in enumerate(folios):
        for slot, line in _margin_lines(lines):
            slots[slot].append((number, line))
    running = {id(line) for slot in slots for line in _repeated_lines(_nearby_lines(slots, slot), len(folios))}
    return [[line for line in lines if id(line) not in running] for lines in folios]


def _margin_lines(lines: list[TextLine]) -> list[tuple[MarginPosition, TextLine]]:
    """The lines at the edges of a page that a gap parts from the rest."""
    inward = sorted(lines, key=lambda line: line.base)
    found = []
    for head, order in ((True, inward), (False, inward[::-1])):
        edge = order[: MAX_MARGIN_LINES + 1]
        gaps = [
            i for i, (a, b) in enumerate(pairwise(edge), 1) if abs(b.base - a.base) > MARGIN_GAP * max(a.size, b.size)
        ]
        found += [((head, round(line.base), line.size), line) for line in edge[: gaps[0] if gaps else 0]]
    return found


def _nearby_lines(
    slots: dict[MarginPosition, list[tuple[int, TextLine]]], slot: MarginPosition
) -> list[tuple[int, TextLine]]:
    """The lines of a slot, and of those a point above and below it."""
    head, height, size = slot
    return [each for nearby in (height - 1, height, height + 1) for each in slots.get((head, nearby, size), ())]


def _repeated_lines(found: list[tuple[int, TextLine]], pages: int) -> Iterable[TextLine]:
    """The lines of one place where most of them are repeated: that is what the place is for.

    A line of the text stands at the same height on many pages too, but says something else on each.
    """
    says = Counter(_PAGE_NUMBER.sub("#", line.text) for _, line in found)
    repeated = sum(count for count in says.values() if count > 1)
    over = len({page for page, _ in found})
    return (
        [line for _, line in found]
        if over >= max(MIN_REPEATS, MIN_PAGE_SHARE * pages) and repeated >= MIN_REPEATED_SHARE * len(found)
        else []
    )


MAX_LETTERS = 50_000_000
"""The most letters of a book that are read; the longest books have a tenth of that."""
_NO_TEXT_LAYER = "The PDF has no text layer: run OCR first (for example ocrmypdf) and index what it makes."


class _PageLines(NamedTuple):
    """A printed page with its lines."""

    folio: PdfPage
    lines: list[TextLine]


def is_pdf_source(source: Path) -> bool:
    """Whether a source is a file that is called a PDF."""
    return source.suffix.lower() == ".pdf" and files.is_file(source)


def read_pdf(source: Path) -> ParsedBook:
    """The book in a PDF file."""
    return build_pdf_book(source, *open_pdf(source))


def build_pdf_book(source: Path, about: PdfInfo, folios: Iterable[PdfPage]) -> ParsedBook:
    """The book that the pages of a PDF are."""
    printed = list(_read_page_lines(folios))
    notices = list(_collect_notices(source.name, printed))
    if not any(page.lines for page in printed):
        pictured = any(page.folio.pictures for page in printed)
        raise SourceError(
            _NO_TEXT_LAYER if pictured or not notices else f"The PDF shows no words: {notices[0].message}."
        )
    listing = find_contents_pages({page.folio.number: page.lines for page in printed}, about.outline)
    listing = set() if len(listing) == len(printed) else listing
    notices += _page_notice(source.name, listing, "only a table of contents; left out")
    told = [page.lines if page.folio.number not in listing else [] for page in printed]
    kept = list(chain(*strip_headers_and_footers(told))) or list(chain(*told))
    face = measure_typography(kept)
    found = split_chapters(about.outline, kept, [page.folio.height for page in printed], face)
    title = fallback_title(about.title, source)
    labels = {page.folio.number: page.folio.label for page in printed}
    pages = _build_pages(source.name, title, found, face, labels, Dehyphenator(kept))
    return ParsedBook(title, "pdf", tuple(pages), tuple(notices))


def _read_page_lines(folios: Iterable[PdfPage]) -> Iterator[_PageLines]:
    """The pages with their lines, up to the length of any book; the words are given up page by page."""
    letters = 0
    for folio in folios:
        letters += sum(len(word.text) for word in folio.words)
        if letters > MAX_LETTERS:
            folio = PdfPage(folio.number, fault="is beyond the length of any book")
        found = extract_lines(folio)
        yield _PageLines(folio._replace(words=()), found)


def _collect_notices(file: str, printed: list[_PageLines]) -> Iterator[SourceNotice]:
    faults = dict.fromkeys(page.folio.fault for page in printed if page.folio.fault)
    for fault in faults:
        yield from _page_notice(
            file, {page.folio.number for page in printed if page.folio.fault == fault}, fault, lost=True
        )
    pictured = {page.folio.number for page in printed if page.folio.pictures and not page.lines}
    # A cover is a picture in most books, and has no word that the book does not repeat.
    covers = pictured & {1, len(printed)}
    yield from _page_notice(file, covers, "only a picture; left out")
    yield from _page_notice(file, pictured - covers, "no text layer: run OCR first (for example ocrmypdf)", lost=True)


def _page_notice(file: str, numbers: set[int], message: str, lost: bool = False) -> Iterator[SourceNotice]:
    """One notice for all pages that it is true of, those in a row named by the first and the last."""
    rows: list[list[int]] = []
    for number in sorted(numbers):
        if rows and rows[-1][-1] == number - 1:
            rows[-1][1:] = [number]
        else:
            rows.append([number])
    if rows:
        named = ", ".join("-".join(map(str, row)) for row in rows[:20]) + (", ..." if len(rows) > 20 else "")
        yield SourceNotice(file, f"page{'s' * (len(numbers) > 1)} {named}: {message}", lost)


def _build_pages(
    file: str, title: str, found: list[PdfChapter], face: Typography, labels: Mapping[int, str], hyphens: Dehyphenator
) -> Iterator[Page]:
    begun: Counter[int] = Counter()
    for position, chapter in enumerate(found):
        source, setting, leaves = render_blocks(detect_blocks(chapter.lines, chapter.headings, face), hyphens, labels)
        first = leaves[0].number
        begun[first] += 1
        # Several chapters may begin on one page, and each is a file of its own to whoever counts characters.
        name = f"{file}#page={first}" + (f".{begun[first]}" if begun[first] > 1 else "")
        named = chapter.name or title
        yield Page(name, quote(file), named, named, position, source, *setting, leaves)
