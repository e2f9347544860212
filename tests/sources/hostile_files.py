"""Builds hostile sources: folders and files that are broken or made to harm their reader."""

from __future__ import annotations

import io
import json
import os
import random
import socket
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.sources.docx_files import make_docx, paragraph
from tests.sources.epub_files import CONTAINER, make_document, make_epub, make_nav, make_ncx, make_package
from tests.sources.pdf_files import OutlineItem, PlacedText, make_pdf

Files = Mapping[str, str | bytes]
ENTITIES = '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a0 "alpha">'
ENTITIES += "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12)) + "]>"
WORDS = "# Motors\n\nA motor turns *alpha*.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```py\nx = 1\n```\n"
HTML = "<!doctype html><title>T</title><body><main><h1 id=a>Motors</h1><p>A motor turns.</p></main></body>"
NOTEBOOK = json.dumps(
    {"cells": [{"cell_type": "markdown", "metadata": {}, "source": [WORDS]}], "metadata": {}, "nbformat": 4}
)
RST = "Motors\n======\n\nA motor *turns*.\n\n.. note:: Hot.\n\n.. code:: python\n\n   x = 1\n\n* one\n* two\n"
PDF = make_pdf(
    [[PlacedText(72, 80, "Motors", 18), PlacedText(72, 120, "A motor turns.")]] * 3,
    [OutlineItem(0, "Motors", 1)],
    title="M",
)
CHAPTERS = {
    "a.xhtml": make_document("<h1 id='x'>Motors</h1><p>A motor turns.</p>"),
    "nav.xhtml": make_nav([(0, "M", "a.xhtml")]),
}
DOCX = make_docx(paragraph("Motors", "berschrift1") + paragraph("A motor turns."))
EPUB = make_epub({**CHAPTERS, "book.opf": make_package(["a.xhtml"]), "toc.ncx": make_ncx([(0, "M", "a.xhtml")])})


class ValidBook(NamedTuple):
    """A small valid source of one kind, and those of its files that are worth breaking."""

    files: Files
    broken: tuple[str, ...]


VALID_BOOKS: dict[str, ValidBook] = {
    "gitbook": ValidBook({"a.md": f"---\ntitle: M\n---\n{WORDS}", "SUMMARY.md": "- [A](a.md)"}, ("a.md", "SUMMARY.md")),
    "docusaurus": ValidBook(
        {
            "docusaurus.config.js": "module.exports = {presets: [['c', {docs: {sidebarPath: './sidebars.js'}}]]};",
            "sidebars.js": "module.exports = {main: [{type: 'category', label: 'C', items: ['a']}]};",
            "docs/a.mdx": f"---\nid: a\n---\nimport X from 'y';\n\n{WORDS}\n:::note\nHot.\n:::\n<X a={{1}}>in</X>\n",
        },
        ("docusaurus.config.js", "sidebars.js", "docs/a.mdx"),
    ),
    "mkdocs": ValidBook(
        {
            "mkdocs.yml": "site_name: M\nnav:\n  - A: a.md\nmarkdown_extensions:\n  - pymdownx.snippets\n",
            "docs/a.md": f'{WORDS}\n!!! note "Hot"\n    Words.\n\n--8<-- "docs/b.txt"\n',
            "docs/b.txt": "More.\n",
        },
        ("mkdocs.yml", "docs/a.md", "docs/b.txt"),
    ),
    "mdbook": ValidBook(
        {
            "book.toml": '[book]\ntitle = "M"\n',
            "src/SUMMARY.md": "# S\n\n- [A](a.md)\n",
            "src/a.md": WORDS + "{{#include b.rs}}\n",
            "src/b.rs": "fn b() {}\n",
        },
        ("book.toml", "src/SUMMARY.md", "src/a.md"),
    ),
    "hugo": ValidBook(
        {
            "hugo.toml": 'title = "M"\nbaseURL = "https://m.example/"\n',
            "content/a.md": f'+++\ntitle = "A"\nweight = 1\n+++\n{WORDS}{{{{< ref "a" >}}}}\n',
        },
        ("hugo.toml", "content/a.md"),
    ),
    "sphinx": ValidBook(
        {
            "conf.py": "project = 'M'\nextensions = []\n",
            "index.rst": "M\n=\n\n.. toctree::\n\n   a\n",
            "a.rst": RST + "\n.. include:: b.txt\n",
            "b.txt": "More.\n",
        },
        ("conf.py", "index.rst", "a.rst"),
    ),
    "jupyter": ValidBook(
        {
            "_toc.yml": "format: jb-book\nroot: a\nchapters:\n- file: b\n",
            "_config.yml": "title: M\n",
            "a.ipynb": NOTEBOOK,
            "b.md": WORDS,
        },
        ("_toc.yml", "a.ipynb"),
    ),
    "html": ValidBook(
        {
            "index.html": HTML,
            "a/index.html": HTML,
            "sitemap.xml": "<urlset><url><loc>https://m.example/a/</loc></url></urlset>",
            "search/search_index.json": '{"docs": [{"location": "a/"}]}',
        },
        ("index.html", "sitemap.xml", "search/search_index.json"),
    ),
    "text": ValidBook({"a.txt": "Motors\n\nA motor turns.\n", "b.rst": RST, "c.txt": "More.\n"}, ("a.txt", "b.rst")),
    "epub": ValidBook({"a.epub": EPUB}, ("a.epub",)),
    "pdf": ValidBook({"a.pdf": PDF}, ("a.pdf",)),
    "docx": ValidBook({"a.docx": DOCX}, ("a.docx",)),
    "mixed": ValidBook(
        {"a.md": WORDS, "b.pdf": PDF, "c.epub": EPUB, "d.docx": DOCX, "e.txt": "More.\n", "f.html": HTML},
        ("b.pdf", "c.epub", "d.docx", "f.html"),
    ),
}
Build = Callable[[Path], Path]


