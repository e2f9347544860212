"""Three hundred hostile sources: each is read, or refused with a message, within bounds, and no index breaks."""

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
from tests.sources.hostile_files import SOUND, put, sources

from bookbound.domain.errors import SourceError
from bookbound.sources import parse_book
from bookbound.sources.fingerprints import fingerprint_source

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no limits on memory and processor time here")
GROUPS, READINGS = 8, 40
READER = """
import json, resource, signal, sys, traceback
from pathlib import Path
from bookbound.domain.errors import BadSource
from bookbound.sources import read
from bookbound.sources.fingerprints import mark

MEMORY, SECONDS, PATIENCE = 3 << 30, 20, 240
resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
for line in sys.stdin:
    name, source = json.loads(line)
    print(json.dumps({"begun": name}), flush=True)
    used = resource.getrusage(resource.RUSAGE_SELF)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + SECONDS, resource.RLIM_INFINITY))
    signal.alarm(PATIENCE)
    said = {"name": name, "pages": 0, "message": "", "trouble": ""}
    try:
        mark(Path(source))
        book = read(Path(source))
        said |= {"pages": len(book.pages), "text": "".join(page.text for page in book.pages)[:100_000]}
        said["message"] = " ".join(notice.message for notice in book.notices)
    except BadSource as trouble:
        said["message"] = str(trouble)
    except BaseException:
        said["trouble"] = traceback.format_exc()
    print(json.dumps(said), flush=True)
"""


def _read(group: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """What became of some sources that one limited process read."""
    asked = "".join(json.dumps(each) + "\n" for each in group)
    done = subprocess.run([sys.executable, "-c", READER], input=asked, capture_output=True, text=True, check=False)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (0, ""), (said[-1:], done.stderr[-2000:])
    return [each for each in said if "begun" not in each]


@pytest.fixture(scope="module")
def became(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What became of every hostile source."""
    folder = tmp_path_factory.mktemp("hostile")
    made = [(name, str(build(folder / f"{number:03}"))) for number, (name, build) in enumerate(sources())]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        groups = list(threads.map(_read, [made[at::GROUPS] for at in range(GROUPS)]))
    return [each for group in groups for each in group]


def test_every_hostile_source_is_read_or_refused_with_a_message(became: list[dict[str, Any]]) -> None:
    assert len(became) >= 300
    assert {each["name"]: each["trouble"] for each in became if each["trouble"]} == {}
    assert [each["name"] for each in became if not each["pages"] and not each["message"]] == []


def test_no_word_of_a_file_outside_the_book_gets_into_it(became: list[dict[str, Any]]) -> None:
    secret = Path("/etc/passwd").read_text().partition("\n")[0]
    assert [each["name"] for each in became if secret in each.get("text", "")] == []


@pytest.mark.parametrize("kind", SOUND)
def test_what_was_broken_is_sound_otherwise(tmp_path: Path, kind: str) -> None:
    book = parse_book(put(tmp_path / "sound", SOUND[kind].files))
    assert (book.kind, [notice for notice in book.notices if notice.lost]) == (kind, [])
    assert "motor turns" in "".join(page.text for page in book.pages)


@pytest.mark.parametrize("kind", ["gitbook", "docusaurus", "mkdocs", "sphinx", "jupyter", "html", "epub", "pdf"])
def test_files_that_vanish_and_change_while_they_are_read_stop_nobody(tmp_path: Path, kind: str) -> None:
    source, over = put(tmp_path / "book", SOUND[kind].files), Event()
    files = [path for path in (tmp_path / "book").rglob("*") if path.is_file()]
    contents = {path: path.read_bytes() for path in files}

    def disturb() -> None:
        chance = random.Random(3)
        while not over.is_set():
            for path in chance.sample(files, 1 + len(files) // 2):
                path.unlink() if chance.random() < 0.5 else path.write_bytes(b"#")
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


def test_the_good_pages_among_hostile_ones_are_indexed_and_what_was_published_stays(tmp_path: Path) -> None:
    book = put(
        tmp_path / "book", {"a.md": "# Drives\n\nA harmonic drive consists of a wave generator and a flexspline."}
    )

    def bookbound(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "bookbound", *words, "--index", str(tmp_path / "index")]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    assert bookbound("index", str(book)).returncode == 0
    put(
        book,
        {
            "binary.md": bytes(999),
            "deep.md": "> " * 5_000,
            "odd.md": b"\xff\xfe\xfd",
            "aliases.md": "---\na: &a [*a]\n---",
        },
    )
    put(book, {"large.md": b"alpha "})
    os.truncate(book / "large.md", 50_000_000_000)
    (book / "loop.md").symlink_to("loop.md")
    (book / "endless.md").symlink_to("/dev/zero")
    os.mkfifo(book / "pipe.md")
    mixed = bookbound("index", str(book))
    assert (mixed.returncode, "Traceback" in mixed.stderr) == (5, False)
    assert [name for name in ("binary", "large", "loop", "endless", "pipe") if f"{name}.md" not in mixed.stderr] == []
    hopeless = put(tmp_path / "hopeless", {"a.epub": b"PK"})
    assert bookbound("index", str(hopeless)).returncode == 2
    asked = bookbound("ask", "What does a harmonic drive consist of?")
    assert (asked.returncode, "wave generator" in asked.stdout) == (0, True)
