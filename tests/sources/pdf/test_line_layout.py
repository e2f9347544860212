"""Words at any position become lines and blocks, and none is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from bookbound.domain.document import Page
from bookbound.sources.pdf import build_pdf_book
from bookbound.sources.pdf.line_layout import extract_lines
from bookbound.sources.pdf.pdfium import BOLD, MONOSPACED, ROTATED, PdfWord
from bookbound.sources.pdf.reader_process import OutlineEntry, PdfInfo, PdfPage

NUMBERS = st.floats(-10, 900, width=16) | st.sampled_from([72.0, 84.0, 300.0])
LETTERS = st.text("ab\u00e9\ufb01\u05d0-1.\u2022", min_size=1, max_size=6)
WORDS = st.builds(
    lambda text, left, width, base, size, style, joined: PdfWord(text, left, left + width, base, size, style, joined),
    LETTERS,
    NUMBERS,
    st.floats(0, 200, width=16),
    NUMBERS,
    st.sampled_from([0.1, 8.0, 10.0, 10.0, 18.0]),
    st.sampled_from([0, 0, BOLD, MONOSPACED, ROTATED]),
    st.booleans(),
)
PAGES = st.lists(st.lists(WORDS, max_size=20), min_size=1, max_size=5)
OUTLINES = st.lists(
    st.builds(OutlineEntry, st.integers(0, 3), LETTERS, st.integers(-1, 6), st.floats(-1, 900, width=16)), max_size=5
)


@given(PAGES, OUTLINES)
@settings(max_examples=100)
def test_every_arrangement_of_words_is_read_with_exact_spans(
    faults: Callable[[Page], list[str]], pages: list[list[PdfWord]], outline: list[OutlineEntry]
) -> None:
    pdf_pages = [PdfPage(number, "", 842.0, tuple(words)) for number, words in enumerate(pages, 1)]
    if not any(pages):
        return
    book = build_pdf_book(Path("a.pdf"), PdfInfo("", len(pdf_pages), tuple(outline)), pdf_pages)
    assert [fault for page in book.pages for fault in faults(page)] == []
    assert book.pages or book.notices


@given(st.lists(WORDS, max_size=30))
def test_the_lines_of_a_page_contain_each_letter_once(words: list[PdfWord]) -> None:
    found = extract_lines(PdfPage(1, "", 842.0, tuple(words)))
    letters = Counter("".join(word.text for word in words).replace("\ufb01", "fi"))
    shown = Counter("".join(line.text for line in found).replace("\ufb01", "fi"))
    del shown[" "]
    assert shown == letters


def test_a_ligature_becomes_its_letters() -> None:
    word = PdfWord("e\ufb03cient \ufb01gure\u00b2", 72, 120, 100, 10, 0, False)
    assert [line.text for line in extract_lines(PdfPage(1, "", 842.0, (word,)))] == ["efficient figure\u00b2"]


def test_superscripts_and_font_changes_do_not_split_words() -> None:
    words = (
        PdfWord("bold", 72, 90, 100, 10, BOLD, False),
        PdfWord("ly", 90, 98, 100, 10, 0, True),
        PdfWord("x", 105, 110, 100, 10, 0, False),
        PdfWord("2", 110, 113, 96.5, 6, 0, True),
    )
    assert [line.text for line in extract_lines(PdfPage(1, "", 842.0, words))] == ["boldly x2"]
