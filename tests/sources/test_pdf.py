"""What a PDF shows comes out in reading order, each word with the printed page it stands on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from tests.sources.pdf_files import HEIGHT, Outlined, Picture, Put, Sheet, column, pdf

from bookbound.domain.document import Page, PageBreak, ParsedBook
from bookbound.domain.errors import SourceError
from bookbound.sources import parse_book
from bookbound.sources.pdf import is_pdf_source

Read = Callable[..., ParsedBook]
FULL = "words that run from one edge of the page to the other and leave no room"


@pytest.fixture
def book(tmp_path: Path, faults: Callable[[Page], list[str]]) -> Read:
    """Reads the PDF that these sheets make; its runs and blocks are exact."""

    def made(sheets: list[Sheet], outline: list[Outlined] | None = None, **more: str | int) -> ParsedBook:
        file = tmp_path / "a book.pdf"
        file.write_bytes(pdf(sheets, outline or [], **more))  # type: ignore[arg-type]
        found = parse_book(file)
        assert [fault for page in found.pages for fault in faults(page)] == []
        return found

    return made


def shown(page: Page) -> list[tuple[str, str]]:
    return [(block.kind, page.text[block.start : block.end]) for block in page.blocks]


def paragraphs(page: Page) -> list[str]:
    return [text for kind, text in shown(page) if kind == "paragraph"]


# Each sheet of the book below, as it is written: the heading that stands on it, and what the outline calls it.
WRITTEN = [
    ("Preface", Outlined(0, "Preface", 1, 80)),
    ("", None),
    ("1 Motors", Outlined(0, "1 Motors", 3, 80)),
    ("1.1 Windings", Outlined(1, "1.1 Windings", 4, 80)),
    ("", None),
    ("1.2 Magnets", Outlined(1, "1.2 Magnets", 6, 80)),
    ("2 Gears", Outlined(0, "2 Gears", 7, 80)),
    ("", None),
    ("2.1 Teeth", Outlined(1, "2.1 Teeth", 9, 80)),
    ("", None),
    ("", None),
    ("A Tables", Outlined(0, "A Tables", 12, 80)),
]
# Page labels: two in Roman numbers, nine in Arabic ones from 1, and the appendix as A-1.
LABELS = "0 << /S /r >> 2 << /S /D >> 11 << /S /D /P (A-) >>"
# Where each page of the PDF is found: its chapter, number, label and the anchor that a browser opens.
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


def sheets_written() -> list[Sheet]:
    return [
        [
            Put(72, 50, "The Robot Book" if number % 2 else "Second edition", 8),
            *([Put(72, 100, heading, 18, "bold")] if heading else []),
            *column(72, 130, [f"Sheet {number} says {FULL},", f"and ends with the number {number}."]),
            Put(290, 800, str(number), 8),
        ]
        for number, (heading, _) in enumerate(WRITTEN, 1)
    ]


def test_outline_labels_and_page_numbers_are_addresses(book: Read) -> None:
    found = book(sheets_written(), [entry for _, entry in WRITTEN if entry], labels=LABELS, title="The Robot Book")
    assert (found.title, found.kind, found.notices) == ("The Robot Book", "pdf", ())
    addresses = [(page.chapter, *leaf[1:]) for page in found.pages for leaf in page.leaves]
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
        for leaf, after in zip(page.leaves, [*page.leaves[1:], PageBreak(len(page.text), 0)], strict=True):
            assert f"Sheet {leaf.number} says" in page.text[leaf.at : after.at]


def test_an_outline_that_names_one_page_for_all_is_found_by_its_words(book: Read) -> None:
    outline = [entry._replace(page=1, y=0) for _, entry in WRITTEN if entry]
    found = book(sheets_written(), outline)
    assert [page.chapter for page in found.pages] == ["Preface", "1 Motors", "2 Gears", "A Tables"]
    assert [page.leaves[0].number for page in found.pages] == [1, 3, 7, 12]


def test_a_single_entry_over_all_others_is_the_book(book: Read) -> None:
    outline = [Outlined(0, "The Robot Book", 1)]
    outline += [entry._replace(depth=entry.depth + 1) for _, entry in WRITTEN if entry]
    assert [page.chapter for page in book(sheets_written(), outline).pages][1:] == ["1 Motors", "2 Gears", "A Tables"]


def test_two_chapters_may_begin_on_one_page(book: Read) -> None:
    sheet = [Put(72, 100, "One", 18), Put(72, 130, "First."), Put(72, 300, "Two", 18), Put(72, 330, "Second.")]
    found = book([sheet], [Outlined(0, "One", 1, 90), Outlined(0, "Two", 1, 290)])
    assert [(page.file, page.chapter, page.text) for page in found.pages] == [
        ("a book.pdf#page=1", "One", "One\n\nFirst."),
        ("a book.pdf#page=1.2", "Two", "Two\n\nSecond."),
    ]


def test_a_chapter_without_its_words_on_the_page_begins_where_the_outline_points(book: Read) -> None:
    sheets: list[Sheet] = [[Put(72, 100, "Before."), Put(72, 400, "After.")], [Put(72, 100, "Last.")]]
    found = book(sheets, [Outlined(0, "Art", 1, 0), Outlined(0, "Picture", 1, 300), Outlined(0, "End", 2, 0)])
    assert [(page.chapter, page.text) for page in found.pages] == [
        ("Art", "Before."),
        ("Picture", "After."),
        ("End", "Last."),
    ]


def test_without_an_outline_the_largest_headings_are_chapters(book: Read) -> None:
    found = book(sheets_written())
    assert [page.chapter for page in found.pages] == [heading for heading, _ in WRITTEN if heading]
    assert found.title == "A book"


def test_without_headings_twenty_pages_stand_together(book: Read) -> None:
    found = book([[Put(72, 100, f"Words of page {number}.")] for number in range(1, 24)])
    assert [page.chapter for page in found.pages] == ["Pages 1-20", "Pages 21-23"]
    assert [leaf.number for page in found.pages for leaf in page.leaves] == list(range(1, 24))


def test_running_heads_and_page_numbers_go_and_equal_lines_of_the_text_stay(book: Read) -> None:
    sheets: list[Sheet] = [
        [
            Put(72, 50, f"Chapter {1 + number // 2} of the book", 8),
            *column(72, 100, [f"{FULL} {number}", "end", f"{number} {FULL}"]),
            Put(72, 600 + 20 * number, "end"),
            Put(500, 800, f"page {number} of 4", 8),
        ]
        for number in range(1, 5)
    ]
    text = "\n".join(page.text for page in book(sheets).pages)
    assert "of the book" not in text
    assert "of 4" not in text
    assert text.count("end") == 8


@pytest.mark.parametrize(
    ("lines", "shown_as"),
    [
        (["an inter-", "action, and each interaction"], "an interaction, and each interaction"),
        (["a well-", "known word, well-known"], "a well-known word, well-known"),
        (["the rear wheel of a rear-", "wheel car, and rebuild-", "ing it and rebuild"], "rear-wheel"),
        (["the Lagrange-", "Euler equation"], "the Lagrange-Euler equation"),
        (["a rou\u00ad", "tine"], "a routine"),
        (["pages 3-", "7 of it"], "pages 3-7 of it"),
    ],
)
def test_a_word_that_a_line_parts_is_one_again_and_a_compound_keeps_its_hyphen(
    book: Read, lines: list[str], shown_as: str
) -> None:
    [page] = book([column(72, 100, lines)]).pages
    assert shown_as in page.text


def test_a_ligature_leaves_its_word_whole(book: Read) -> None:
    assert book([[Put(72, 100, "A \ufb01le de\ufb01nes it.")]]).pages[0].text == "A file defines it."


def test_a_gap_an_indent_or_a_short_line_ends_a_paragraph(book: Read) -> None:
    lines = [
        Put(72, 100, f"One: {FULL} for more words"),
        Put(72, 112, f"and {FULL} for more"),
        Put(72, 130, f"Two: {FULL} for more words"),
        Put(87, 142, f"Three: {FULL} for more"),
        Put(72, 154, "and ends early."),
        Put(72, 166, f"Four: {FULL} for more words"),
        Put(72, 178, "and ends as well"),
        Put(72, 190, f"Five: {FULL} for more words"),
    ]
    [page] = book([lines]).pages
    assert [text.split(":")[0] for text in paragraphs(page)] == ["One", "Two", "Three", "Four", "Five"]
    assert paragraphs(page)[0].endswith(
        "for more words and words that run from one edge of the page to the other and leave no room for more"
    )


def test_a_paragraph_goes_on_over_the_end_of_a_page(book: Read) -> None:
    sheets: list[Sheet] = [[Put(72, 700, f"It {FULL} for")], [Put(72, 100, "more than this.")]]
    [page] = book(sheets).pages
    assert paragraphs(page) == [f"It {FULL} for more than this."]
    [first, second] = page.leaves
    assert page.text[second.at :] == "more than this."
    assert (first.number, second.number) == (1, 2)


def test_code_keeps_its_lines_its_indentation_and_its_blank_lines(book: Read) -> None:
    code = ["def f(x):", "    if x:", "        return  x", "", "    return 0"]
    lines = [
        Put(80 + 6 * (len(line) - len(line.lstrip())), 150 + 11 * i, line.strip(), 10, "code")
        for i, line in enumerate(code)
        if line
    ]
    [page] = book([[Put(72, 120, "Call it so:"), *lines, Put(72, 240, "It returns.")]]).pages
    assert shown(page) == [("paragraph", "Call it so:"), ("code", "\n".join(code)), ("paragraph", "It returns.")]


LEFT = [f"left {i} fills the narrow column" for i in range(6)]
RIGHT = [f"right {i} fills the other column" for i in range(6)]


def test_two_columns_are_read_one_after_the_other_and_what_spans_them_in_its_place(book: Read) -> None:
    above, below = f"Above: {FULL} for more words on it.", f"Below: {FULL} for more words on it."
    sheet = [
        Put(72, 80, above),
        *[put for pair in zip(column(72, 110, LEFT), column(320, 113, RIGHT), strict=True) for put in pair],
        Put(72, 200, below),
    ]
    [page] = book([sheet]).pages
    assert page.text.split() == [*above.split(), *" ".join(LEFT + RIGHT).split(), *below.split()]


def test_a_table_is_read_row_by_row_with_its_cells_apart(book: Read) -> None:
    cells = [("Joint", "Torque", "Speed"), ("Hip", "120 Nm", "7 rad/s"), ("Knee", "140 Nm", "9 rad/s")]
    rows = [Put(72 + 120 * x, 130 + 14 * y, cell) for y, row in enumerate(cells) for x, cell in enumerate(row)]
    sheet = [Put(72, 100, f"A table: {FULL} for more."), *rows, Put(72, 200, "Table 1: What the joints do")]
    [page] = book([sheet]).pages
    assert shown(page)[1:] == [
        ("table", "Joint | Torque | Speed\nHip | 120 Nm | 7 rad/s\nKnee | 140 Nm | 9 rad/s"),
        ("paragraph", "Table 1: What the joints do"),
    ]


def test_a_caption_stands_by_itself(book: Read) -> None:
    lines = [f"A line {FULL} for more", f"Figure 3: a gear {FULL}"]
    [page] = book([column(72, 100, lines)]).pages
    assert len(paragraphs(page)) == 2


def test_items_are_a_list_and_keep_their_further_lines(book: Read) -> None:
    bullet = [Put(72, 100, "\u2022"), Put(86, 100, f"First {FULL}"), Put(86, 112, "and more")]
    number = [Put(72, 124, "2."), Put(86, 124, "Second")]
    typed = [Put(72, 136, "\u2022"), Put(80, 136, "third.in.type", 10, "code")]
    [page] = book([[*bullet, *number, *typed]]).pages
    [(kind, text)] = shown(page)
    assert (kind, text) == ("list", f"\u2022 First {FULL} and more\n2. Second\n\u2022 third.in.type")


def test_a_footnote_follows_the_paragraph_that_goes_on_over_it(book: Read) -> None:
    first = [Put(72, 680, f"It {FULL} for"), Put(72, 760, "1 A note at the foot.", 8)]
    [page] = book([first, [Put(72, 100, "more than this.")]]).pages
    assert paragraphs(page) == [f"It {FULL} for more than this.", "1 A note at the foot."]
    assert [leaf.number for leaf in page.leaves] == [1, 2, 1]


def test_words_across_the_page_and_beside_it(book: Read) -> None:
    sheets: list[Sheet] = [
        [Put(72, 100, "Seen."), Put(700, 100, "Beside the page."), Put(72, HEIGHT + 90, "Below it.")]
    ]
    assert [page.text for page in book(sheets).pages] == ["Seen."]
    assert [page.text for page in book(sheets, rotate=90).pages] == ["Seen."]


def test_a_table_of_contents_is_left_out_and_told_of(book: Read) -> None:
    listed = [Put(72, 100 + 14 * i, heading) for i, (heading, _) in enumerate(WRITTEN) if heading]
    dotted = [Put(72, 100 + 14 * i, f"Figure of part {i} . . . . . . . {i}") for i in range(6)]
    outline = [entry._replace(page=entry.page + 2) for _, entry in WRITTEN if entry]
    found = book([listed, dotted, *sheets_written()], outline)
    [notice] = found.notices
    assert (notice.message, notice.lost) == ("pages 1-2: only a table of contents; left out", False)
    assert found.pages[0].leaves[0].number == 3


def test_a_scan_has_no_text_layer(book: Read) -> None:
    with pytest.raises(SourceError, match="no text layer: run OCR first"):
        book([[Picture()], [Picture()]])


def test_pages_that_are_scanned_are_told_of_and_a_cover_is_none_of_them(book: Read) -> None:
    words: Sheet = [Put(72, 100, "Words.")]
    found = book([[Picture()], words, [Picture()], [Picture()], words, [Picture()], words])
    assert [(notice.message.split(":")[0], notice.lost) for notice in found.notices] == [
        ("page 1", False),
        ("pages 3-4, 6", True),
    ]


def test_an_empty_password_opens_and_another_does_not(book: Read) -> None:
    assert book([[Put(72, 100, "Open words.")]], password="").pages[0].text == "Open words."
    with pytest.raises(SourceError, match="password"):
        book([[Put(72, 100, "Closed words.")]], password="secret")


@pytest.mark.parametrize("content", [b"", b"no PDF", b"%PDF-1.4\n%%EOF", b"PK\x03\x04"])
def test_what_is_no_pdf_says_so(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.pdf").write_bytes(content)
    with pytest.raises(SourceError, match="save it anew"):
        parse_book(tmp_path / "a.pdf")


def test_a_pdf_is_known_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "b.PDF").write_bytes(b"x")
    (tmp_path / "c.pdf").mkdir()
    assert [is_pdf_source(tmp_path / name) for name in ("b.PDF", "c.pdf", "none.pdf", ".")] == [
        True,
        False,
        False,
        False,
    ]


@cache
def real(shared: Path) -> ParsedBook:
    return parse_book(shared / "data" / "books" / "_files" / "learn2love.pdf")


def test_the_real_book_has_the_chapters_of_its_outline_though_every_entry_names_its_first_page(
    shared: Path, faults: Callable[[Page], list[str]]
) -> None:
    found = real(shared)
    assert (found.kind, found.title, [notice.lost for notice in found.notices]) == ("pdf", "Learn2love", [False])
    assert [(page.chapter, page.leaves[0].number) for page in found.pages] == [
        ("Introduction", 3),
        ("1.0 - Programming basics", 5),
        ("2.0 - Introducing L\u00d6VE", 55),
        ("3.0 - Programming in-depth", 164),
    ]
    numbers = sorted({leaf.number for page in found.pages for leaf in page.leaves})
    assert numbers == [number for number in range(3, 201) if number != 90], "page 90 is blank"
    basics = found.pages[1]
    sections = [basics.text[b.start : b.end] for b in basics.blocks if b.kind == "heading" and b.level == 2]
    assert sections == SECTIONS
    assert not any("1.1 - Interactive coding" in text for text in paragraphs(basics)[:50])
    assert [fault for page in found.pages for fault in faults(page)] == []


# The headings of the first chapter's pages as its Markdown source has them, one for each entry of the outline.
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


def test_the_real_book_says_in_a_pdf_what_its_source_says(shared: Path) -> None:
    books = shared / "data" / "books"
    said = words_of(real(shared))
    wanted = words_of(parse_book(books / "learn2love"))
    lost = wanted - said
    # Plots are pictures there, and lines of code that are too wide for the paper are cut off in the file itself.
    assert lost.total() < 0.009 * wanted.total()
    prose = {word: count for word, count in lost.items() if len(word) > 3 and word.isalpha() and count > 2}
    assert set(prose) <= PLOTTED | {"getpoints", "player", "entity", "spawn", "they", "this", "shape", "value"}


PLOTTED = set(
    "true stroke points domain attr opacity width fill fntype graphtype scatter disablezoom grid xaxis yaxis label"
    " axis invert data".split()
)


def words_of(found: ParsedBook) -> Counter[str]:
    return Counter(word.lower() for page in found.pages for word in re.findall(r"\w+", page.text))
