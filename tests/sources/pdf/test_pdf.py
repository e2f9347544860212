"""A PDF is read in reading order, and each word keeps its printed page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from tests.sources.pdf_files import HEIGHT, OutlineItem, PageItems, Picture, PlacedText, make_pdf, text_column

from bookbound.domain.document import Page, PageBreak, ParsedBook
from bookbound.domain.errors import SourceError
from bookbound.domain.judgement import Evidence
from bookbound.indexing.split import split_page
from bookbound.sources import parse_book
from bookbound.sources.detect import BOOK_READERS

Read = Callable[..., ParsedBook]
FULL = "words that run from one edge of the page to the other and leave no room"


@pytest.fixture
def book(tmp_path: Path, faults: Callable[[Page], list[str]]) -> Read:
    """Reads a PDF made of these page_items and checks its spans and blocks."""

    def read(page_items: list[PageItems], outline: list[OutlineItem] | None = None, **more: str | int) -> ParsedBook:
        file = tmp_path / "a book.pdf"
        file.write_bytes(make_pdf(page_items, outline or [], **more))  # type: ignore[arg-type]
        found = parse_book(file)
        assert [fault for page in found.pages for fault in faults(page)] == []
        return found

    return read


def visible_blocks(page: Page) -> list[tuple[str, str]]:
    return [(block.kind, page.text[block.start : block.end]) for block in page.blocks]


def paragraphs(page: Page) -> list[str]:
    return [text for kind, text in visible_blocks(page) if kind == "paragraph"]


# The heading of each items of the book below, and its entry in the outline.
CONTENT = [
    ("Preface", OutlineItem(0, "Preface", 1, 80)),
    ("", None),
    ("1 Motors", OutlineItem(0, "1 Motors", 3, 80)),
    ("1.1 Windings", OutlineItem(1, "1.1 Windings", 4, 80)),
    ("", None),
    ("1.2 Magnets", OutlineItem(1, "1.2 Magnets", 6, 80)),
    ("2 Gears", OutlineItem(0, "2 Gears", 7, 80)),
    ("", None),
    ("2.1 Teeth", OutlineItem(1, "2.1 Teeth", 9, 80)),
    ("", None),
    ("", None),
    ("A Tables", OutlineItem(0, "A Tables", 12, 80)),
]
# Page labels: i and ii, then 1 to 9, then A-1 for the appendix.
LABELS = "0 << /S /r >> 2 << /S /D >> 11 << /S /D /P (A-) >>"
# Chapter, number, label and anchor of each printed page.
ADDRESSES = [
    ("Preface", 1, "i", "page=1"),
    ("Preface", 2, "ii", "page=2"),
    ("1 Motors", 3, "1", "page=3"),
    ("1 Motors", 4, "2", "page=4"),
    ("1 Motors", 5, "3", "page=5"),
    ("1 Motors", 6, "4", "page=6"),
    ("2 Gears", 7, "5", "page=7"),
    ("2 Gears", 8, "6", "page=8"),
    ("2 Gears", 9, "7", "page=9"),
    ("2 Gears", 10, "8", "page=10"),
    ("2 Gears", 11, "9", "page=11"),
    ("A Tables", 12, "A-1", "page=12"),
]


def make_page_items() -> list[PageItems]:
    return [
        [
            PlacedText(72, 50, "The Robot Book" if number % 2 else "Second edition", 8),
            *([PlacedText(72, 100, heading, 18, "bold")] if heading else []),
            *text_column(72, 130, [f"Sheet {number} says {FULL},", f"and ends with the number {number}."]),
            PlacedText(290, 800, str(number), 8),
        ]
        for number, (heading, _) in enumerate(CONTENT, 1)
    ]


def test_a_page_break_has_the_chapter_label_and_anchor_of_its_page(book: Read) -> None:
    found = book(make_page_items(), [entry for _, entry in CONTENT if entry], labels=LABELS, title="The Robot Book")
    assert (found.title, found.kind, found.notices) == ("The Robot Book", "pdf", ())
    addresses = [(page.chapter, *each[1:]) for page in found.pages for each in page.page_breaks]
    assert addresses == ADDRESSES
    assert [(page.file, page.url) for page in found.pages] == [
        ("a book.pdf#page=1", "a%20book.pdf"),
        ("a book.pdf#page=3", "a%20book.pdf"),
        ("a book.pdf#page=7", "a%20book.pdf"),
        ("a book.pdf#page=12", "a%20book.pdf"),
    ]
    headings = [
        (b.level, page.text[b.start : b.end]) for page in found.pages for b in page.blocks if b.kind == "heading"
    ]
    assert headings == [
        (1, "Preface"),
        (1, "1 Motors"),
        (2, "1.1 Windings"),
        (2, "1.2 Magnets"),
        (1, "2 Gears"),
        (2, "2.1 Teeth"),
        (1, "A Tables"),
    ]
    for page in found.pages:
        for each, after in zip(page.page_breaks, [*page.page_breaks[1:], PageBreak(len(page.text), 0)], strict=True):
            assert f"Sheet {each.number} says" in page.text[each.at : after.at]


def test_words_are_cited_on_their_own_page_although_their_section_begins_on_an_earlier_one(book: Read) -> None:
    pages = [text_column(72, 100, [f"Sheet {number} says {FULL}."]) for number in range(1, 4)]
    found = book(pages, labels="0 << /S /r >>").pages[0]
    (chunk,) = split_page(found, lambda text: len(text.split()), 256)
    assert (chunk.place.page, chunk.place.link) == (1, "a%20book.pdf#page=1")
    for number, label in ((1, "i"), (2, "ii"), (3, "iii")):
        at = chunk.text.index(f"Sheet {number} says")
        place = Evidence.from_chunk(chunk, at, at + 12, 1.0).place
        assert (place.page, place.page_label, place.link) == (number, label, f"a%20book.pdf#page={number}")
        assert found.source[place.start : place.end] == f"Sheet {number} says"


def test_a_pdf_has_the_pages_of_its_file_also_if_some_have_no_words(book: Read) -> None:
    assert book([*make_page_items(), []]).page_count == len(CONTENT) + 1


def test_an_outline_with_the_same_page_for_all_entries_is_located_by_its_words(book: Read) -> None:
    outline = [entry._replace(page=1, y=0) for _, entry in CONTENT if entry]
    found = book(make_page_items(), outline)
    assert [page.chapter for page in found.pages] == ["Preface", "1 Motors", "2 Gears", "A Tables"]
    assert [page.page_breaks[0].number for page in found.pages] == [1, 3, 7, 12]


def test_a_single_root_entry_of_the_outline_is_the_book_itself(book: Read) -> None:
    outline = [OutlineItem(0, "The Robot Book", 1)]
    outline += [entry._replace(depth=entry.depth + 1) for _, entry in CONTENT if entry]
    assert [page.chapter for page in book(make_page_items(), outline).pages][1:] == ["1 Motors", "2 Gears", "A Tables"]


def test_two_chapters_may_begin_on_one_page(book: Read) -> None:
    items = [
        PlacedText(72, 100, "One", 18),
        PlacedText(72, 130, "First."),
        PlacedText(72, 300, "Two", 18),
        PlacedText(72, 330, "Second."),
    ]
    found = book([items], [OutlineItem(0, "One", 1, 90), OutlineItem(0, "Two", 1, 290)])
    assert [(page.file, page.chapter, page.text) for page in found.pages] == [
        ("a book.pdf#page=1", "One", "One\n\nFirst."),
        ("a book.pdf#page=1.2", "Two", "Two\n\nSecond."),
    ]


def test_a_chapter_whose_title_is_not_on_the_page_begins_where_the_outline_points(book: Read) -> None:
    page_items: list[PageItems] = [
        [PlacedText(72, 100, "Before."), PlacedText(72, 400, "After.")],
        [PlacedText(72, 100, "Last.")],
    ]
    found = book(
        page_items, [OutlineItem(0, "Art", 1, 0), OutlineItem(0, "Picture", 1, 300), OutlineItem(0, "End", 2, 0)]
    )
    assert [(page.chapter, page.text) for page in found.pages] == [
        ("Art", "Before."),
        ("Picture", "After."),
        ("End", "Last."),
    ]


def test_without_an_outline_the_largest_headings_are_chapters(book: Read) -> None:
    found = book(make_page_items())
    assert [page.chapter for page in found.pages] == [heading for heading, _ in CONTENT if heading]
    assert found.title == "A book"


def test_without_headings_twenty_pages_form_a_chapter(book: Read) -> None:
    found = book([[PlacedText(72, 100, f"Words of page {number}.")] for number in range(1, 24)])
    assert [page.chapter for page in found.pages] == ["Pages 1-20", "Pages 21-23"]
    assert [each.number for page in found.pages for each in page.page_breaks] == list(range(1, 24))


def test_running_headers_and_page_numbers_are_removed_and_repeated_text_is_kept(book: Read) -> None:
    page_items: list[PageItems] = [
        [
            PlacedText(72, 50, f"Chapter {1 + number // 2} of the book", 8),
            *text_column(72, 100, [f"{FULL} {number}", "end", f"{number} {FULL}"]),
            PlacedText(72, 600 + 20 * number, "end"),
            PlacedText(500, 800, f"page {number} of 4", 8),
        ]
        for number in range(1, 5)
    ]
    text = "\n".join(page.text for page in book(page_items).pages)
    assert "of the book" not in text
    assert "of 4" not in text
    assert text.count("end") == 8


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["an inter-", "action, and each interaction"], "an interaction, and each interaction"),
        (["a well-", "known word, well-known"], "a well-known word, well-known"),
        (["the rear wheel of a rear-", "wheel car, and rebuild-", "ing it and rebuild"], "rear-wheel"),
        (["the Lagrange-", "Euler equation"], "the Lagrange-Euler equation"),
        (["a rou\u00ad", "tine"], "a routine"),
        (["pages 3-", "7 of it"], "pages 3-7 of it"),
    ],
)
def test_a_hyphenated_word_is_joined_and_a_compound_keeps_its_hyphen(
    book: Read, lines: list[str], expected: str
) -> None:
    [page] = book([text_column(72, 100, lines)]).pages
    assert expected in page.text


def test_a_ligature_does_not_split_its_word(book: Read) -> None:
    assert book([[PlacedText(72, 100, "A \ufb01le de\ufb01nes it.")]]).pages[0].text == "A file defines it."


def test_a_gap_an_indent_or_a_short_line_ends_a_paragraph(book: Read) -> None:
    lines = [
        PlacedText(72, 100, f"One: {FULL} for more words"),
        PlacedText(72, 112, f"and {FULL} for more"),
        PlacedText(72, 130, f"Two: {FULL} for more words"),
        PlacedText(87, 142, f"Three: {FULL} for more"),
        PlacedText(72, 154, "and ends early."),
        PlacedText(72, 166, f"Four: {FULL} for more words"),
        PlacedText(72, 178, "and ends as well"),
        PlacedText(72, 190, f"Five: {FULL} for more words"),
    ]
    [page] = book([lines]).pages
    assert [text.split(":")[0] for text in paragraphs(page)] == ["One", "Two", "Three", "Four", "Five"]
    assert paragraphs(page)[0].endswith(
        "for more words and words that run from one edge of the page to the other and leave no room for more"
    )


def test_a_paragraph_continues_on_the_next_page(book: Read) -> None:
    page_items: list[PageItems] = [[PlacedText(72, 700, f"It {FULL} for")], [PlacedText(72, 100, "more than this.")]]
    [page] = book(page_items).pages
    assert paragraphs(page) == [f"It {FULL} for more than this."]
    [first, second] = page.page_breaks
    assert page.text[second.at :] == "more than this."
    assert (first.number, second.number) == (1, 2)


def test_code_keeps_its_lines_its_indentation_and_its_blank_lines(book: Read) -> None:
    code = ["def f(x):", "    if x:", "        return  x", "", "    return 0"]
    lines = [
        PlacedText(80 + 6 * (len(line) - len(line.lstrip())), 150 + 11 * i, line.strip(), 10, "code")
        for i, line in enumerate(code)
        if line
    ]
    [page] = book([[PlacedText(72, 120, "Call it so:"), *lines, PlacedText(72, 240, "It returns.")]]).pages
    assert visible_blocks(page) == [
        ("paragraph", "Call it so:"),
        ("code", "\n".join(code)),
        ("paragraph", "It returns."),
    ]


LEFT = [f"left {i} fills the narrow column" for i in range(6)]
RIGHT = [f"right {i} fills the other column" for i in range(6)]


def test_two_columns_are_read_one_after_the_other_and_text_across_them_in_its_place(book: Read) -> None:
    above, below = f"Above: {FULL} for more words on it.", f"Below: {FULL} for more words on it."
    items = [
        PlacedText(72, 80, above),
        *[put for pair in zip(text_column(72, 110, LEFT), text_column(320, 113, RIGHT), strict=True) for put in pair],
        PlacedText(72, 200, below),
    ]
    [page] = book([items]).pages
    assert page.text.split() == [*above.split(), *" ".join(LEFT + RIGHT).split(), *below.split()]


def test_a_table_is_read_row_by_row_with_separated_cells(book: Read) -> None:
    cells = [("Joint", "Torque", "Speed"), ("Hip", "120 Nm", "7 rad/s"), ("Knee", "140 Nm", "9 rad/s")]
    rows = [PlacedText(72 + 120 * x, 130 + 14 * y, cell) for y, row in enumerate(cells) for x, cell in enumerate(row)]
    items = [
        PlacedText(72, 100, f"A table: {FULL} for more."),
        *rows,
        PlacedText(72, 200, "Table 1: What the joints do"),
    ]
    [page] = book([items]).pages
    assert visible_blocks(page)[1:] == [
        ("table", "Joint | Torque | Speed\nHip | 120 Nm | 7 rad/s\nKnee | 140 Nm | 9 rad/s"),
        ("paragraph", "Table 1: What the joints do"),
    ]


def test_a_caption_is_its_own_paragraph(book: Read) -> None:
    lines = [f"A line {FULL} for more", f"Figure 3: a gear {FULL}"]
    [page] = book([text_column(72, 100, lines)]).pages
    assert len(paragraphs(page)) == 2


def test_list_items_keep_their_further_lines(book: Read) -> None:
    bullet = [PlacedText(72, 100, "\u2022"), PlacedText(86, 100, f"First {FULL}"), PlacedText(86, 112, "and more")]
    number = [PlacedText(72, 124, "2."), PlacedText(86, 124, "Second")]
    typed = [PlacedText(72, 136, "\u2022"), PlacedText(80, 136, "third.in.type", 10, "code")]
    [page] = book([[*bullet, *number, *typed]]).pages
    [(kind, text)] = visible_blocks(page)
    assert (kind, text) == ("list", f"\u2022 First {FULL} and more\n2. Second\n\u2022 third.in.type")


def test_a_footnote_follows_the_paragraph_that_continues_after_it(book: Read) -> None:
    first = [PlacedText(72, 680, f"It {FULL} for"), PlacedText(72, 760, "1 A note at the foot.", 8)]
    [page] = book([first, [PlacedText(72, 100, "more than this.")]]).pages
    assert paragraphs(page) == [f"It {FULL} for more than this.", "1 A note at the foot."]
    assert [each.number for each in page.page_breaks] == [1, 2, 1]


def test_words_outside_the_page_are_not_read(book: Read) -> None:
    page_items: list[PageItems] = [
        [
            PlacedText(72, 100, "Seen."),
            PlacedText(700, 100, "Right of the page."),
            PlacedText(72, HEIGHT + 90, "Below it."),
        ]
    ]
    assert [page.text for page in book(page_items).pages] == ["Seen."]
    assert [page.text for page in book(page_items, rotate=90).pages] == ["Seen."]


def test_a_table_of_contents_is_left_out_with_a_notice(book: Read) -> None:
    listed = [PlacedText(72, 100 + 14 * i, heading) for i, (heading, _) in enumerate(CONTENT) if heading]
    dotted = [PlacedText(72, 100 + 14 * i, f"Figure of part {i} . . . . . . . {i}") for i in range(6)]
    outline = [entry._replace(page=entry.page + 2) for _, entry in CONTENT if entry]
    found = book([listed, dotted, *make_page_items()], outline)
    [notice] = found.notices
    assert (notice.message, notice.lost) == ("pages 1-2: only a table of contents; left out", False)
    assert found.pages[0].page_breaks[0].number == 3


def test_a_scan_raises_an_error_that_suggests_ocr(book: Read) -> None:
    with pytest.raises(SourceError, match="no text layer: run OCR first"):
        book([[Picture()], [Picture()]])


def test_scanned_pages_are_reported_as_lost_but_covers_are_not(book: Read) -> None:
    words: PageItems = [PlacedText(72, 100, "Words.")]
    found = book([[Picture()], words, [Picture()], [Picture()], words, [Picture()], words])
    assert [(notice.message.split(":")[0], notice.lost) for notice in found.notices] == [
        ("page 1", False),
        ("pages 3-4, 6", True),
    ]


def test_a_pdf_opens_with_an_empty_password_only(book: Read) -> None:
    assert book([[PlacedText(72, 100, "Open words.")]], password="").pages[0].text == "Open words."
    with pytest.raises(SourceError, match="password"):
        book([[PlacedText(72, 100, "Closed words.")]], password="secret")


@pytest.mark.parametrize("content", [b"", b"no PDF", b"%PDF-1.4\n%%EOF", b"PK\x03\x04"])
def test_a_broken_pdf_raises_an_error_with_advice(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.pdf").write_bytes(content)
    with pytest.raises(SourceError, match="save it again"):
        parse_book(tmp_path / "a.pdf")


def test_a_pdf_is_recognised_by_its_file_name(tmp_path: Path) -> None:
    (tmp_path / "b.PDF").write_bytes(b"x")
    (tmp_path / "c.pdf").mkdir()
    reader = next(each for each in BOOK_READERS if each.kind == "pdf")
    assert [reader.matches(tmp_path / name) for name in ("b.PDF", "c.pdf", "none.pdf", ".")] == [
        True,
        False,
        False,
        False,
    ]


@cache
def real_book(shared: Path) -> ParsedBook:
    return parse_book(shared / "data" / "books" / "_files" / "learn2love.pdf")


@pytest.mark.slow
def test_a_real_book_has_the_chapters_of_an_outline_whose_entries_name_one_page(
    shared: Path, faults: Callable[[Page], list[str]]
) -> None:
    found = real_book(shared)
    assert (found.kind, found.title, [notice.lost for notice in found.notices]) == ("pdf", "Learn2love", [False])
    assert [(page.chapter, page.page_breaks[0].number) for page in found.pages] == [
        ("Introduction", 3),
        ("1.0 - Programming basics", 5),
        ("2.0 - Introducing L\u00d6VE", 55),
        ("3.0 - Programming in-depth", 164),
    ]
    numbers = sorted({each.number for page in found.pages for each in page.page_breaks})
    assert numbers == [number for number in range(3, 201) if number != 90], "page 90 is blank"
    basics = found.pages[1]
    sections = [basics.text[b.start : b.end] for b in basics.blocks if b.kind == "heading" and b.level == 2]
    assert sections == SECTIONS
    assert not any("1.1 - Interactive coding" in text for text in paragraphs(basics)[:50])
    assert [fault for page in found.pages for fault in faults(page)] == []


# The headings of the first chapter in its Markdown source, one for each entry of the outline.
SECTIONS = [
    "Interactive coding",
    "Strings",
    "Nil and variables",
    "Using functions",
    "Comments in code",
    "Scripting and printing",
    "Making functions",
    "Booleans",
    "Flow control",
    "While",
    "Type checking",
    "First game",
    "Tables (part 1)",
    "Tables (part 2)",
    "Exercises",
    "For loops (part 1)",
    "For loops (part 2)",
    "Scopes",
    "Chapter review",
]


@pytest.mark.slow
def test_a_real_book_has_the_same_words_as_its_markdown_source(shared: Path) -> None:
    books = shared / "data" / "books"
    actual = words_of(real_book(shared))
    expected = words_of(parse_book(books / "learn2love"))
    lost = expected - actual
    # The PDF shows plots as pictures and cuts off lines of code that are too wide for the paper.
    assert lost.total() < 0.009 * expected.total()
    prose = {word: count for word, count in lost.items() if len(word) > 3 and word.isalpha() and count > 2}
    assert set(prose) <= PLOTTED | {"getpoints", "player", "entity", "spawn", "they", "this", "shape", "value"}


PLOTTED = set(
    "true stroke points domain attr opacity width fill fntype graphtype scatter disablezoom grid xaxis yaxis label"
    " axis invert data".split()
)


def words_of(found: ParsedBook) -> Counter[str]:
    return Counter(word.lower() for page in found.pages for word in re.findall(r"\w+", page.text))
