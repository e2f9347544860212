"""What an EPUB shows comes out in the order of its spine, with its own chapters, anchors and printed pages."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sources.epub_files import CONTAINER, Listed, document, epub, nav, ncx, package

from bookbound.domain.document import Block, Page, ParsedBook
from bookbound.domain.errors import SourceError
from bookbound.sources import parse_book
from bookbound.sources.epub import is_epub_source

Read = Callable[[dict[str, str | bytes]], ParsedBook]

# A book of six documents, each beside the anchors that its ids make.
DOCUMENTS: dict[str, str] = {
    "cover.xhtml": document('<img src="c.png" alt="Cover"/>', "Cover", 'epub:type="cover"'),
    "title.xhtml": document('<section epub:type="titlepage"><h1>Robots</h1><p>A. Author</p></section>'),
    "preface.xhtml": document(
        '<section><span epub:type="pagebreak" id="p-i" title="i"/><h1 id="preface">Preface</h1><p>Why this book.</p>'
        '<h2 id="thanks">Thanks</h2><p>To all.</p></section>'
    ),
    "part one/ch1.xhtml": document(
        '<h1 id="motors">Motors</h1><p>A motor<a epub:type="noteref" href="#n1">1</a> turns.</p>'
        '<section id="windings"><h2>Windings</h2>'
        '<p>Copper <span epub:type="pagebreak" id="p2" title="2"/>wire.</p></section><h2 id="magnets">Magnets</h2>'
        '<figure><img src="m.png" alt="not shown"/><figcaption>A magnet.</figcaption></figure>'
        '<h3><a id="poles"/>Poles</h3><p>North and south.</p>'
        '<aside epub:type="footnote" id="n1"><p>By Faraday.</p></aside>'
    ),
    "ch2.xhtml": document(
        '<a id="p3"/><h1 id="gears">Gears</h1><p>Gears mesh.</p><h2 id="teeth">Teeth</h2><p>They touch.</p>'
        '<h2 id="ratios">Ratios</h2><p>Few to many.</p><h1 id="belts">Belts</h1><p>Belts slip.</p>'
        '<h2 id="tension">Tension</h2><p>Tight enough.</p>'
    ),
    "ch2b.xhtml": document('<h2 id="pulleys">Pulleys</h2><p>They guide.</p><pre id="code">x = 1\n  y = 2</pre>'),
    "notes.xhtml": document('<h1 id="notes">Notes</h1><p>Beside the text.</p>'),
}
LISTED: list[Listed] = [
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
# Each heading: its file, the chapter it stands in, its level, its words, and the address that opens it.
ADDRESSES = [
    ("OEBPS/preface.xhtml", "Preface", 1, "Preface", "preface.xhtml#preface"),
    ("OEBPS/preface.xhtml", "Preface", 2, "Thanks", "preface.xhtml#thanks"),
    ("OEBPS/part one/ch1.xhtml", "1. Motors", 1, "Motors", "part%20one/ch1.xhtml#motors"),
    ("OEBPS/part one/ch1.xhtml", "1. Motors", 2, "Windings", "part%20one/ch1.xhtml#windings"),
    ("OEBPS/part one/ch1.xhtml", "1. Motors", 2, "Magnets", "part%20one/ch1.xhtml#magnets"),
    ("OEBPS/part one/ch1.xhtml", "1. Motors", 3, "Poles", "part%20one/ch1.xhtml#poles"),
    ("OEBPS/ch2.xhtml", "2. Gears", 1, "Gears", "ch2.xhtml#gears"),
    ("OEBPS/ch2.xhtml", "2. Gears", 2, "Teeth", "ch2.xhtml#teeth"),
    ("OEBPS/ch2.xhtml", "2. Gears", 2, "Ratios", "ch2.xhtml#ratios"),
    ("OEBPS/ch2.xhtml#belts", "3. Belts", 1, "Belts", "ch2.xhtml#belts"),
    ("OEBPS/ch2.xhtml#belts", "3. Belts", 2, "Tension", "ch2.xhtml#tension"),
    ("OEBPS/ch2b.xhtml", "3. Belts", 2, "Pulleys", "ch2b.xhtml#pulleys"),
    ("OEBPS/notes.xhtml", "3. Belts", 1, "Notes", "notes.xhtml#notes"),
]


def third() -> dict[str, str | bytes]:
    files: dict[str, str | bytes] = {**DOCUMENTS}
    files["book.opf"] = package(list(DOCUMENTS), "Robots & Gears", aside=["notes.xhtml"])
    files["nav.xhtml"] = nav(LISTED, PRINTED)
    return files


def second() -> dict[str, str | bytes]:
    files: dict[str, str | bytes] = {**DOCUMENTS}
    files["book.opf"] = package(list(DOCUMENTS), "Robots & Gears", "2.0", aside=["notes.xhtml"])
    files["toc.ncx"] = ncx(LISTED, PRINTED)
    return files


@pytest.fixture
def book(tmp_path: Path, faults: Callable[[Page], list[str]]) -> Read:
    """Reads the EPUB that these files make; its runs and blocks are exact."""

    def made(files: dict[str, str | bytes]) -> ParsedBook:
        (tmp_path / "robots.epub").write_bytes(epub(files))
        found = parse_book(tmp_path / "robots.epub")
        assert [fault for page in found.pages for fault in faults(page)] == []
        return found

    return made


def headings(found: ParsedBook) -> list[tuple[str, str, int, str, str]]:
    def inside(blocks: tuple[Block, ...]) -> list[Block]:
        return [block for outer in blocks for block in (outer, *inside(outer.children))]

    return [
        (page.file, page.chapter, block.level, page.text[block.start : block.end], f"{page.url}#{block.anchor}")
        for page in found.pages
        for block in inside(page.blocks)
        if block.kind == "heading"
    ]


@pytest.mark.parametrize("files", [third(), second()], ids=["EPUB 3", "EPUB 2"])
def test_spine_contents_and_ids_are_order_chapters_and_addresses(book: Read, files: dict[str, str | bytes]) -> None:
    found = book(files)
    assert (found.title, found.kind) == ("Robots & Gears", "epub")
    assert headings(found) == ADDRESSES
    assert [page.position for page in found.pages] == list(range(len(found.pages)))
    assert [(page.title, page.url) for page in found.pages] == [
        ("Preface", "preface.xhtml"),
        ("Motors", "part%20one/ch1.xhtml"),
        ("Gears", "ch2.xhtml"),
        ("Belts", "ch2.xhtml"),
        ("3. Belts", "ch2b.xhtml"),
        ("Notes", "notes.xhtml"),
    ]


@pytest.mark.parametrize("files", [third(), second()], ids=["EPUB 3", "EPUB 2"])
def test_printed_pages_go_on_from_document_to_document(book: Read, files: dict[str, str | bytes]) -> None:
    pages = book(files).pages
    leaves = [[(page.text[leaf.at :][:6], leaf.number, leaf.label) for leaf in page.leaves] for page in pages]
    assert leaves == [
        [("Prefac", 1, "i")],
        [("Motors", 1, "i"), ("wire.\n", 2, "2")],
        [("Gears\n", 3, "3")],
        [("Belts\n", 3, "3")],
        [("Pulley", 3, "3")],
        [("Notes\n", 3, "3")],
    ]


def test_words_are_those_a_reader_sees_each_once(book: Read) -> None:
    text = "\n".join(page.text for page in book(third()).pages)
    assert "A motor turns." in text
    assert "Copper wire." in text
    assert text.count("By Faraday.") == 1
    assert "A magnet." in text
    assert "x = 1\n  y = 2" in text
    assert "not shown" not in text
    assert "Author" not in text


def test_covers_titles_and_contents_are_left_out_and_told_of(book: Read) -> None:
    files = third()
    links = "".join(f'<p><a href="{target}">{label}</a> {i}</p>' for i, (_, label, target) in enumerate(LISTED))
    files["own.xhtml"] = document(f"<h1>Contents</h1>{links}")
    files["guide.xhtml"] = document("<p>A title</p>")
    guide = '<guide><reference type="title-page" href="guide.xhtml#x"/></guide>'
    files["book.opf"] = package([*DOCUMENTS, "own.xhtml", "guide.xhtml", "nav.xhtml"], extra=guide)
    told = {notice.file: (notice.message, notice.lost) for notice in book(files).notices}
    assert told == {
        "OEBPS/cover.xhtml": ("shows no words; left out", False),
        "OEBPS/title.xhtml": ("is a cover or title page; left out", False),
        "OEBPS/own.xhtml": ("is a table of contents; left out", False),
        "OEBPS/guide.xhtml": ("is a cover or title page; left out", False),
        "OEBPS/nav.xhtml": ("is a table of contents; left out", False),
    }


def test_without_contents_chapters_have_the_name_of_the_book(book: Read) -> None:
    files = third() | {"nav.xhtml": "<broken"}
    found = book(files)
    assert {page.chapter for page in found.pages} == {"Robots & Gears"}
    assert ("OEBPS/nav.xhtml", "lists no chapter: chapters may be named after their pages") in [
        notice[:2] for notice in found.notices
    ]


def test_a_single_entry_over_all_others_is_the_book(book: Read) -> None:
    listed = [(0, "Robots", "title.xhtml"), *((depth + 1, label, target) for depth, label, target in LISTED)]
    assert [page.chapter for page in book(third() | {"nav.xhtml": nav(listed)}).pages][:2] == ["Preface", "1. Motors"]


def test_a_formula_is_what_its_annotation_says(book: Read) -> None:
    math = (
        '<p>So <math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mi>E</mi>'
        '<annotation encoding="application/x-tex">E = mc^2</annotation></semantics></math> holds.</p>'
    )
    [page] = book({"a.xhtml": document(math), "book.opf": package(["a.xhtml"]), "nav.xhtml": nav([])}).pages
    assert page.text == "So E = mc^2 holds."


def test_another_encoding_and_tags_that_close_themselves_are_read(book: Read) -> None:
    head = '<?xml version="1.0" encoding="iso-8859-1"?><html><head><title/></head><body><div/>'
    page = head + '<p>L\u00d6VE<a id="x"/> <![CDATA[a < b]]></p>'
    files: dict[str, str | bytes] = {"a.xhtml": (page + "<p>end</p></body></html>").encode("latin-1")}
    [found] = book(files | {"book.opf": package(["a.xhtml"]), "nav.xhtml": nav([])}).pages
    assert found.text == "L\u00d6VE a < b\n\nend"


@pytest.mark.parametrize("said", ["undefined", "UTF-16", "punycode"])
def test_a_document_that_says_a_wrong_encoding_is_read(book: Read, said: str) -> None:
    page = f'<?xml version="1.0" encoding="{said}"?><html><body><p>Plain words of the book.</p></body></html>'
    even = page + " " * (len(page) % 2)
    [found] = book({"a.xhtml": even, "book.opf": package(["a.xhtml"]), "nav.xhtml": nav([])}).pages
    assert found.text == "Plain words of the book."


@pytest.mark.parametrize(
    ("change", "file", "message", "lost"),
    [
        ({"ch2.xhtml": None}, "OEBPS/ch2.xhtml", "is not in the archive", True),
        ({"/mimetype": "text/plain"}, "mimetype", "does not say that this is an EPUB", False),
        ({"ch2.xhtml": document("<div>" * 60_000)}, "OEBPS/ch2.xhtml", "nested deeper", True),
        ({"ch2.xhtml": document(" " * 21_000_000)}, "OEBPS/ch2.xhtml", "larger than a page may be", True),
    ],
)
def test_an_odd_document_is_told_of_and_the_rest_is_read(
    book: Read, change: dict[str, str | None], file: str, message: str, lost: bool
) -> None:
    files = {name: content for name, content in (third() | change).items() if content is not None}
    found = book(files)
    assert any(notice.file == file and message in notice.message and notice.lost == lost for notice in found.notices), (
        found.notices
    )
    assert found.pages[0].title == "Preface"


def test_the_spine_may_name_what_the_manifest_does_not_and_ids_may_repeat(book: Read) -> None:
    opf = package(list(DOCUMENTS)).replace("<spine", '<item id="d2" href="x.xhtml" media-type="text/html"/><spine')
    opf = opf.replace("</manifest><item", "<item").replace('text/html"/><spine', 'text/html"/></manifest><spine')
    opf = opf.replace("</spine>", '<itemref idref="nowhere"/><itemref idref="d2"/></spine>')
    found = book(third() | {"book.opf": opf})
    assert {notice.message for notice in found.notices if notice.lost} == {
        "is listed under an id that another file has; left out",
        "names a file that is not in the manifest; left out",
    }
    assert Counter(page.file for page in found.pages)["OEBPS/preface.xhtml"] == 1


ENCRYPTED = (
    '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" xmlns:e="http://www.w3.org/2001/04/xmlenc#">'
    '<e:EncryptedData><e:EncryptionMethod Algorithm="{}"/><e:CipherData><e:CipherReference URI="{}"/></e:CipherData>'
    "</e:EncryptedData></encryption>"
)
AES, FONT = "http://www.w3.org/2001/04/xmlenc#aes128-cbc", "http://www.idpf.org/2008/embedding"


def test_an_encrypted_book_is_refused_and_scrambled_fonts_are_no_reason(book: Read) -> None:
    with pytest.raises(SourceError, match="is protected"):
        book(third() | {"/META-INF/encryption.xml": ENCRYPTED.format(AES, "OEBPS/ch2.xhtml")})
    assert book(third() | {"/META-INF/encryption.xml": ENCRYPTED.format(FONT, "OEBPS/f.otf")}).pages
    assert book(third() | {"/META-INF/encryption.xml": ENCRYPTED.format(AES, "OEBPS/f.otf")}).pages


BOMB = '<!DOCTYPE p [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
OUTSIDE = '<!DOCTYPE p [<!ENTITY a SYSTEM "file:///etc/hostname">]>'


@pytest.mark.parametrize("entity", [BOMB, OUTSIDE])
def test_no_entity_is_expanded(book: Read, entity: str) -> None:
    files = third()
    page = str(files["ch2.xhtml"]).replace("<!DOCTYPE html>", entity).replace("Gears mesh.", "Gears &b;&a; mesh.")
    text = "".join(page.text for page in book(files | {"ch2.xhtml": page}).pages)
    assert "&b;&a;" in text
    with pytest.raises(SourceError, match="does not say where its pages are"):
        book(files | {"book.opf": entity + str(files["book.opf"]).partition("?>")[2]})
    assert book(second() | {"toc.ncx": entity + "<ncx>&a;</ncx>"}).pages


@pytest.mark.parametrize("container", ["", "<container", CONTAINER.replace("book.opf", "none.opf")])
def test_a_package_is_found_where_the_container_does_not_name_it(book: Read, container: str) -> None:
    assert book(third() | {"/META-INF/container.xml": container}).pages


def test_what_is_no_epub_says_what_to_do(tmp_path: Path) -> None:
    whole = epub(third())
    for content in (b"", b"no archive", whole[: len(whole) // 2], epub({"a.txt": "words"})):
        (tmp_path / "a.epub").write_bytes(content)
        with pytest.raises(SourceError, match="anew"):
            parse_book(tmp_path / "a.epub")


def spoilt(data: bytes, chance: random.Random) -> bytes:
    """Bytes with some changed, cut out or doubled."""
    found = bytearray(data)
    for _ in range(chance.randint(1, 12)):
        at, length = chance.randrange(len(found)), chance.randint(1, 30)
        part = found[at : at + length]
        found[at : at + length] = chance.choice((b"", b"<" * length, chance.randbytes(length), part * 2, b"/>", b"&x;"))
    return bytes(found)


def test_files_spoilt_at_random_lose_pages_and_never_raise(tmp_path: Path) -> None:
    read_well = 0
    for seed in range(300):
        chance = random.Random(seed)
        files = third() if seed % 2 else second()
        if seed % 3:
            name = chance.choice(list(files))
            data = epub(files | {name: spoilt(str(files[name]).encode(), chance)})
        else:
            data = spoilt(epub(files, 0), chance)
        (tmp_path / "a.epub").write_bytes(data)
        try:
            read_well += len(parse_book(tmp_path / "a.epub").pages) > 0
        except SourceError:
            continue
    assert read_well > 150


def test_an_epub_is_known_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "b.EPUB").write_bytes(b"x")
    (tmp_path / "c.epub").mkdir()
    assert [is_epub_source(tmp_path / name) for name in ("b.EPUB", "c.epub", "no.epub", ".")] == [
        True,
        False,
        False,
        False,
    ]


def test_the_real_book_has_the_pages_of_its_spine_and_the_chapters_of_its_contents(
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


def test_the_real_book_says_in_an_epub_what_its_source_says(shared: Path) -> None:
    books = shared / "data" / "books"
    said = Counter(
        word.lower() for page in parse_book(books / "_files" / "learn2love.epub").pages for word in page.text.split()
    )
    wanted = Counter(word.lower() for page in parse_book(books / "learn2love").pages for word in page.text.split())
    lost = {word: count for word, count in (wanted - said).items() if word.isalpha() and len(word) > 3}
    # Plots are pictures there, and so is what describes a picture.
    assert sum(lost.values()) < 0.001 * wanted.total()
