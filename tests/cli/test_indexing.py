"""Indexing again, several books, and moving an index, as a terminal sees it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Run = Callable[..., CompletedProcess[str]]
Watching = Callable[..., AbstractContextManager[tuple[Iterator[str], Iterator[str]]]]


@pytest.fixture
def book(little_book: Path, tmp_path: Path) -> Path:
    """The little book, to be changed."""
    return Path(shutil.copytree(little_book, tmp_path / "book"))


@pytest.fixture
def watching(tmp_path: Path, environment: dict[str, str]) -> Watching:
    """Watches a source after so many warnings until Ctrl-C: a line for each publication, and one for each trouble."""

    @contextmanager
    def watched(source: Path, warned: int = 0) -> Iterator[tuple[Iterator[str], Iterator[str]]]:
        command = [sys.executable, "-u", "-m", "bookbound", "index", str(source), "--watch", "--index", "i"]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True) as process:
            assert process.stdout
            assert process.stderr
            said, told = iter(process.stdout.readline, ""), iter(process.stderr.readline, "")
            assert "Watching" in [next(told) for _ in range(warned + 1)][-1]
            yield (line for line in said if line.startswith("Published")), (line for line in told if "Error" in line)
            os.kill(process.pid, signal.SIGINT)
            process.communicate(timeout=60)
        assert process.returncode == 130

    return watched


def test_indexing_again_says_what_changed_and_embeds_no_more(bookbound: Run, book: Path, tmp_path: Path) -> None:
    first = bookbound("index", str(book), cwd=tmp_path)
    assert "2 pages added" in first.stdout
    assert "none; the published index stays as it is" in bookbound("index", str(book), cwd=tmp_path).stdout
    (book / "new.md").write_text("# New\n\nA page more.\n")
    would = bookbound("index", str(book), "--dry-run", cwd=tmp_path)
    assert "1 page added, and not published" in would.stdout
    assert "added  new.md" in would.stdout
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
    assert (missing.returncode, "--book ants --edition 1.0" in missing.stderr) == (2, True)
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


def test_an_import_says_what_to_set_where_questions_are_embedded_otherwise(
    bookbound: Run, little_index: Path, tmp_path: Path
) -> None:
    file, other = str(tmp_path / "b.bookbound"), {"BOOKBOUND_EMBEDDER": "openai", "BOOKBOUND_EMBED_KEY": "k"}
    bookbound("export", file, "--index", str(little_index))
    assert bookbound("import", file, "--index", "same", cwd=tmp_path).stderr == ""
    done = bookbound("import", file, "--index", "other", cwd=tmp_path, **other)
    assert (done.returncode, "`embedder` and `embed_model`" in done.stderr) == (0, True)


@pytest.mark.parametrize(
    "arguments", [("index",), ("index", "book", "--site", "http://x"), ("index", "--site", "http://x", "--watch")]
)
def test_what_to_index_is_one_thing_that_can_be_watched(
    bookbound: Run, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    assert bookbound(*arguments, cwd=tmp_path).returncode == 2


def test_a_watched_book_is_published_after_each_change_until_somebody_ends_it(book: Path, watching: Watching) -> None:
    with watching(book) as (published, _):
        (book / "new.md").write_text("# New\n\nA page more.\n")
        assert "1 page added" in next(published)
        (book / "new.md").write_bytes(b"\0")
        (book / "newer.md").write_text("# Newer\n\nAnother page.\n")
        assert "removed" in next(published)


def test_a_watched_file_may_be_replaced_again_and_again_and_its_folder_too(tmp_path: Path, watching: Watching) -> None:
    (folder := tmp_path / "notes").mkdir()
    (note := folder / "note.md").write_text("# Note\n\nThe first words.\n")
    with watching(note) as (published, troubles):
        for words in ("second", "third"):
            (fresh := folder / "fresh").write_text(f"# Note\n\nThe {words} words.\n")
            fresh.replace(note)
            assert "1 page changed" in next(published)
        folder.rename(tmp_path / "away")
        assert "no such file" in next(troubles)
        folder.mkdir()
        note.write_text("# Note\n\nThe last words.\n")
        assert "1 page changed" in next(published)


def test_settings_above_a_watched_folder_and_files_beside_it_are_watched(tmp_path: Path, watching: Watching) -> None:
    (docs := tmp_path / "site" / "docs").mkdir(parents=True)
    (settings := tmp_path / "site" / "mkdocs.yml").write_text("site_name: One\nnav: [index.md]\n")
    (docs / "index.md").write_text("# Start\n\nSome words.\n")
    (docs / "bad.md").write_bytes(b"\0")
    with watching(docs, warned=1) as (published, _):
        settings.write_text("site_name: Another\nnav: [index.md, more.md]\n")
        (docs / "more.md").write_text("# More\n\nMore words.\n")
        assert "Published" in next(published)
        settings.write_text("site_name: A third\nnav: [more.md, index.md]\n")
        assert "Published" in next(published)


def test_whoever_watches_makes_no_dry_run(bookbound: Run, book: Path, tmp_path: Path) -> None:
    refused = bookbound("index", str(book), "--watch", "--dry-run", cwd=tmp_path)
    assert (refused.returncode, "dry run" in refused.stderr) == (2, True)


def test_where_every_book_has_a_name_status_names_them_and_asking_says_to_name_one(
    bookbound: Run, book: Path, tmp_path: Path
) -> None:
    for edition in ("1.0", "2.0"):
        bookbound("index", str(book), "--book", "robots", "--edition", edition, cwd=tmp_path)
    told = bookbound("status", cwd=tmp_path)
    assert (told.returncode, told.stdout.count("--book robots --edition ")) == (0, 2)
    assert [each["name"] for each in json.loads(bookbound("status", "--json", cwd=tmp_path).stdout)["books"]] == [
        "robots@1.0",
        "robots@2.0",
    ]
    asked = bookbound("ask", "What is it?", cwd=tmp_path)
    assert (asked.returncode, "--book robots --edition 2.0" in asked.stderr) == (2, True)
    exported = bookbound("export", "robots.bookbound", "--book", "robots", cwd=tmp_path)
    assert exported.returncode == 0, exported.stderr
    assert "robots" in bookbound("status", "--book", "robots", cwd=tmp_path).stdout


def test_a_watched_folder_may_go_and_come_back_and_be_hidden_itself(tmp_path: Path, watching: Watching) -> None:
    (folder := tmp_path / ".hidden").mkdir()
    (note := folder / "note.md").write_text("# Note\n\nThe first words.\n")
    with watching(folder) as (published, troubles):
        note.write_text("# Note\n\nThe second words.\n")
        assert "1 page changed" in next(published)
        folder.rename(tmp_path / "away")
        assert "no such file" in next(troubles)
        (tmp_path / "away").rename(folder)
        for words in ("third", "fourth"):
            note.write_text(f"# Note\n\nThe {words} words.\n")
            assert "1 page changed" in next(published)
