"""An EPUB is read in the order of its spine, with its chapters, anchors and printed pages."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sources.epub_files import CONTAINER, TocItem, make_document, make_epub, make_nav, make_ncx, make_package

from bookbound.domain.document import Block, Page, ParsedBook
from bookbound.domain.errors import SourceError
from bookbound.sources import parse_book
from bookbound.sources.detect import BOOK_READERS

Read = Callable[[dict[str, str | bytes]], ParsedBook]

DOCUMENTS: dict[str, str] = {
    "cover.xhtml": make_document('<img src="c.png" alt="Cover"/>', "Cover", 'epub:type="cover"'),
    "title.xhtml": make_document('<section epub:type="titlepage"><h1>Robots</h1><p>A. Author</p></section>'),
    "preface.xhtml": make_document(
        '<section><span epub:type="pagebreak" id="p-i" title="i"/><h1 id="preface">Preface</h1><p>Why this book.</p>'
        '<h2 id="thanks">Thanks</h2><p>To all.</p></section>'
    ),
    "part one/ch1.xhtml": make_document(
        '<h1 id="motors">Motors</h1><p>A motor<a epub:type="noteref" href="#n1">1</a> turns.</p>'
        '<section id="windings"><h2>Windings</h2>'
        '<p>Copper <span epub:type="pagebreak" id="p2" title="2"/>wire.</p></section><h2 id="magnets">Magnets</h2>'
        '<figure><img src="m.png" alt="not shown"/><figcaption>A magnet.</figcaption></figure>'
        '<h3><a id="poles"/>Poles</h3><p>North and south.</p>'
        '<aside epub:type="footnote" id="n1"><p>By Faraday.</p></aside>'
    ),
    "ch2.xhtml": make_document(
        '<a id="p3"/><h1 id="gears">Gears</h1><p>Gears mesh.</p><h2 id="teeth">Teeth</h2><p>They touch.</p>'
        '<h2 id="ratios">Ratios</h2><p>Few to many.</p><h1 id="belts">Belts</h1><p>Belts slip.</p>'
        '<h2 id="tension">Tension</h2><p>Tight enough.</p>'
    ),
    "ch2b.xhtml": make_document('<h2 id="pulleys">Pulleys</h2><p>They guide.</p><pre id="code">x = 1\n  y = 2</pre>'),
    "notes.xhtml": make_document('<h1 id="notes">Notes</h1><p>Outside of the main text.</p>'),
}
LISTED: list[TocItem] = [
    (0, "Preface", "preface.xhtml"),
    (0, "1. Motors", "part%20one/ch1.xhtml"),
    (1, "Windings", "part%20one/ch1.xhtml#windings"),
    (2, "Wire", "part%20one/ch1.xhtml#p2"),
    (1, "Magnets", "part%20one/ch1.xhtml#magnets"),
    (0, "2. Gears", "ch2.xhtml#gears"),
    (0, "3. Belts", "ch2.xhtml#belts"),
    (1, "Tension", "ch2.xhtml#tension"),
]
PRINTED = [("i", "preface.xhtml#p-i"), ("2", "part%20one/ch1.xhtml#p2"), ("3", "ch2.xhtml#p3")]
# File, chapter, level, text and URL of each heading.
ADDRESSES = [
    ("OEBPS/preface.xhtml", "Preface", 1, "Preface", "robots.epub#preface.xhtml%23preface"),
    ("OEBPS/preface.xhtml", "Preface", 2, "Thanks", "robots.epub#preface.xhtml%23thanks"),
    ("OEBPS/part one/ch1.xhtml", "1. Motors", 1, "Motors", "robots.epub#part%20one/ch1.xhtml%23motors"),
    ("OEBPS/part one/ch1.xhtml", "1. Motors", 2, "Windings", "robots.epub#part%20one/ch1.xhtml%23windings"),
    ("OEBPS/part one/ch1.xhtml", "1. Motors", 2, "Magnets", "robots.epub#part%20one/ch1.xhtml%23magnets"),
    ("OEBPS/part one/ch1.xhtml", "1. Motors", 3, "Poles", "robots.epub#part%20one/ch1.xhtml%23poles"),
    ("OEBPS/ch2.xhtml", "2. Gears", 1, "Gears", "robots.epub#ch2.xhtml%23gears"),
    ("OEBPS/ch2.xhtml", "2. Gears", 2, "Teeth", "robots.epub#ch2.xhtml%23teeth"),
    ("OEBPS/ch2.xhtml", "2. Gears", 2, "Ratios", "robots.epub#ch2.xhtml%23ratios"),
    ("OEBPS/ch2.xhtml#belts", "3. Belts", 1, "Belts", "robots.epub#ch2.xhtml%23belts"),
    ("OEBPS/ch2.xhtml#belts", "3. Belts", 2, "Tension", "robots.epub#ch2.xhtml%23tension"),
    ("OEBPS/ch2b.xhtml", "3. Belts", 2, "Pulleys", "robots.epub#ch2b.xhtml%23pulleys"),
    ("OEBPS/notes.xhtml", "3. Belts", 1, "Notes", "robots.epub#notes.xhtml%23notes"),
]


def epub3_files() -> dict[str, str | bytes]:
    files: dict[str, str | bytes] = {**DOCUMENTS}
    files["book.opf"] = make_package(list(DOCUMENTS), "Robots & Gears", nonlinear=["notes.xhtml"])
    files["nav.xhtml"] = make_nav(LISTED, PRINTED)
    return files


def epub2_files() -> dict[str, str | bytes]:
    files: dict[str, str | bytes] = {**DOCUMENTS}
    files["book.opf"] = make_package(list(DOCUMENTS), "Robots & Gears", "2.0", nonlinear=["notes.xhtml"])
    files["toc.ncx"] = make_ncx(LISTED, PRINTED)
    return files


@pytest.fixture
def book(tmp_path: Path, faults: Callable[[Page], list[str]]) -> Read:
    """Reads an EPUB made of these files and checks its spans and blocks."""

    def read(files: dict[str, str | bytes]) -> ParsedBook:
        (tmp_path / "robots.epub").write_bytes(make_epub(files))
        found = parse_book(tmp_path / "robots.epub")
        assert [fault for page in found.pages for fault in faults(page)] == []
        return found

    return read


def headings(found: ParsedBook) -> list[tuple[str, str, int, str, str]]:
    def inside(blocks: tuple[Block, ...]) -> list[Block]:
        return [block for outer in blocks for block in (outer, *inside(outer.children))]

    return [
        (page.file, page.chapter, block.level, page.text[block.start : block.end], f"{page.url}%23{block.anchor}")
        for page in found.pages
        for block in inside(page.blocks)
        if block.kind == "heading"
    ]


@pytest.mark.parametrize("files", [epub3_files(), epub2_files()], ids=["EPUB 3", "EPUB 2"])
def test_spine_toc_and_ids_give_the_order_chapters_and_anchors(book: Read, files: dict[str, str | bytes]) -> None:
    found = book(files)
    assert (found.title, found.kind) == ("Robots & Gears", "epub")
    assert headings(found) == ADDRESSES
    assert [page.position for page in found.pages] == list(range(len(found.pages)))
    assert [(page.title, page.url) for page in found.pages] == [
        ("Preface", "robots.epub#preface.xhtml"),
        ("Motors", "robots.epub#part%20one/ch1.xhtml"),
        ("Gears", "robots.epub#ch2.xhtml"),
        ("Belts", "robots.epub#ch2.xhtml"),
        ("3. Belts", "robots.epub#ch2b.xhtml"),
        ("Notes", "robots.epub#notes.xhtml"),
    ]


@pytest.mark.parametrize("files", [epub3_files(), epub2_files()], ids=["EPUB 3", "EPUB 2"])
def test_printed_pages_continue_in_the_next_document(book: Read, files: dict[str, str | bytes]) -> None:
    pages = book(files).pages
    breaks = [[(page.text[each.at :][:6], each.number, each.label) for each in page.page_breaks] for page in pages]
    assert breaks == [
        [("Prefac", 1, "i")],
        [("Motors", 1, "i"), ("wire.\n", 2, "2")],
        [("Gears\n", 3, "3")],
        [("Belts\n", 3, "3")],
        [("Pulley", 3, "3")],
        [("Notes\n", 3, "3")],
    ]


def test_visible_words_are_read_once(book: Read) -> None:
    text = "\n".join(page.text for page in book(epub3_files()).pages)
    assert "A motor turns." in text
    assert "Copper wire." in text
    assert text.count("By Faraday.") == 1
    assert "A magnet." in text
    assert "x = 1\n  y = 2" in text
    assert "not shown" not in text
    assert "Author" not in text


def test_covers_title_pages_and_contents_are_left_out_with_a_notice(book: Read) -> None:
    files = epub3_files()
    links = "".join(f'<p><a href="{target}">{label}</a> {i}</p>' for i, (_, label, target) in enumerate(LISTED))
    files["own.xhtml"] = make_document(f"<h1>Contents</h1>{links}")
    files["guide.xhtml"] = make_document("<p>A title</p>")
    guide = '<guide><reference type="title-page" href="guide.xhtml#x"/></guide>'
    files["book.opf"] = make_package([*DOCUMENTS, "own.xhtml", "guide.xhtml", "nav.xhtml"], extra=guide)
    notices = {notice.file: (notice.message, notice.lost) for notice in book(files).notices}
    assert notices == {
        "OEBPS/cover.xhtml": ("has no words; left out", False),
        "OEBPS/title.xhtml": ("is a cover or title page; left out", False),
        "OEBPS/own.xhtml": ("is a table of contents; left out", False),
        "OEBPS/guide.xhtml": ("is a cover or title page; left out", False),
        "OEBPS/nav.xhtml": ("is a table of contents; left out", False),
    }


def test_without_a_toc_chapters_have_the_title_of_the_book(book: Read) -> None:
    files = epub3_files() | {"nav.xhtml": "<broken"}
    found = book(files)
    assert {page.chapter for page in found.pages} == {"Robots & Gears"}
    assert ("OEBPS/nav.xhtml", "lists no chapters: chapters may be named after their pages") in [
        notice[:2] for notice in found.notices
    ]


def test_a_single_root_entry_of_the_toc_is_the_book_itself(book: Read) -> None:
    listed = [(0, "Robots", "title.xhtml"), *((depth + 1, label, target) for depth, label, target in LISTED)]
    assert [page.chapter for page in book(epub3_files() | {"nav.xhtml": make_nav(listed)}).pages][:2] == [
        "Preface",
        "1. Motors",
    ]


def test_a_formula_is_read_from_its_annotation(book: Read) -> None:
    math = (
        '<p>So <math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mi>E</mi>'
        '<annotation encoding="application/x-tex">E = mc^2</annotation></semantics></math> holds.</p>'
    )
    [page] = book(
        {"a.xhtml": make_document(math), "book.opf": make_package(["a.xhtml"]), "nav.xhtml": make_nav([])}
    ).pages
    assert page.text == "So E = mc^2 holds."


def test_other_encodings_self_closing_tags_and_cdata_are_read(book: Read) -> None:
    head = '<?xml version="1.0" encoding="iso-8859-1"?><html><head><title/></head><body><div/>'
    page = head + '<p>L\u00d6VE<a id="x"/> <![CDATA[a < b]]></p>'
    files: dict[str, str | bytes] = {"a.xhtml": (page + "<p>end</p></body></html>").encode("latin-1")}
    [found] = book(files | {"book.opf": make_package(["a.xhtml"]), "nav.xhtml": make_nav([])}).pages
    assert found.text == "L\u00d6VE a < b\n\nend"


@pytest.mark.parametrize("declared", ["undefined", "UTF-16", "punycode"])
def test_a_document_with_a_wrong_declared_encoding_is_read(book: Read, declared: str) -> None:
    page = f'<?xml version="1.0" encoding="{declared}"?><html><body><p>Plain words of the book.</p></body></html>'
    even = page + " " * (len(page) % 2)
    [found] = book({"a.xhtml": even, "book.opf": make_package(["a.xhtml"]), "nav.xhtml": make_nav([])}).pages
    assert found.text == "Plain words of the book."


@pytest.mark.parametrize(
    ("change", "file", "message", "lost"),
    [
        ({"ch2.xhtml": None}, "OEBPS/ch2.xhtml", "is not in the archive", True),
        ({"/mimetype": "text/plain"}, "mimetype", "does not say that this is an EPUB", False),
        ({"ch2.xhtml": make_document("<div>" * 60_000)}, "OEBPS/ch2.xhtml", "nested too deeply", True),
        ({"ch2.xhtml": make_document(" " * 21_000_000)}, "OEBPS/ch2.xhtml", "larger than a page may be", True),
    ],
)
def test_an_unreadable_document_is_reported_and_the_rest_is_read(
    book: Read, change: dict[str, str | None], file: str, message: str, lost: bool
) -> None:
    files = {name: content for name, content in (epub3_files() | change).items() if content is not None}
    found = book(files)
    assert any(notice.file == file and message in notice.message and notice.lost == lost for notice in found.notices), (
        found.notices
    )
    assert found.pages[0].title == "Preface"


def test_unknown_and_duplicate_ids_in_the_package_are_reported(book: Read) -> None:
    opf = make_package(list(DOCUMENTS)).replace("<spine", '<item id="d2" href="x.xhtml" media-type="text/html"/><spine')
    opf = opf.replace("</manifest><item", "<item").replace('text/html"/><spine', 'text/html"/></manifest><spine')
    opf = opf.replace("</spine>", '<itemref idref="nowhere"/><itemref idref="d2"/></spine>')
    found = book(epub3_files() | {"book.opf": opf})
    assert {notice.message for notice in found.notices if notice.lost} == {
        "has the same id as another file; left out",
        "names a file that is not in the manifest; left out",
    }
    assert Counter(page.file for page in found.pages)["OEBPS/preface.xhtml"] == 1


ENCRYPTED = (
    '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" xmlns:e="http://www.w3.org/2001/04/xmlenc#">'
    '<e:EncryptedData><e:EncryptionMethod Algorithm="{}"/><e:CipherData><e:CipherReference URI="{}"/></e:CipherData>'
    "</e:EncryptedData></encryption>"
)
AES, FONT = "http://www.w3.org/2001/04/xmlenc#aes128-cbc", "http://www.idpf.org/2008/embedding"


def test_encrypted_pages_are_refused_but_obfuscated_fonts_are_not(book: Read) -> None:
    with pytest.raises(SourceError, match="is protected"):
        book(epub3_files() | {"/META-INF/encryption.xml": ENCRYPTED.format(AES, "OEBPS/ch2.xhtml")})
    assert book(epub3_files() | {"/META-INF/encryption.xml": ENCRYPTED.format(FONT, "OEBPS/f.otf")}).pages
    assert book(epub3_files() | {"/META-INF/encryption.xml": ENCRYPTED.format(AES, "OEBPS/f.otf")}).pages


BOMB = '<!DOCTYPE p [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
OUTSIDE = '<!DOCTYPE p [<!ENTITY a SYSTEM "file:///etc/hostname">]>'


@pytest.mark.parametrize("entity", [BOMB, OUTSIDE])
def test_entities_are_not_expanded(book: Read, entity: str) -> None:
    files = epub3_files()
    page = str(files["ch2.xhtml"]).replace("<!DOCTYPE html>", entity).replace("Gears mesh.", "Gears &b;&a; mesh.")
    text = "".join(page.text for page in book(files | {"ch2.xhtml": page}).pages)
    assert "&b;&a;" in text
    with pytest.raises(SourceError, match="does not say where its pages are"):
        book(files | {"book.opf": entity + str(files["book.opf"]).partition("?>")[2]})
    assert book(epub2_files() | {"toc.ncx": entity + "<ncx>&a;</ncx>"}).pages


@pytest.mark.parametrize("container", ["", "<container", CONTAINER.replace("book.opf", "none.opf")])
def test_the_package_file_is_found_without_a_container(book: Read, container: str) -> None:
    assert book(epub3_files() | {"/META-INF/container.xml": container}).pages


def test_a_broken_epub_raises_an_error_with_advice(tmp_path: Path) -> None:
    whole = make_epub(epub3_files())
    for content in (b"", b"no archive", whole[: len(whole) // 2], make_epub({"a.txt": "words"})):
        (tmp_path / "a.epub").write_bytes(content)
        with pytest.raises(SourceError, match="again"):
            parse_book(tmp_path / "a.epub")


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The data with some bytes changed, removed or doubled."""
    found = bytearray(data)
    for _ in range(rng.randint(1, 12)):
        at, length = rng.randrange(len(found)), rng.randint(1, 30)
        part = found[at : at + length]
        found[at : at + length] = rng.choice((b"", b"<" * length, rng.randbytes(length), part * 2, b"/>", b"&x;"))
    return bytes(found)


