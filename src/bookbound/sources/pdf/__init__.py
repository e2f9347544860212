"""Reads a PDF: its chapters and printed pages, without running headers, footers and contents pages."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, pairwise
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from bookbound.domain.document import Page, ParsedBook, SourceNotice
from bookbound.domain.errors import SourceError
from bookbound.sources.pdf.block_detection import detect_blocks
from bookbound.sources.pdf.block_renderer import Dehyphenator, render_blocks
from bookbound.sources.pdf.chapters import PdfChapter, split_chapters
from bookbound.sources.pdf.heading_detection import Typography, measure_typography, normalize_title
from bookbound.sources.pdf.line_layout import TextLine, extract_lines
from bookbound.sources.pdf.reader_process import OutlineEntry, PdfInfo, PdfPage, open_pdf
from bookbound.sources.titles import fallback_title

MAX_LETTERS = 50_000_000
"""Ten times the length of the longest books."""
MIN_CONTENTS_LINES = 4
MIN_CONTENTS_SHARE = 0.6
MAX_MARGIN_LINES = 3
MARGIN_GAP = 1.6
MIN_REPEATS = 3
MIN_REPEATED_SHARE = 0.6
MIN_PAGE_SHARE = 0.3
_MAX_PAGE_RANGES = 20
_DOT_LEADERS = re.compile(r"(?:\.\s?|…\s?){3,}(?:\d+|[ivxlc]+)$")
_PAGE_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b", re.IGNORECASE)
_NO_TEXT_LAYER = "The PDF has no text layer: run OCR first (for example ocrmypdf) and index the result."


class MarginPosition(NamedTuple):
    """Where a header or footer line is, and its size."""

    is_header: bool
    height: int
    size: float


class _PrintedPage(NamedTuple):
    page: PdfPage
    lines: list[TextLine]


def read_pdf(source: Path) -> ParsedBook:
    """Read the book in a PDF file."""
    return build_pdf_book(source, *open_pdf(source))


def build_pdf_book(source: Path, info: PdfInfo, pdf_pages: Iterable[PdfPage]) -> ParsedBook:
    """Build a book from the pages of a PDF."""
    printed = list(_extract_page_lines(pdf_pages))
    notices = list(_collect_notices(source.name, printed))
    if not any(page.lines for page in printed):
        is_scan = any(each.page.has_pictures for each in printed) or not notices
        raise SourceError(_NO_TEXT_LAYER if is_scan else f"The PDF has no words: {notices[0].message}.")
    contents = find_contents_pages({each.page.number: each.lines for each in printed}, info.outline)
    contents = set() if len(contents) == len(printed) else contents
    notices += _page_notice(source.name, contents, "only a table of contents; left out")
    page_lines = [each.lines if each.page.number not in contents else [] for each in printed]
    lines = list(chain(*strip_headers_and_footers(page_lines))) or list(chain(*page_lines))
    typography = measure_typography(lines)
    chapters = split_chapters(info.outline, lines, [each.page.height for each in printed], typography)
    title = fallback_title(info.title, source)
    labels = {each.page.number: each.page.label for each in printed}
    pages = _build_pages(source.name, title, chapters, typography, labels, Dehyphenator(lines))
    return ParsedBook(title, "pdf", tuple(pages), tuple(notices), printed_pages=info.page_count)


def find_contents_pages(pages: Mapping[int, Sequence[TextLine]], outline: Sequence[OutlineEntry]) -> set[int]:
    """Find the pages whose lines are mostly titles of the outline, or end with dots and a page number."""
    known = {normalize_title(entry.title) for entry in outline} - {""}

    def is_entry(line: TextLine) -> bool:
        return bool(_DOT_LEADERS.search(line.text)) or normalize_title(line.cells[0].text) in known

    return {
        number
        for number, lines in pages.items()
        if sum(map(is_entry, lines)) >= max(MIN_CONTENTS_LINES, MIN_CONTENTS_SHARE * len(lines))
    }


def strip_headers_and_footers(pages: Sequence[list[TextLine]]) -> list[list[TextLine]]:
    """Remove the lines that repeat at the same position of many pages."""
    by_position: dict[MarginPosition, list[tuple[int, TextLine]]] = defaultdict(list)
    for number, lines in enumerate(pages):
        for position, line in _margin_lines(lines):
            by_position[position].append((number, line))
    repeated: set[int] = set()
    for position in by_position:
        # Rounding may put the same line a point higher or lower.
        heights = range(position.height - 1, position.height + 2)
        near = [each for height in heights for each in by_position.get(position._replace(height=height), ())]
        if _is_repeated(near, len(pages)):
            repeated.update(id(line) for _, line in near)
    return [[line for line in lines if id(line) not in repeated] for lines in pages]


def _margin_lines(lines: list[TextLine]) -> Iterator[tuple[MarginPosition, TextLine]]:
    """Yield the lines at the top and bottom of a page that a gap separates from the rest."""
    downward = sorted(lines, key=lambda line: line.baseline)
    for is_header, order in ((True, downward), (False, downward[::-1])):
        edge = order[: MAX_MARGIN_LINES + 1]
        for end, (a, b) in enumerate(pairwise(edge), 1):
            if abs(b.baseline - a.baseline) > MARGIN_GAP * max(a.size, b.size):
                yield from ((MarginPosition(is_header, round(line.baseline), line.size), line) for line in edge[:end])
                break


def _is_repeated(found: list[tuple[int, TextLine]], page_count: int) -> bool:
    """Whether most lines at a position repeat; lines of the text share a position too, but differ on each page."""
    texts = Counter(_PAGE_NUMBER.sub("#", line.text) for _, line in found)
    repeated = sum(count for count in texts.values() if count > 1)
    pages = len({number for number, _ in found})
    return pages >= max(MIN_REPEATS, MIN_PAGE_SHARE * page_count) and repeated >= MIN_REPEATED_SHARE * len(found)


def _extract_page_lines(pages: Iterable[PdfPage]) -> Iterator[_PrintedPage]:
    """Yield each page with its lines and without its words, which take much memory."""
    letters = 0
    for page in pages:
        letters += sum(len(word.text) for word in page.words)
        if letters > MAX_LETTERS:
            page = PdfPage(page.number, error="is beyond the length of any book")
        yield _PrintedPage(page._replace(words=()), extract_lines(page))


def _collect_notices(file: str, printed: list[_PrintedPage]) -> Iterator[SourceNotice]:
    by_error: dict[str, set[int]] = defaultdict(set)
    for page, _ in printed:
        by_error[page.error].add(page.number)
    for error in filter(None, by_error):
        yield from _page_notice(file, by_error[error], error, lost=True)
    pictures = {page.number for page, lines in printed if page.has_pictures and not lines}
    # Most covers are pictures, and the book repeats their words.
    covers = pictures & {1, len(printed)}
    yield from _page_notice(file, covers, "only a picture; left out")
    yield from _page_notice(file, pictures - covers, "no text layer: run OCR first (for example ocrmypdf)", lost=True)


def _page_notice(file: str, numbers: set[int], message: str, lost: bool = False) -> Iterator[SourceNotice]:
    """Yield one notice for all pages that it is about, if there are any, with page ranges such as 3-5."""
    # Consecutive numbers are equally far from their place in the list.
    groups = groupby(enumerate(sorted(numbers)), key=lambda pair: pair[1] - pair[0])
    ranges = [[number for _, number in group] for _, group in groups]
    if ranges:
        names = [f"{each[0]}-{each[-1]}" if len(each) > 1 else str(each[0]) for each in ranges[:_MAX_PAGE_RANGES]]
        names += ["..."] if len(ranges) > _MAX_PAGE_RANGES else []
        yield SourceNotice(file, f"page{'s' * (len(numbers) > 1)} {', '.join(names)}: {message}", lost)


def _build_pages(
    file: str,
    book_title: str,
    chapters: list[PdfChapter],
    typography: Typography,
    labels: Mapping[int, str],
    dehyphenator: Dehyphenator,
) -> Iterator[Page]:
    starts: Counter[int] = Counter()
    for position, chapter in enumerate(chapters):
        blocks = detect_blocks(chapter.lines, chapter.headings, typography)
        source, rendered, breaks = render_blocks(blocks, dehyphenator, labels)
        first = breaks[0].number
        starts[first] += 1
        # Several chapters may begin on one page, and each needs its own file name.
        name = f"{file}#page={first}" + (f".{starts[first]}" if starts[first] > 1 else "")
        title = chapter.title or book_title
        yield Page(name, quote(file), title, title, position, source, *rendered, breaks)
