"""Words wherever they stand become lines and blocks, and none is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from bookbound.book import Page
from bookbound.read.pdf import bound
from bookbound.read.pdf.folio import About, Entry, Folio
from bookbound.read.pdf.lines import lines
from bookbound.read.pdf.pdfium import BOLD, MONOSPACED, TURNED, Word

NUMBERS = st.floats(-10, 900, width=16) | st.sampled_from([72.0, 84.0, 300.0])
LETTERS = st.text("ab\u00e9\ufb01\u05d0-1.\u2022", min_size=1, max_size=6)
WORDS = st.builds(
    lambda text, left, width, base, size, style, joined: Word(text, left, left + width, base, size, style, joined),
    LETTERS,
    NUMBERS,
    st.floats(0, 200, width=16),
    NUMBERS,
    st.sampled_from([0.1, 8.0, 10.0, 10.0, 18.0]),
    st.sampled_from([0, 0, BOLD, MONOSPACED, TURNED]),
    st.booleans(),
)
FOLIOS = st.lists(st.lists(WORDS, max_size=20), min_size=1, max_size=5)
OUTLINES = st.lists(
    st.builds(Entry, st.integers(0, 3), LETTERS, st.integers(-1, 6), st.floats(-1, 900, width=16)), max_size=5
)


@given(FOLIOS, OUTLINES)
@settings(max_examples=300)
def test_no_arrangement_of_words_stops_the_reader_and_every_run_is_exact(
    faults: Callable[[Page], list[str]], pages: list[list[Word]], outline: list[Entry]
) -> None:
    folios = [Folio(number, "", 842.0, tuple(words)) for number, words in enumerate(pages, 1)]
    if not any(pages):
        return
    book = bound(Path("a.pdf"), About("", len(folios), tuple(outline)), folios)
    assert [fault for page in book.pages for fault in faults(page)] == []
    assert book.pages or book.notices


@given(st.lists(WORDS, max_size=30))
def test_the_lines_of_a_page_hold_each_letter_once(words: list[Word]) -> None:
    found = lines(Folio(1, "", 842.0, tuple(words)))
    letters = Counter("".join(word.text for word in words).replace("\ufb01", "fi"))
    shown = Counter("".join(line.text for line in found).replace("\ufb01", "fi"))
    del shown[" "]
    assert shown == letters


def test_a_ligature_is_the_letters_it_stands_for() -> None:
    word = Word("e\ufb03cient \ufb01gure\u00b2", 72, 120, 100, 10, 0, False)
    assert [line.text for line in lines(Folio(1, "", 842.0, (word,)))] == ["efficient figure\u00b2"]


def test_superscripts_and_changes_of_type_leave_words_whole() -> None:
    words = (
        Word("bold", 72, 90, 100, 10, BOLD, False),
        Word("ly", 90, 98, 100, 10, 0, True),
        Word("x", 105, 110, 100, 10, 0, False),
        Word("2", 110, 113, 96.5, 6, 0, True),
    )
    assert [line.text for line in lines(Folio(1, "", 842.0, words))] == ["boldly x2"]
