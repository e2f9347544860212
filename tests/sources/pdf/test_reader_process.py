"""A PDF may crash or stall its reader process: the other pages are still read, in bounded time."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.sources.pdf_files import OutlineItem, PlacedText, make_pdf, text_column

from bookbound.domain.errors import SourceError
from bookbound.sources.pdf import build_pdf_book, pdfium
from bookbound.sources.pdf.reader_process import PdfInfo, PdfPage, open_pdf

# Replaces the script that runs PDFium: it crashes on the pages in DEADLY.
CRASHING = """
import json, os, sys
print(json.dumps({"title": "", "pages": PAGES, "outline": []}), flush=True)
for number in range(int(sys.argv[2]), PAGES):
    if number in DEADLY:
        print('{"label": "", "wor', flush=True)
        os.abort()
    word = [f"word{number}", 72, 90, 100, 10, 0, False]
    print(json.dumps({"label": "", "height": 842, "words": [word], "pictures": False}), flush=True)
"""
SET_LIMITS = "from bookbound.sources.pdf import pdfium\npdfium.MAX_PAGE_CPU_SECONDS = 1\npdfium._set_limits()\n"
NEEDS_LIMITS = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no process limits")
CASES = 300


def crashing_program(folder: Path, pages: int, deadly: set[int]) -> str:
    program = folder / "program.py"
    program.write_text(CRASHING.replace("PAGES", str(pages)).replace("DEADLY", repr(deadly)))
    return str(program)


def test_a_page_that_crashes_the_reader_is_reported_and_the_rest_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdfium, "__file__", crashing_program(tmp_path, 6, {0, 3}))
    book = build_pdf_book(tmp_path / "a.pdf", *open_pdf(tmp_path / "a.pdf"))
    assert [each.number for page in book.pages for each in page.page_breaks] == [2, 3, 5, 6]
    [notice] = book.notices
    assert (notice.message, notice.lost) == ("pages 1, 4: could not be read", True)


def test_after_three_crashes_the_remaining_pages_are_reported_as_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdfium, "__file__", crashing_program(tmp_path, 100, set(range(1, 100))))
    book = build_pdf_book(tmp_path / "a.pdf", *open_pdf(tmp_path / "a.pdf"))
    assert [notice.message for notice in book.notices] == ["pages 2-100: could not be read"]


def test_a_file_that_crashes_the_reader_at_once_raises_an_error_with_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program := tmp_path / "program.py").write_text("import os\nos.abort()")
    monkeypatch.setattr(pdfium, "__file__", str(program))
    with pytest.raises(SourceError, match="save it again"):
        open_pdf(tmp_path / "a.pdf")


def test_the_reader_process_gets_no_secrets_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import json, os\nprint(json.dumps({'title': ' '.join(os.environ), 'pages': 0, 'outline': []}))\n"
    )
    monkeypatch.setenv("BOOKBOUND_LLM_KEY", "secret")
    monkeypatch.setattr(pdfium, "__file__", str(program))
    info, _ = open_pdf(tmp_path / "a.pdf")
    assert "PYTHONPATH" in info.title
    assert "KEY" not in info.title


@NEEDS_LIMITS
@pytest.mark.parametrize(
    ("code", "returncode"),
    [("while True: pass", -signal.SIGXCPU), ("bytearray(pdfium.MAX_MEMORY_BYTES)", 1)],
    ids=["time", "memory"],
)
def test_the_reader_process_has_limited_time_and_memory(code: str, returncode: int) -> None:
    finished = subprocess.run([sys.executable, "-c", SET_LIMITS + code], capture_output=True, check=False)
    assert finished.returncode == returncode


def valid() -> bytes:
    sheets = [
        [PlacedText(72, 100, f"Chapter {n}", 18, "bold"), *text_column(72, 130, ["Words of it.", "And more-", "over."])]
        for n in range(1, 4)
    ]
    return make_pdf(sheets, [OutlineItem(0, f"Chapter {n}", n, 80) for n in range(1, 4)], labels="0 << /S /r >>")


def mutated(data: bytes, seed: int) -> bytes:
    """The file with some bytes changed, removed, doubled or replaced by other numbers."""
    rng = random.Random(seed)
    mutant = bytearray(data)
    for _ in range(rng.randint(1, 12)):
        at, length = rng.randrange(len(mutant)), rng.randint(1, 40)
        part = mutant[at : at + length]
        changes = (b"", part * 2, rng.randbytes(1), b"-99999999999", b"1e38", b"<<" * 9, b"3 0 R", part[::-1])
        mutant[at : at + length] = rng.choice(changes)
    return bytes(mutant[: rng.randrange(len(mutant))] if rng.random() < 0.15 else mutant)


READ_ALL = """
import contextlib, sys
from pathlib import Path
from bookbound.sources.pdf import pdfium
for file in sorted(Path(sys.argv[1]).glob("*.pdf"))[int(sys.argv[2]):]:
    print(flush=True)
    sys.argv = ["", str(file), "0"]
    with file.with_suffix(".json").open("w") as out, contextlib.redirect_stdout(out):
        pdfium.main()
"""


@pytest.mark.slow
def test_randomly_damaged_files_lose_pages_and_never_raise(tmp_path: Path) -> None:
    for seed in range(CASES):
        (tmp_path / f"{seed:03}.pdf").write_bytes(mutated(valid(), seed))
    done = 0
    while done < CASES:
        command = [sys.executable, "-c", READ_ALL, str(tmp_path), str(done)]
        done += subprocess.run(command, capture_output=True, text=True, check=False).stdout.count("\n")
    read = 0
    for seed in range(CASES):
        messages = [json.loads(line) for line in (tmp_path / f"{seed:03}.json").read_text().splitlines()]
        if messages and "pages" in messages[0]:
            pages = [PdfPage.from_json(number, page) for number, page in enumerate(messages[1:], 1)]
            try:
                read += bool(build_pdf_book(tmp_path / f"{seed:03}.pdf", PdfInfo.from_json(messages[0]), pages).pages)
            except SourceError:
                continue
    assert read > CASES / 4


def test_a_pdf_that_names_one_page_very_often_is_refused_at_once(tmp_path: Path) -> None:
    count = pdfium.MAX_PAGES + 1
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count %d /Kids [%b] >>" % (count, b"3 0 R " * count),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] >>",
    ]
    content, places = b"%PDF-1.4\n", list[int]()
    for number, body in enumerate(objects, 1):
        places.append(len(content))
        content += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(content)
    content += b"xref\n0 4\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % place for place in places)
    content += b"trailer << /Size 4 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % start
    (tmp_path / "a.pdf").write_bytes(content)
    with pytest.raises(SourceError, match=f"more than {pdfium.MAX_PAGES} pages"):
        open_pdf(tmp_path / "a.pdf")
