"""Tests that a folder of documents in any formats is read as one book."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sources.docx_files import make_docx, paragraph
from tests.sources.epub_files import make_document, make_epub, make_nav, make_package
from tests.sources.pdf_files import OutlineItem, PlacedText, make_pdf

from bookbound.domain.document import Page, ParsedBook
from bookbound.domain.errors import SourceError
from bookbound.indexing.split import split_page
from bookbound.sources import parse_book
from bookbound.sources.detect import detect_reader

Read = Callable[[dict[str, str | bytes]], ParsedBook]
NOTEBOOK = '{"cells": [{"cell_type": "markdown", "source": "# Sensors\\n\\nA sensor measures."}]}'
HTML = "<!doctype html><title>T</title><body><h1 id=a>Wheels</h1><p>A wheel rolls.</p></body>"


def pdf(title: str, *chapters: str) -> bytes:
    pages = [[PlacedText(72, 80, name, 18), PlacedText(72, 120, f"About {name}.")] for name in chapters]
    outline = [OutlineItem(0, name, number, 80) for number, name in enumerate(chapters, 1)]
    return make_pdf([*pages, []], outline, title=title)


def epub(title: str, heading: str) -> bytes:
    documents: dict[str, str | bytes] = {"a.xhtml": make_document(f"<h1 id='h'>{heading}</h1><p>About {heading}.</p>")}
    package = make_package(["a.xhtml"], title)
    return make_epub({**documents, "book.opf": package, "nav.xhtml": make_nav([(0, heading, "a.xhtml")])})


@pytest.fixture
def book(tmp_path: Path, faults: Callable[[Page], list[str]]) -> Read:
    """Reads a folder with these files and checks the spans and blocks of its pages."""

    def read(contents: dict[str, str | bytes]) -> ParsedBook:
        for name, content in contents.items():
            path = tmp_path / "robot-course" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        found = parse_book(tmp_path / "robot-course")
        assert [fault for page in found.pages for fault in faults(page)] == []
        assert [page.position for page in found.pages] == list(range(len(found.pages)))
        assert len({page.file for page in found.pages}) == len(found.pages)
        return found

    return read


def links(found: ParsedBook) -> list[str]:
    return [chunk.place.link for page in found.pages for chunk in split_page(page, len, 400)[:1]]


def test_several_pdfs_are_one_book_with_a_chapter_for_each_in_natural_order(book: Read) -> None:
    found = book({"2 gears.pdf": pdf("Gears", "Teeth", "Ratios"), "10 belts.pdf": pdf("Belts", "Tension")})
    assert (found.title, found.kind, found.notices) == ("Robot course", "pdf", ())
    assert [(page.chapter, page.title, page.file) for page in found.pages] == [
        ("Gears", "Teeth", "2 gears.pdf#page=1"),
        ("Gears", "Ratios", "2 gears.pdf#page=2"),
        ("Belts", "Tension", "10 belts.pdf#page=1"),
    ]
    assert links(found) == ["2%20gears.pdf#page=1", "2%20gears.pdf#page=2", "10%20belts.pdf#page=1"]
    assert found.page_count == 5


def test_several_epubs_are_one_book_although_their_documents_have_the_same_names(book: Read) -> None:
    found = book({"part 1/a.epub": epub("Motors", "Coils"), "b.epub": epub("Gears", "Teeth")})
    assert (found.kind, [(page.chapter, page.title, page.file) for page in found.pages]) == (
        "epub",
        [("Gears", "Teeth", "b.epub/OEBPS/a.xhtml"), ("Motors", "Coils", "part 1/a.epub/OEBPS/a.xhtml")],
    )
    assert links(found) == ["b.epub#a.xhtml", "part%201/a.epub#a.xhtml"]


def test_all_formats_are_one_book(book: Read) -> None:
    found = book(
        {
            "1-intro.md": "# Intro\n\nAll about robots.",
            "2-motors.pdf": pdf("Motors", "Coils"),
            "3-gears.epub": epub("Gears", "Teeth"),
            "4-sensors.ipynb": NOTEBOOK,
            "5-wheels.html": HTML,
            "6-notes.txt": "Notes\n=====\n\nMore.",
            "7-arms.docx": make_docx(paragraph("Arms", "berschrift1") + paragraph("An arm lifts.")),
            "8-legs.rst": "Legs\n====\n\nA leg walks.",
            "sub/9-hands.html": HTML,
        }
    )
    assert (found.title, found.kind, found.notices) == ("Robot course", "mixed", ())
    assert [(page.chapter, page.title, page.url) for page in found.pages] == [
        ("Intro", "Intro", "/1-intro"),
        ("Motors", "Coils", "2-motors.pdf"),
        ("Gears", "Teeth", "3-gears.epub#a.xhtml"),
        ("Sensors", "Sensors", "/4-sensors.html"),
        ("Wheels", "Wheels", "/5-wheels.html"),
        ("Notes", "Notes", "/6-notes"),
        ("Arms", "Arms", "7-arms.docx"),
        ("Legs", "Legs", "/8-legs"),
        ("Wheels", "Wheels", "/sub/9-hands.html"),
    ]


def test_a_document_in_several_formats_is_read_once_and_the_others_are_named(book: Read) -> None:
    found = book({"a.pdf": pdf("A", "Pdf"), "a.md": "# Markdown", "a.epub": epub("A", "Epub"), "b.pdf": pdf("B", "B")})
    assert [page.title for page in found.pages] == ["Markdown", "B"]
    assert [(notice.file, notice.message) for notice in found.notices] == [
        ("a.epub", "is a.md in another format; left out"),
        ("a.pdf", "is a.md in another format; left out"),
    ]


def test_what_cannot_be_read_is_named_and_the_rest_is_read(book: Read) -> None:
    found = book({"a.md": "# A", "b.pdf": b"broken", "c.docx": b"broken", "d.odt": b"x", "_layouts/page.html": HTML})
    assert [page.file for page in found.pages] == ["a.md"]
    notices = {notice.file: (notice.message, notice.lost) for notice in found.notices}
    assert notices.keys() == {"b.pdf", "c.docx", ".", "_layouts/page.html"}
    assert notices["b.pdf"] == (
        "left out. The file is not a readable PDF: open it in a PDF viewer and save it again.",
        True,
    )
    assert notices["c.docx"][1]
    assert notices["."] == (
        "1 file cannot be read and is left out (save as DOCX, PDF, EPUB or Markdown): d.odt",
        False,
    )


def test_a_folder_in_which_nothing_can_be_read_is_an_error_that_says_why(book: Read) -> None:
    with pytest.raises(SourceError, match=r"b\.pdf: left out\. The file is not a readable PDF"):
        book({"b.pdf": b"broken"})


def test_one_document_in_a_folder_is_the_book(book: Read) -> None:
    found = book({"files/gears.pdf": pdf("Gears", "Teeth", "Ratios")})
    assert (found.title, found.kind, [page.chapter for page in found.pages]) == ("Gears", "pdf", ["Teeth", "Ratios"])
    assert links(found) == ["files/gears.pdf#page=1", "files/gears.pdf#page=2"]


def test_a_generator_or_a_table_of_contents_chooses_the_pages(tmp_path: Path) -> None:
    for name, content in {"a.md": "# A", "b.pdf": "x"}.items():
        (tmp_path / name).write_text(content)
    assert detect_reader(tmp_path).kind == "mixed"
    for name, content, kind in (
        ("SUMMARY.md", "- [A](a.md)", "gitbook"),
        ("mkdocs.yml", "site_name: A\ndocs_dir: .", "mkdocs"),
    ):
        (tmp_path / name).write_text(content)
        assert detect_reader(tmp_path).kind == kind