@pytest.mark.slow
def test_randomly_damaged_files_lose_pages_and_never_raise(tmp_path: Path) -> None:
    read_well = 0
    for seed in range(300):
        rng = random.Random(seed)
        files = epub3_files() if seed % 2 else epub2_files()
        if seed % 3:
            name = rng.choice(list(files))
            data = make_epub(files | {name: damaged(str(files[name]).encode(), rng)})
        else:
            data = damaged(make_epub(files, 0), rng)
        (tmp_path / "a.epub").write_bytes(data)
        try:
            read_well += len(parse_book(tmp_path / "a.epub").pages) > 0
        except SourceError:
            continue
    assert read_well > 150


def test_an_epub_is_recognised_by_its_file_name(tmp_path: Path) -> None:
    (tmp_path / "b.EPUB").write_bytes(b"x")
    (tmp_path / "c.epub").mkdir()
    reader = next(each for each in BOOK_READERS if each.kind == "epub")
    assert [reader.matches(tmp_path / name) for name in ("b.EPUB", "c.epub", "no.epub", ".")] == [
        True,
        False,
        False,
        False,
    ]


@pytest.mark.slow
def test_a_real_book_has_the_pages_of_its_spine_and_the_chapters_of_its_toc(
    shared: Path, faults: Callable[[Page], list[str]]
) -> None:
    found = parse_book(shared / "data" / "books" / "_files" / "learn2love.epub")
    assert (found.kind, found.title, len(found.pages)) == ("epub", "Learn2love", 45)
    assert Counter(page.chapter for page in found.pages) == {
        "Introduction": 1,
        "1.0 - Programming basics": 19,
        "2.0 - Introducing L\u00d6VE": 19,
        "3.0 - Programming in-depth": 6,
    }
    assert [notice.file for notice in found.notices] == ["titlepage.xhtml", "SUMMARY.html"]
    assert ("01-15-for-loops-1.html", "1.0 - Programming basics", 2, "Numeric for loops") in [
        heading[:4] for heading in headings(found)
    ]
    assert [fault for page in found.pages for fault in faults(page)] == []


@pytest.mark.slow
def test_a_real_book_has_the_same_words_as_its_markdown_source(shared: Path) -> None:
    books = shared / "data" / "books"
    actual = Counter(
        word.lower() for page in parse_book(books / "_files" / "learn2love.epub").pages for word in page.text.split()
    )
    expected = Counter(word.lower() for page in parse_book(books / "learn2love").pages for word in page.text.split())
    lost = {word: count for word, count in (expected - actual).items() if word.isalpha() and len(word) > 3}
    # The EPUB shows plots and picture descriptions as pictures.
    assert sum(lost.values()) < 0.001 * expected.total()
