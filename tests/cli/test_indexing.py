"""Indexing again, several books, and moving an index, as a terminal sees it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Run = Callable[..., CompletedProcess[str]]


@pytest.fixture
def book(little_book: Path, tmp_path: Path) -> Path:
    """The little book, to be changed."""
    return Path(shutil.copytree(little_book, tmp_path / "book"))


def test_indexing_again_says_what_changed_and_embeds_no_more(bookbound: Run, book: Path, tmp_path: Path) -> None:
    first = bookbound("index", str(book), cwd=tmp_path)
    assert "2 pages added" in first.stdout
    assert "none; the published index stays as it is" in bookbound("index", str(book), cwd=tmp_path).stdout
    (book / "new.md").write_text("# New\n\nA page more.\n")
    would = bookbound("index", str(book), "--dry-run", cwd=tmp_path)
    assert "it would be: 1 page added" in would.stdout
    told = json.loads(bookbound("index", str(book), "--json", cwd=tmp_path).stdout)
    assert (told["changes"]["added"], told["embedded"], told["published"]) == (["new.md"], 1, True)


def test_another_book_in_the_same_place_is_refused_and_beside_it_welcome(
    bookbound: Run, book: Path, tmp_path: Path
) -> None:
    bookbound("index", str(book), cwd=tmp_path)
    (other := tmp_path / "other").mkdir()
    (other / "ants.md").write_text("# Ants\n\nAn ant has six legs.\n")
    refused = bookbound("index", str(other), cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--force" in refused.stderr
    assert "--book NAME" in refused.stderr
    assert bookbound("index", str(other), "--book", "ants", "--edition", "1.0", cwd=tmp_path).returncode == 0
    told = json.loads(bookbound("status", "--book", "ants", "--edition", "1.0", "--json", cwd=tmp_path).stdout)
    assert (told["title"], told["books"]) == ("Other", ["", "ants@1.0"])
    found = json.loads(bookbound("search", "legs of an ant", "--book", "ants", "--json", cwd=tmp_path).stdout)
    assert found["passages"][0]["file"] == "ants.md"
    every = json.loads(bookbound("search", "legs of an ant", "--book", "all", "--json", cwd=tmp_path).stdout)
    assert "ants" in {passage["book"] for passage in every["passages"]}
    missing = bookbound("status", "--book", "bees", cwd=tmp_path)
    assert (missing.returncode, "ants@1.0" in missing.stderr) == (2, True)
    for name in ("../up", "all"):
        assert bookbound("index", str(other), "--book", name, cwd=tmp_path).returncode == 4
    (tmp_path / ".bookbound" / "books" / "ants (copy)").mkdir()
    assert bookbound("status", cwd=tmp_path).returncode == 0


def test_a_page_that_cannot_be_read_ends_with_5_and_the_rest_is_indexed(
    bookbound: Run, book: Path, tmp_path: Path
) -> None:
    (book / "broken.md").write_bytes(b"# Broken\n\0\0\0")
    done = bookbound("index", str(book), cwd=tmp_path)
    assert done.returncode == 5
    assert "broken.md" in done.stderr
    assert bookbound("status", cwd=tmp_path).returncode == 0


def test_an_index_goes_through_one_file_into_another_folder(bookbound: Run, book: Path, tmp_path: Path) -> None:
    bookbound("index", str(book), cwd=tmp_path)
    file = str(tmp_path / "b.bookbound")
    assert bookbound("export", file, cwd=tmp_path).returncode == 0
    assert bookbound("import", file, "--index", "moved", cwd=tmp_path).returncode == 0
    assert "stays as it is" in bookbound("index", str(book), "--index", "moved", cwd=tmp_path).stdout
    Path(file).write_bytes(b"no such thing")
    done = bookbound("import", file, "--index", "moved", cwd=tmp_path)
    assert (done.returncode, "no exported index" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "arguments", [("index",), ("index", "book", "--site", "http://x"), ("index", "--site", "http://x", "--watch")]
)
def test_what_to_index_is_one_thing_that_can_be_watched(
    bookbound: Run, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    assert bookbound(*arguments, cwd=tmp_path).returncode == 2


def test_a_watched_book_is_published_after_each_change_until_somebody_ends_it(
    book: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    command = [sys.executable, "-u", "-m", "bookbound", "index", str(book), "--watch", "--index", str(tmp_path / "i")]
    with subprocess.Popen(
        command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stderr
        assert "Watching" in process.stderr.readline()
        lines = iter(process.stdout.readline, "")
        (book / "new.md").write_text("# New\n\nA page more.\n")
        assert "1 page added" in next(line for line in lines if line.startswith("Published"))
        (book / "new.md").write_bytes(b"\0")
        (book / "newer.md").write_text("# Newer\n\nAnother page.\n")
        assert "removed" in next(line for line in lines if line.startswith("Published"))
        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
