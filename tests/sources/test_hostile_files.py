"""Reads three hundred hostile sources or refuses them with a message, within limits; no index breaks."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.sources.hostile_files import VALID_BOOKS, hostile_sources, write_files

from bookbound.domain.errors import SourceError
from bookbound.sources import parse_book
from bookbound.sources.fingerprints import fingerprint_source

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),  # the first of them reads all hostile sources, each with 20 seconds of processor time
    pytest.mark.skipif(sys.platform == "win32", reason="this system cannot limit memory and processor time"),
]
GROUPS, READINGS = 8, 40
READER = """
import json, resource, signal, sys, traceback
from pathlib import Path
from bookbound.domain.errors import SourceError
from bookbound.sources import parse_book
from bookbound.sources.fingerprints import fingerprint_source

MEMORY, CPU_SECONDS, WALL_SECONDS = 3 << 30, 20, 240
resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
for line in sys.stdin:
    name, source = json.loads(line)
    print(json.dumps({"started": name}), flush=True)
    used = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + CPU_SECONDS, resource.RLIM_INFINITY))
    signal.alarm(WALL_SECONDS)
    result = {"name": name, "pages": 0, "message": "", "error": ""}
    try:
        fingerprint_source(Path(source))
        book = parse_book(Path(source))
        result |= {"pages": len(book.pages), "text": "".join(page.text for page in book.pages)[:100_000]}
        result["message"] = " ".join(notice.message for notice in book.notices)
    except SourceError as error:
        result["message"] = str(error)
    except BaseException:
        result["error"] = traceback.format_exc()
    print(json.dumps(result), flush=True)
"""


def _read(group: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """Read some sources in one limited process."""
    lines = "".join(json.dumps(each) + "\n" for each in group)
    done = subprocess.run([sys.executable, "-c", READER], input=lines, capture_output=True, text=True, check=False)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (0, ""), (results[-1:], done.stderr[-2000:])
    return [result for result in results if "started" not in result]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Read every hostile source."""
    folder = tmp_path_factory.mktemp("hostile")
    built = [(name, str(build(folder / f"{number:03}"))) for number, (name, build) in enumerate(hostile_sources())]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        groups = list(threads.map(_read, [built[at::GROUPS] for at in range(GROUPS)]))
    return [each for group in groups for each in group]


def test_every_hostile_source_is_read_or_refused_with_a_message(results: list[dict[str, Any]]) -> None:
    assert len(results) >= 300
    assert {each["name"]: each["error"] for each in results if each["error"]} == {}
    assert [each["name"] for each in results if not each["pages"] and not each["message"]] == []


def test_no_file_outside_the_book_is_read(results: list[dict[str, Any]]) -> None:
    secret = Path("/etc/passwd").read_text().partition("\n")[0]
    assert [each["name"] for each in results if secret in each.get("text", "")] == []


@pytest.mark.parametrize("kind", VALID_BOOKS)
def test_the_sources_are_valid_before_they_are_broken(tmp_path: Path, kind: str) -> None:
    book = parse_book(write_files(tmp_path / "valid", VALID_BOOKS[kind].files))
    assert (book.kind, [notice for notice in book.notices if notice.lost]) == (kind, [])
    assert "motor turns" in "".join(page.text for page in book.pages)


@pytest.mark.parametrize(
    "kind", ["gitbook", "docusaurus", "mkdocs", "sphinx", "jupyter", "html", "epub", "pdf", "docx"]
)
def test_files_can_change_and_vanish_while_they_are_read(tmp_path: Path, kind: str) -> None:
    source, over = write_files(tmp_path / "book", VALID_BOOKS[kind].files), Event()
    files = [path for path in (tmp_path / "book").rglob("*") if path.is_file()]
    contents = {path: path.read_bytes() for path in files}

    def disturb() -> None:
        rng = random.Random(3)
        while not over.is_set():
            for path in rng.sample(files, 1 + len(files) // 2):
                path.unlink() if rng.random() < 0.5 else path.write_bytes(b"#")
            over.wait(0.001)
            for path, content in contents.items():
                path.write_bytes(content)
            over.wait(0.003)

    with ThreadPoolExecutor(1) as threads:
        disturbing = threads.submit(disturb)
        try:
            for _ in range(READINGS):
                with suppress(SourceError):
                    fingerprint_source(source)
                    parse_book(source)
        finally:
            over.set()
        disturbing.result()


def test_good_pages_next_to_hostile_ones_are_indexed_and_the_published_index_stays(tmp_path: Path) -> None:
    book = write_files(
        tmp_path / "book", {"a.md": "# Drives\n\nA harmonic drive consists of a wave generator and a flexspline."}
    )

    def bookbound(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "bookbound", *words, "--index", str(tmp_path / "index")]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    assert bookbound("index", str(book)).returncode == 0
    write_files(
        book,
        {
            "binary.md": bytes(999),
            "deep.md": "> " * 5_000,
            "stray.md": b"\xff\xfe\xfd",
            "aliases.md": "---\na: &a [*a]\n---",
        },
    )
    write_files(book, {"large.md": b"alpha "})
    os.truncate(book / "large.md", 50_000_000_000)
    (book / "loop.md").symlink_to("loop.md")
    (book / "endless.md").symlink_to("/dev/zero")
    os.mkfifo(book / "pipe.md")
    mixed = bookbound("index", str(book))
    assert (mixed.returncode, "Traceback" in mixed.stderr) == (5, False)
    assert [name for name in ("binary", "large", "loop", "endless", "pipe") if f"{name}.md" not in mixed.stderr] == []
    hopeless = write_files(tmp_path / "hopeless", {"a.epub": b"PK"})
    assert bookbound("index", str(hopeless)).returncode == 2
    assert "wave generator" in bookbound("ask", "What does a harmonic drive consist of?").stdout
