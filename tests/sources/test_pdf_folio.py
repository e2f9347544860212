"""Whatever a PDF does to the process that reads it, the book's other pages are read and the time is bounded."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.sources.pdf_files import Outlined, Put, column, pdf

from bookbound.domain.errors import SourceError
from bookbound.sources.pdf import build_pdf_book, pdfium
from bookbound.sources.pdf.reader_process import PdfInfo, PdfPage, open_pdf

# Stands in for the program that runs PDFium: it dies on the pages that it is told to.
DYING = """
import json, os, sys
print(json.dumps({"title": "", "pages": PAGES, "outline": []}), flush=True)
for number in range(int(sys.argv[2]), PAGES):
    if number in DEADLY:
        print('{"label": "", "wor', flush=True)
        os.abort()
    word = [f"word{number}", 72, 90, 100, 10, 0, False]
    print(json.dumps({"label": "", "height": 842, "words": [word], "pictures": False}), flush=True)
"""
LIMITED = "from bookbound.sources.pdf import pdfium\npdfium.SECONDS = 1\npdfium._limit()\n"
LIMITS = pytest.mark.skipif(sys.platform == "win32", reason="no limits on a process here")
CASES = 300


def dying(folder: Path, pages: int, deadly: set[int]) -> str:
    program = folder / "program.py"
    program.write_text(DYING.replace("PAGES", str(pages)).replace("DEADLY", repr(deadly)))
    return str(program)


def test_a_page_that_breaks_the_reader_is_told_of_and_the_rest_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdfium, "__file__", dying(tmp_path, 6, {0, 3}))
    book = build_pdf_book(tmp_path / "a.pdf", *open_pdf(tmp_path / "a.pdf"))
    assert [leaf.number for page in book.pages for leaf in page.leaves] == [2, 3, 5, 6]
    [notice] = book.notices
    assert (notice.message, notice.lost) == ("pages 1, 4: could not be read", True)


def test_after_three_pages_that_break_the_reader_the_rest_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdfium, "__file__", dying(tmp_path, 100, set(range(1, 100))))
    book = build_pdf_book(tmp_path / "a.pdf", *open_pdf(tmp_path / "a.pdf"))
    assert [notice.message for notice in book.notices] == ["pages 2-100: could not be read"]


def test_a_file_that_breaks_the_reader_at_once_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (program := tmp_path / "program.py").write_text("import os\nos.abort()")
    monkeypatch.setattr(pdfium, "__file__", str(program))
    with pytest.raises(SourceError, match="save it anew"):
        open_pdf(tmp_path / "a.pdf")


def test_the_reader_is_told_nothing_that_it_does_not_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import json, os\nprint(json.dumps({'title': ' '.join(os.environ), 'pages': 0, 'outline': []}))\n"
    )
    monkeypatch.setenv("BOOKBOUND_MODEL_KEY", "secret")
    monkeypatch.setattr(pdfium, "__file__", str(program))
    about, _ = open_pdf(tmp_path / "a.pdf")
    assert "PYTHONPATH" in about.title
    assert "KEY" not in about.title


@LIMITS
@pytest.mark.parametrize(
    ("greed", "end"), [("while True: pass", -signal.SIGXCPU), ("bytearray(pdfium.MEMORY)", 1)], ids=["time", "memory"]
)
def test_the_reader_has_so_much_time_and_memory_and_no_more(greed: str, end: int) -> None:
    ended = subprocess.run([sys.executable, "-c", LIMITED + greed], capture_output=True, check=False)
    assert ended.returncode == end


def valid() -> bytes:
    sheets = [
        [Put(72, 100, f"Chapter {n}", 18, "bold"), *column(72, 130, ["Words of it.", "And more-", "over."])]
        for n in range(1, 4)
    ]
    return pdf(sheets, [Outlined(0, f"Chapter {n}", n, 80) for n in range(1, 4)], labels="0 << /S /r >>")


def mutated(data: bytes, seed: int) -> bytes:
    """A file with some bytes changed, cut out, doubled or turned into other numbers."""
    chance = random.Random(seed)
    found = bytearray(data)
    for _ in range(chance.randint(1, 12)):
        at, length = chance.randrange(len(found)), chance.randint(1, 40)
        part = found[at : at + length]
        changes = (b"", part * 2, chance.randbytes(1), b"-99999999999", b"1e38", b"<<" * 9, b"3 0 R", part[::-1])
        found[at : at + length] = chance.choice(changes)
    return bytes(found[: chance.randrange(len(found))] if chance.random() < 0.15 else found)


MANY = """
import contextlib, sys
from pathlib import Path
from bookbound.sources.pdf import pdfium
for file in sorted(Path(sys.argv[1]).glob("*.pdf"))[int(sys.argv[2]):]:
    print(flush=True)
    sys.argv = ["", str(file), "0"]
    with file.with_suffix(".json").open("w") as out, contextlib.redirect_stdout(out):
        pdfium.main()
"""


def test_files_spoilt_at_random_lose_pages_and_never_raise(tmp_path: Path) -> None:
    for seed in range(CASES):
        (tmp_path / f"{seed:03}.pdf").write_bytes(mutated(valid(), seed))
    done = 0
    while done < CASES:
        command = [sys.executable, "-c", MANY, str(tmp_path), str(done)]
        done += subprocess.run(command, capture_output=True, text=True, check=False).stdout.count("\n")
    read = 0
    for seed in range(CASES):
        said = [json.loads(line) for line in (tmp_path / f"{seed:03}.json").read_text().splitlines()]
        if said and "pages" in said[0]:
            folios = [PdfPage.of(number, page) for number, page in enumerate(said[1:], 1)]
            try:
                read += bool(build_pdf_book(tmp_path / f"{seed:03}.pdf", PdfInfo.of(said[0]), folios).pages)
            except SourceError:
                continue
    assert read > CASES / 4