def write_files(folder: Path, files: Files) -> Path:
    """Write files below a folder, and return the folder or the only file."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    folder.mkdir(parents=True, exist_ok=True)
    alone = [name for name in files if name.endswith((".epub", ".pdf", ".docx"))]
    return folder / alone[0] if len(files) == 1 and alone else folder


def hostile_sources() -> Iterator[tuple[str, Build]]:
    """Yield all hostile sources with a name that says what is wrong."""
    yield from _damaged_files()
    for name, files in {
        **_encoded_files(),
        **_nested_files(),
        **_cyclic_includes(),
        **_epub_archives(),
        **_pdf_documents(),
        **_config_files(),
    }.items():
        yield name, lambda folder, files=files: write_files(folder, files)  # type: ignore[misc]
    yield from _special_files()


def _damaged_files() -> Iterator[tuple[str, Build]]:
    """Cut, change, double, empty and enlarge every file of every kind."""
    rng = random.Random(7)
    for kind, book in VALID_BOOKS.items():
        for file in book.broken:
            content = book.files[file]
            whole = content.encode() if isinstance(content, str) else content
            alone = len(book.broken) == 1
            for _ in range(9 if alone else 2):
                yield f"{kind} {file} cut", _replace_file(book, file, whole[: rng.randrange(len(whole))])
            for _ in range(9 if alone else 1):
                changed = bytearray(whole)
                for _ in range(1 + len(whole) // 40):
                    changed[rng.randrange(len(whole))] = rng.randrange(256)
                yield f"{kind} {file} changed", _replace_file(book, file, bytes(changed))
            yield f"{kind} {file} twice", _replace_file(book, file, whole + whole)
            yield f"{kind} {file} empty", _replace_file(book, file, b"")
            yield f"{kind} {file} endless", _enlarge_file(book, file)


def _replace_file(book: ValidBook, file: str, content: bytes) -> Build:
    return lambda folder: write_files(folder, {**book.files, file: content})


def _enlarge_file(book: ValidBook, file: str) -> Build:
    """Extend the file with 50 GB of zeros that take no disk space."""

    def build(folder: Path) -> Path:
        source = write_files(folder, book.files)
        os.truncate(folder / file, 50_000_000_000)
        return source

    return build


def _encoded_files() -> dict[str, Files]:
    encodings = ("utf-16-le", "utf-16", "utf-32", "cp1252", "shift_jis", "utf-7")
    pages = {"a.md": WORDS + "é ü", "a.rst": RST + "\né\n", "a.ipynb": NOTEBOOK, "index.html": HTML}
    found: dict[str, Files] = {
        f"{name} in {encoding}": {
            name: text.encode(encoding, "replace"),
            "b.md" if name != "index.html" else "b.html": WORDS,
        }
        for name, text in pages.items()
        for encoding in encodings
    }
    stray = b"\xc0\xaf\xed\xa0\x80\xf5\xff alpha \xe2\x82 omega"
    return found | {f"{name} of stray bytes": {name: stray * 50} for name in (*pages, "a.txt", "a.mdx")}


def _nested_files() -> dict[str, Files]:
    deep = 20_000
    texts = {
        "quotes": (".md", "> " * deep + "x"),
        "lists": (".md", "- " * 3_000 + "x"),
        "stepped lists": (".md", "".join(" " * n + "- x\n" for n in range(1_000))),
        "emphasis": (".md", "*_" * deep + "x"),
        "links": (".md", "[a](" * deep),
        "fences": (".md", "".join("`" * n + "\n" for n in range(3, 800))),
        "tags": (".html", "<div>" * deep + "x"),
        "tables": (".html", "<table><tr><td>" * 5_000 + "x"),
        "lists of a site": (".html", "<ul><li>" * deep + "x"),
        "attributes": (".html", "<p " + "a=b " * 50_000 + ">x</p>"),
        "open comments": (".html", "<!--" * deep + "x"),
        "elements": (".mdx", "<A>" * deep + "x" + "</A>" * deep),
        "braces": (".mdx", "{" * deep + "x"),
        "notes": (".mdx", ":::note\n" * 3_000 + "x"),
        "sections": (".rst", "".join(f"{c * 3}\nx\n{c * 3}\n\n" for c in "=-~^\"'+*#.:;,_`" * 60)),
        "bullets": (".rst", "* " * 5_000 + "x"),
        "stepped": (".rst", "".join(" " * n + "x\n\n" for n in range(400))),
        "directives": (".rst", "".join("   " * n + ".. note::\n\n" for n in range(300)) + "   " * 300 + "x"),
        "substitutions": (
            ".rst",
            "".join(f".. |a{n}| replace:: |a{n + 1}| |a{n + 1}|\n" for n in range(40)) + "\n|a0|\n",
        ),
        "grid": (".rst", "+---" * 400 + "+\n" + ("|   " * 400 + "|\n" + "+---" * 400 + "+\n") * 20),
        "cells": (".ipynb", '{"cells":' * deep),
        "lists of cells": (".ipynb", "[" * 100_000),
        "numbers": (".ipynb", '{"cells": [], "nbformat": ' + "9" * 100_000 + "}"),
    }
    return {f"nested {name}": {("index" if end == ".html" else "a") + end: text} for name, (end, text) in texts.items()}


def _cyclic_includes() -> dict[str, Files]:
    """Build files that include each other, themselves or files outside the book."""
    mkdocs = {"mkdocs.yml": "markdown_extensions: [pymdownx.snippets]\n"}
    mdbook = {"book.toml": "", "src/SUMMARY.md": "- [A](a.md)\n"}
    sphinx = {"conf.py": "", "index.rst": "A\n=\n\n.. include:: a.txt\n"}
    return {
        "mdbook includes itself": {**mdbook, "src/a.md": "alpha {{#include a.md}} {{#include a.md}}"},
        "mdbook includes in a circle": {
            **mdbook,
            "src/a.md": "alpha {{#include b.md}}",
            "src/b.md": "{{#include a.md}}" * 9,
        },
        "mdbook doubles": {
            **mdbook,
            "src/a.md": "alpha {{#include 0.md}}",
            **{f"src/{n}.md": f"{{{{#include {n + 1}.md}}}}" * 2 for n in range(60)},
        },
        "mdbook includes another's": {**mdbook, "src/a.md": "alpha {{#include ../../../../../../etc/passwd}}"},
        "snippets in a circle": {
            **mkdocs,
            "docs/a.md": 'alpha\n--8<-- "docs/b.md"\n',
            "docs/b.md": '--8<-- "docs/a.md"\n' * 9,
        },
        "snippets double": {
            **mkdocs,
            "docs/a.md": 'alpha\n\n--8<-- "docs/0.txt"\n',
            **{f"docs/{n}.txt": f'--8<-- "docs/{n + 1}.txt"\n' * 2 for n in range(60)},
        },
        "snippets of another's": {
            **mkdocs,
            "docs/a.md": 'alpha\n\n--8<-- "/etc/passwd"\n\n--8<-- "../../etc/passwd"\n',
        },
        "rst in a circle": {**sphinx, "a.txt": "alpha\n\n.. include:: b.txt\n", "b.txt": ".. include:: a.txt\n\n" * 9},
        "rst doubles": {
            **sphinx,
            "a.txt": "alpha\n\n.. include:: 0.txt\n",
            **{f"{n}.txt": f".. include:: {n + 1}.txt\n\n" * 2 for n in range(60)},
        },
        "rst of another's": {
            **sphinx,
            "a.txt": "alpha\n\n.. include:: /etc/passwd\n\n.. raw:: html\n   :file: /etc/passwd\n",
            "b.rst": "B\n=\n\n.. literalinclude:: /dev/zero\n",
        },
        "toctrees in a circle": {
            "conf.py": "",
            "index.rst": "A\n=\n\n.. toctree::\n\n   index\n   a\n",
            "a.rst": "B\n=\n\n.. toctree::\n\n   index\n   a\n",
        },
        "a summary of itself": {
            "book.toml": "",
            "src/SUMMARY.md": "- [A](SUMMARY.md)\n" * 2_000 + "- [B](a.md)\n",
            "src/a.md": "alpha",
        },
    }


def _config_files() -> dict[str, Files]:
    """Build settings that would fill any memory or that are not settings at all."""
    laughs = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60)) + "nav: *a59\n"
    entities = ENTITIES + "<urlset><url><loc>&a11;</loc></url></urlset>"
    toml = "a = " + "[" * 5_000
    page = {"docs/a.md": "alpha", "content/a.md": "alpha", "src/a.md": "alpha", "a.md": "alpha"}
    configurations = {
        "mkdocs.yml": (laughs, "!!python/object/apply:os.system [x]", "INHERIT: mkdocs.yml\n", "docs_dir: /\n"),
        "_toc.yml": (laughs, "- " * 5_000),
        "hugo.toml": (toml, "contentDir = '/'\n", "a." * 20_000 + "b = 1"),
        "book.toml": (toml, "[book]\nsrc = '../../..'\n"),
        "docusaurus.config.js": (
            "module.exports = " + "[" * 50_000,
            "module.exports = {presets: [['c', {docs: {path: '/'}}]]}",
        ),
        "conf.py": ("(" * 50_000, "project = " + "-" * 50_000 + "1", "exclude_patterns = ['" + "*" * 5_000 + "a']"),
    }
    found: dict[str, Files] = {
        f"{name} {number}": {**page, name: text, "src/SUMMARY.md": "- [A](a.md)", "index.rst": "A\n=\n\nalpha\n"}
        for name, texts in configurations.items()
        for number, text in enumerate(texts)
    }
    site = {"index.html": HTML}
    return found | {
        "a sitemap of entities": {**site, "sitemap.xml": entities},
        "an inventory that is a bomb": {**site, "objects.inv": _make_inventory_bomb()},
        "front matter of aliases": {"a.md": f"---\n{laughs}---\nalpha\n", "b.md": "b"},
        "front matter of brackets": {"a.md": f"---\na: {'[' * 50_000}\n---\nalpha\n", "b.md": "b"},
    }


def _make_inventory_bomb() -> bytes:
    head = b"# Sphinx inventory version 2\n# Project: M\n# Version: 1\n# The remainder is compressed using zlib.\n"
    return head + zlib.compress(bytes(100_000_000), 9)


def _epub_archives() -> dict[str, Files]:
    """Build EPUBs that are bombs, lead outside or misreport their content."""
    opf = make_package(["a.xhtml"])
    outside = '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
    made = {
        "of zeros": make_epub({**CHAPTERS, "book.opf": opf, "a.xhtml": bytes(80_000_000)}),
        "of words": make_epub({**CHAPTERS, "book.opf": opf, "a.xhtml": make_document("<p>alpha</p>" * 3_000_000)}),
        "of a package of entities": make_epub({**CHAPTERS, "book.opf": ENTITIES + "<package>&a11;</package>"}),
        "of a package from outside": make_epub({**CHAPTERS, "book.opf": outside + "<package>&a;</package>"}),
        "of a page of entities": make_epub(
            {**CHAPTERS, "book.opf": opf, "a.xhtml": ENTITIES + "<html><body>alpha &a11;</body></html>"}
        ),
        "of a container of entities": make_epub(
            {**CHAPTERS, "book.opf": opf, "/META-INF/container.xml": ENTITIES + "<c>&a11;</c>"}
        ),
        "of contents of entities": make_epub(
            {**CHAPTERS, "book.opf": opf, "nav.xhtml": ENTITIES + "<html>&a11;</html>"}
        ),
        "whose package is outside": make_epub(
            {**CHAPTERS, "/META-INF/container.xml": CONTAINER.replace("OEBPS/", "../../")}
        ),
        "whose pages are outside": make_epub(
            {**CHAPTERS, "book.opf": make_package(["../../../../etc/passwd", "/etc/passwd", "file:///etc/passwd"])}
        ),
        "whose pages are on the web": make_epub({**CHAPTERS, "book.opf": make_package(["http://127.0.0.1:1/a.xhtml"])}),
        "with names that lead out": make_epub(
            {**CHAPTERS, "book.opf": opf, "/../a": "x", "//etc/x": "x", "/a\\b": "x", "/C:x": "x"}
        ),
        "without pages": make_epub({"book.opf": make_package([])}),
        "without a package": make_epub(CHAPTERS),
        "of a page that lists itself": make_epub({**CHAPTERS, "book.opf": make_package(["a.xhtml"] * 9)}),
        "of deep pages": make_epub({**CHAPTERS, "book.opf": opf, "a.xhtml": make_document("<div>" * 20_000 + "alpha")}),
        "of deep contents": make_epub(
            {**CHAPTERS, "book.opf": opf, "nav.xhtml": make_document("<nav epub:type='toc'>" + "<ol><li>" * 20_000)}
        ),
        "of a deep package": make_epub({**CHAPTERS, "book.opf": "<a>" * 100_000}),
        "of many files": make_epub({f"{n}": "" for n in range(20_001)}, zipfile.ZIP_STORED),
        "with a false size": _patch_entries(EPUB, b"PK\x01\x02", 24, struct.pack("<I", 0xFFFFFFF0)),
        "with a size that is too small": _patch_entries(EPUB, b"PK\x01\x02", 24, struct.pack("<I", 1)),
        "of wrong sums": _patch_entries(EPUB, b"PK\x01\x02", 16, b"abcd"),
        "with a password": _patch_entries(EPUB, b"PK\x01\x02", 8, b"\x01\0"),
        "packed in no known way": _patch_entries(EPUB, b"PK\x01\x02", 10, b"\x63\0"),
        "whose files are one": _patch_entries(EPUB, b"PK\x01\x02", 42, bytes(4)),
        "that is a link": _make_epub_with_link(),
        "in an archive": make_epub({"a.epub": EPUB}),
        "that is a picture": b"\x89PNG\r\n\x1a\n" + bytes(999),
    }
    return {f"an epub {name}": {"a.epub": content} for name, content in made.items()}


def _patch_entries(data: bytes, mark: bytes, at: int, value: bytes) -> bytes:
    """Write the same bytes into each entry of an archive."""
    out, found = bytearray(data), data.find(mark)
    while found >= 0:
        out[found + at : found + at + len(value)] = value
        found = data.find(mark, found + 1)
    return bytes(out)


def _make_epub_with_link() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        info = zipfile.ZipInfo("META-INF/container.xml")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        made.writestr(info, "/etc/passwd")
    return out.getvalue()


def _pdf_documents() -> dict[str, Files]:
    """Build PDFs with circular, endless or missing objects."""
    swaps = {
        "whose pages contain themselves": (b"/Kids [", b"/Kids [2 0 R "),
        "whose page is its parent": (b"/Parent 2 0 R", b"/Parent 9 0 R"),
        "of endless pages": (b"/Count 3", b"/Count 2147483647"),
        "of negative pages": (b"/Count 3", b"/Count -3"),
        "whose root is missing": (b"/Root 1 0 R", b"/Root 9999999 0 R"),
        "of a huge number": (b"/Root 1 0 R", b"/Root 4294967295 0 R"),
        "of a huge size": (b"/Size ", b"/Size 99999999"),
        "whose streams have no end": (b"endstream", b"endstreaX"),
        "of long streams": (b"/Length ", b"/Length 9999999"),
        "of huge paper": (b"[0 0 595 842]", b"[0 0 1e30 1e30]"),
        "of no paper": (b"[0 0 595 842]", b"[0 0 0 0]"),
        "of huge letters": (b" Tf ", b"0000000000 Tf "),
        "without fonts": (b"/Type /Font", b"/Type /Fond"),
        "without objects": (b" obj", b" obx"),
        "without a table": (b"xref", b"xreX"),
        "whose table is elsewhere": (b"startxref\n", b"startxref\n9"),
        "whose outline goes round": (b"/Dest", b"/Next 15 0 R /First 15 0 R /Dest"),
        "whose contents are a page": (b"/Contents 10 0 R", b"/Contents 9 0 R"),
        "with a filter": (b"/Length", b"/Filter [/FlateDecode /LZWDecode /FlateDecode] /Length"),
        "before the header": (b"%PDF-1.4", b"%PDF-9.9"),
    }
    found: dict[str, Files] = {f"a pdf {name}": {"a.pdf": PDF.replace(*swap)} for name, swap in swaps.items()}
    bomb = zlib.compress(b"BT /text 10 Tf 72 700 Td (alpha) Tj ET\n" * 3_000_000, 9)
    plain = make_pdf([[PlacedText(72, 80, "alpha")]])
    start, end = plain.rindex(b"<< /Length"), plain.rindex(b"endstream")
    packed = b"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\n" % (len(bomb), bomb)
    return found | {
        "a pdf that is a bomb": {"a.pdf": plain[:start] + packed + plain[end:]},
        "a pdf in brackets": {"a.pdf": b"%PDF-1.4\n1 0 obj\n" + b"[" * 500_000},
        "a pdf of dictionaries": {"a.pdf": b"%PDF-1.4\n1 0 obj\n" + b"<</A " * 200_000},
        "a pdf that is text": {"a.pdf": b"A motor turns. " * 999},
    }


def _special_files() -> Iterator[tuple[str, Build]]:
    """Build sources with pipes, links and names that cannot be encoded."""
    names = ("b.md", "mkdocs.yml", "b.ipynb", "conf.py", "b.rst", "SUMMARY.md", "_toc.yml", "index.html", "book.toml")
    files = {"a.md": "alpha"}

    def linked(name: str, target: str) -> Build:
        def build(folder: Path) -> Path:
            (write_files(folder, files) / name).symlink_to(target)
            return folder

        return build

    def pipe(name: str) -> Build:
        def build(folder: Path) -> Path:
            os.mkfifo(write_files(folder, files) / name)
            return folder

        return build

    def make_socket(folder: Path) -> Path:
        write_files(folder, files)
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(os.path.relpath(folder / "b.md"))
        return folder

    for name in names:
        yield f"{name} is a pipe", pipe(name)
        yield f"{name} is endless", linked(name, "/dev/zero")
        yield f"{name} is itself", linked(name, name)
    yield "a page of another", linked("b.md", "/etc/passwd")
    yield "a page of this process", linked("b.md", "/proc/self/environ")
    yield "a folder of all", linked("all", "/")
    yield "a folder of itself", linked("again", ".")
    yield "a page that listens", make_socket
    yield "a pipe alone", lambda folder: pipe("b.pdf")(folder) / "b.pdf"
    yield "nothing alone", lambda folder: linked("b.epub", "/dev/zero")(folder) / "b.epub"
    for letters in (b"\xff", b"\xed\xa0\x80", b"a\nb", b"\x1b[31m"):
        yield f"a name of {letters!r}", lambda folder, letters=letters: _write_named_file(folder, letters)  # type: ignore[misc]


def _write_named_file(folder: Path, letters: bytes) -> Path:
    write_files(folder, {"a.md": "alpha"})
    Path(os.fsdecode(os.fsencode(folder) + b"/" + letters + b".md")).write_text("beta")
    return folder
