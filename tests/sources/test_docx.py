"""Tests that a DOCX file is read with its structure, and within limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.sources.docx_files import NAMESPACE, list_item, make_docx, paragraph, table

from bookbound.domain.document import Block, Page, ParsedBook
from bookbound.domain.errors import SourceError
from bookbound.sources import parse_book

Read = Callable[..., ParsedBook]


@pytest.fixture
def book(tmp_path: Path, faults: Callable[[Page], list[str]]) -> Read:
    """Reads a DOCX file with this body and checks its spans and blocks."""

    def read(body: str, **parts: str) -> ParsedBook:
        (tmp_path / "my notes.docx").write_bytes(make_docx(body, **parts))
        found = parse_book(tmp_path / "my notes.docx")
        assert [fault for page in found.pages for fault in faults(page)] == []
        return found

    return read


def shape(page: Page) -> list[tuple[str, str]]:
    """Return the kind and text of each block without children."""

    def walk(blocks: tuple[Block, ...]) -> Iterator[tuple[str, str]]:
        for block in blocks:
            yield from walk(block.children) if block.children else [(block.kind, page.text[block.start : block.end])]

    return list(walk(page.blocks))


def test_chapters_begin_at_headings_of_level_1_in_any_language_of_the_word_processor(book: Read) -> None:
    body = [
        paragraph("Robots", "Titel"),
        paragraph("Motors 3", "Verzeichnis1"),
        paragraph("Before all chapters."),
        paragraph("Motors", "berschrift1", extra='<w:bookmarkStart w:id="1" w:name="_Toc1"/>'),
        paragraph("A motor turns."),
        paragraph("Windings", "berschrift2"),
        paragraph("A winding is a coil."),
        paragraph("Gears", "Eigene"),
        paragraph("A gear has teeth."),
    ]
    found = book("".join(body), title="Another title")
    assert (found.title, found.kind, found.notices) == ("Robots", "docx", ())
    assert [(page.file, page.url, page.title, page.chapter, page.position) for page in found.pages] == [
        ("my notes.docx", "my%20notes.docx", "Robots", "Robots", 0),
        ("my notes.docx#1", "my%20notes.docx", "Motors", "Motors", 1),
        ("my notes.docx#2", "my%20notes.docx", "Gears", "Gears", 2),
    ]
    assert [shape(page) for page in found.pages] == [
        [("heading", "Robots"), ("paragraph", "Before all chapters.")],
        [
            ("heading", "Motors"),
            ("paragraph", "A motor turns."),
            ("heading", "Windings"),
            ("paragraph", "A winding is a coil."),
        ],
        [("heading", "Gears"), ("paragraph", "A gear has teeth.")],
    ]
    assert [(block.level, block.anchor) for block in found.pages[1].blocks if block.kind == "heading"] == [
        (1, "_Toc1"),
        (2, ""),
    ]


def test_lists_are_nested_and_numbered(book: Read) -> None:
    body = list_item("Unpack.") + list_item("Check the box.", 1) + list_item("Connect.") + paragraph("Done.")
    (page,) = book(body + paragraph("Loose item", "Aufzaehlung")).pages
    assert page.text == "1. Unpack.\n  - Check the box.\n2. Connect.\n\nDone.\n\n- Loose item"
    (outer, _, _) = page.blocks
    assert [block.kind for block in outer.children] == ["item", "item"]
    assert [block.kind for block in outer.children[0].children] == ["paragraph", "list"]


def test_a_table_is_read_row_by_row_and_a_table_of_one_cell_is_its_content(book: Read) -> None:
    (page,) = book(table(("Joint", "Ratio"), ("Elbow", ""), ("Wrist", "80")) + table(("A frame.",))).pages
    assert shape(page) == [("row", "Joint | Ratio"), ("row", "Elbow"), ("row", "Wrist | 80"), ("paragraph", "A frame.")]


def test_code_by_style_keeps_its_lines_and_indentation(book: Read) -> None:
    body = paragraph("def f():", "Quelltext") + paragraph("    return 1", "Quelltext") + paragraph("Words.")
    assert shape(book(body).pages[0]) == [("code", "def f():\n    return 1"), ("paragraph", "Words.")]


def test_a_footnote_follows_its_paragraph(book: Read) -> None:
    note = f'<w:footnote w:id="2">{paragraph("Since 1955.")}</w:footnote>'
    body = paragraph("A drive.", extra='<w:r><w:footnoteReference w:id="2"/></w:r>') + paragraph("More.")
    assert book(body, footnotes=note).pages[0].text == "A drive.\n\nSince 1955.\n\nMore."


def test_deleted_hidden_and_repeated_words_are_left_out(book: Read) -> None:
    hidden = "<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>"
    deleted = "<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del><w:r><w:instrText>PAGE</w:instrText></w:r>"
    box = f"<w:txbxContent>{paragraph('In a box.')}</w:txbxContent>"
    drawing = f"<w:r><AlternateContent><Choice>{box}</Choice><Fallback>{box}</Fallback></AlternateContent></w:r>"
    (page,) = book(paragraph("Words.", extra=hidden + deleted + drawing)).pages
    assert shape(page) == [("paragraph", "Words."), ("paragraph", "In a box.")]


def test_content_controls_and_inserted_words_are_read(book: Read) -> None:
    inserted = "<w:ins><w:r><w:tab/><w:t>inserted.</w:t></w:r></w:ins>"
    body = f"<w:sdt><w:sdtContent>{paragraph('Words', extra=inserted)}</w:sdtContent></w:sdt>"
    assert book(body).pages[0].text == "Words inserted."


def test_without_a_title_the_metadata_or_the_file_names_the_book(book: Read) -> None:
    assert book(paragraph("Words."), title="Robots").title == "Robots"
    assert book(paragraph("Words.")).title == "My notes"


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"document": "<broken"}, "not a readable DOCX"),
        ({"document": f"<w:document {NAMESPACE}><w:body/></w:document>"}, "has no words"),
        ({"prologue": '<!DOCTYPE d [<!ENTITY a "words"><!ENTITY b "&a;&a;&a;&a;">]>'}, "not a readable DOCX"),
        (
            {"document": f"<w:document {NAMESPACE}><w:body>{'<w:p/>' * 5_000_000}</w:body></w:document>"},
            "not a readable",
        ),
    ],
    ids=["broken", "empty", "entities", "too large"],
)
def test_a_file_that_cannot_be_read_raises_an_error_with_advice(
    book: Read, parts: dict[str, str], message: str
) -> None:
    with pytest.raises(SourceError, match=message):
        book(paragraph("Words &b;") if "prologue" in parts else "", **parts)


def test_deep_nesting_is_read_without_recursion(book: Read) -> None:
    depth = 5_000
    boxed = "<w:tbl><w:tr><w:tc>" * depth + paragraph("Deep words.") + "</w:tc></w:tr></w:tbl>" * depth
    assert "Deep words." in book(boxed).pages[0].text
    wrapped = "<w:sdt><w:sdtContent>" * depth + paragraph("Words.") + "</w:sdtContent></w:sdt>" * depth
    assert book(wrapped).pages[0].text == "Words."


def test_bytes_that_are_no_archive_raise_an_error_with_advice(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(b"words")
    with pytest.raises(SourceError, match="not an archive"):
        parse_book(tmp_path / "a.docx")
