"""Indexing, indexing again, several books, and watching a source."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from tests.child_process import run_child
from tests.cli.conftest import Run

from bookbound import bootstrap
from bookbound.settings import Settings

Watching = Callable[..., AbstractContextManager[tuple[Iterator[str], Iterator[str]]]]


@pytest.fixture
def watching(tmp_path: Path, environment: dict[str, str]) -> Watching:
    """Watches a source until Ctrl-C: its lines about published indexes, and its lines about errors."""

    @contextmanager
    def watch(source: Path, warning_count: int = 0) -> Iterator[tuple[Iterator[str], Iterator[str]]]:
        command = [sys.executable, "-u", "-m", "bookbound", "index", str(source), "--watch", "--index", "i"]
        pipe = subprocess.PIPE
        with run_child(*command, env=environment, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True) as process:
            assert process.stdout
            assert process.stderr
            out, err = iter(process.stdout.readline, ""), iter(process.stderr.readline, "")
            assert "Watching" in [next(err) for _ in range(warning_count + 1)][-1]
            yield (line for line in out if line.startswith("Published")), (line for line in err if "Error" in line)
            os.kill(process.pid, signal.SIGINT)
            process.communicate(timeout=60)
            assert process.returncode == 130

    return watch


def save(file: Path, content: bytes | str) -> None:
    """Replaces a file at once, so that a watcher never reads half of it."""
    fresh = file.with_name(f".{file.name}.fresh")
    fresh.write_bytes(content if isinstance(content, bytes) else content.encode())
    fresh.replace(file)


def test_indexing_again_shows_the_changes_and_embeds_only_them(bookbound: Run, book: Path, tmp_path: Path) -> None:
    first = bookbound("index", str(book), cwd=tmp_path)
    assert "2 pages added" in first.stdout
    assert "none; the published index stays as it is" in bookbound("index", str(book), cwd=tmp_path).stdout
    (book / "new.md").write_text("# New\n\nA page more.\n")
    would = bookbound("index", str(book), "--dry-run", cwd=tmp_path)
    assert "1 page added; not published (dry run)" in would.stdout
    assert "added  new.md" in would.stdout
    found = json.loads(bookbound("index", str(book), "--json", cwd=tmp_path).stdout)
    assert (found["changes"]["added"], found["embedded"], found["published"]) == (["new.md"], 1, True)


def test_another_book_needs_its_own_name_in_the_same_index(bookbound: Run, book: Path, tmp_path: Path) -> None:
    bookbound("index", str(book), cwd=tmp_path)
    (other := tmp_path / "other").mkdir()
    (other / "ants.md").write_text("# Ants\n\nAn ant has six legs.\n")
    refused = bookbound("index", str(other), cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--force" in refused.stderr
    assert "--book NAME" in refused.stderr
    assert bookbound("index", str(other), "--book", "ants", "--edition", "1.0", cwd=tmp_path).returncode == 0
    found = json.loads(bookbound("status", "--book", "ants", "--edition", "1.0", "--json", cwd=tmp_path).stdout)
    assert (found["title"], [each["name"] for each in found["books"]]) == ("Other", ["", "ants@1.0"])
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


def test_a_page_that_cannot_be_read_exits_with_5_and_the_rest_is_indexed(
    bookbound: Run, book: Path, tmp_path: Path
) -> None:
    (book / "broken.md").write_bytes(b"# Broken\n\0\0\0")
    done = bookbound("index", str(book), cwd=tmp_path)
    assert done.returncode == 5
    assert "broken.md" in done.stderr
    assert bookbound("status", cwd=tmp_path).returncode == 0


def test_a_missing_include_exits_with_5_each_time_until_it_is_there(bookbound: Run, tmp_path: Path) -> None:
    (source := tmp_path / "book" / "src").mkdir(parents=True)
    (tmp_path / "book" / "book.toml").write_text('[book]\ntitle = "Lamps"\n')
    (source / "SUMMARY.md").write_text("- [Wicks](wicks.md)\n")
    (source / "wicks.md").write_text("# Wicks\n\nA wick is trimmed every day.\n\n{{#include more.txt}}\n")
    for changes in ("1 page added", "none; the published index stays as it is"):
        done = bookbound("index", "book", cwd=tmp_path)
        rows = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if line)
        assert (done.returncode, rows["Changes"]) == (5, changes)
        assert rows["Missing"] == "words of 1 file; see the warnings (exit code 5)"
        assert "more.txt" in done.stderr
    (source / "more.txt").write_text("A lamp burns oil.\n")
    done = bookbound("index", "book", cwd=tmp_path)
    assert (done.returncode, done.stderr, "Missing" in done.stdout) == (0, "", False)


def test_a_title_replaces_that_of_the_source_and_nothing_is_embedded_again(
    bookbound: Run, little_book: Path, tmp_path: Path
) -> None:
    def index(*options: str) -> tuple[str, bool, int]:
        found = json.loads(bookbound("index", str(little_book), "--json", *options, cwd=tmp_path).stdout)
        return found["title"], found["published"], found["embedded"]

    own, *_ = index()
    titled = "--title", "  Robots for\nEveryone "
    assert index(*titled) == ("Robots for Everyone", True, 0)
    assert index(*titled) == ("Robots for Everyone", False, 0)
    assert index("--title", "") == (own, True, 0)
    (tmp_path / "bookbound.toml").write_text('title = "Machines"\n')
    assert index()[0] == "Machines"
    refused = bookbound("index", str(little_book), "--title", "x" * 1001, cwd=tmp_path)
    assert (refused.returncode, "at most 1000 characters" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    "arguments", [("index",), ("index", "book", "--site", "http://x"), ("index", "--site", "http://x", "--watch")]
)
def test_exactly_one_source_is_indexed_and_a_site_cannot_be_watched(
    bookbound: Run, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    assert bookbound(*arguments, cwd=tmp_path).returncode == 2


@pytest.fixture(scope="module")
def titled_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of a book whose sections do not repeat the words of their titles."""
    folder = tmp_path_factory.mktemp("titled")
    sections = {
        "About the Authors": "Two engineers wrote all of it together. They built machines for twenty years.",
        "Who This Book Is For": "Readers need some Python and a laptop. Mathematics is explained on the way.",
        "Conventions Used in This Book": "Code is set in a fixed font. A sign marks each warning.",
        "Motors": "A motor turns a current into motion, and a brake holds the shaft.",
    }
    text = "".join(f"## {title}\n\n{words}\n\n" for title, words in sections.items())
    (folder / "intro.md").write_text(f"# Robots in Practice\n\n{text}")
    bootstrap.index_book(folder, Settings(index=folder / "index"))
    return folder / "index"


@pytest.mark.parametrize("command", ["index", "inspect"])
@pytest.mark.parametrize(
    ("address", "suggested"),
    [
        ("https://book.example/docs?a=1&b=2", "--site 'https://book.example/docs?a=1&b=2'"),
        ("HTTP://book.example/", "--site HTTP://book.example"),
        ("www.book.example", "--site https://www.book.example"),
        ("https://me:secret@book.example/", "--site URL"),
    ],
)
def test_an_address_as_source_suggests_the_command_that_reads_the_site(
    bookbound: Run, tmp_path: Path, command: str, address: str, suggested: str
) -> None:
    done = bookbound(command, address, cwd=tmp_path)
    assert (done.returncode, done.stderr.rstrip().endswith(f": bookbound {command} {suggested}")) == (2, True)
    assert "secret" not in done.stderr


def test_a_book_in_another_language_is_indexed_with_one_warning(bookbound: Run, tmp_path: Path) -> None:
    words = "Der Motor ist nicht schwer und wird von der Welle mit einer Kupplung getrennt, wenn sie zu warm ist. "
    (tmp_path / "buch").mkdir()
    for name in ("a.md", "b.md"):
        (tmp_path / "buch" / name).write_text(f"# Kapitel\n\n{words * 3}", encoding="utf-8")
    done = bookbound("index", "buch", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.count("the book seems to be in German; answers are tuned for English") == 1
    assert "German" not in bookbound("index", "buch", cwd=tmp_path).stderr


@pytest.mark.parametrize("title", ["Who This Book Is For", "Conventions Used in This Book", "About the Authors"])
def test_a_section_is_found_first_for_its_exact_title(bookbound: Run, titled_index: Path, title: str) -> None:
    found = json.loads(bookbound("search", title, "--index", str(titled_index), "--json").stdout)
    assert found["passages"][0]["section"] == title


def test_a_watched_book_is_published_after_each_change(book: Path, watching: Watching) -> None:
    with watching(book) as (published, _):
        save(book / "new.md", "# New\n\nA page more.\n")
        assert "1 page added" in next(published)
        save(book / "new.md", b"\0")
        save(book / "newer.md", "# Newer\n\nAnother page.\n")
        assert "removed" in next(published)


@pytest.mark.slow
def test_a_watched_file_and_its_folder_may_be_replaced(tmp_path: Path, watching: Watching) -> None:
    (folder := tmp_path / "notes").mkdir()
    (note := folder / "note.md").write_text("# Note\n\nThe first words.\n")
    with watching(note) as (published, errors):
        for words in ("second", "third"):
            save(note, f"# Note\n\nThe {words} words.\n")
            assert "1 page changed" in next(published)
        folder.rename(tmp_path / "away")
        assert "Error" in next(errors)
        folder.mkdir()
        save(note, "# Note\n\nThe last words.\n")
        assert "1 page changed" in next(published)


@pytest.mark.slow
def test_a_configuration_above_the_watched_folder_is_watched_too(tmp_path: Path, watching: Watching) -> None:
    (docs := tmp_path / "site" / "docs").mkdir(parents=True)
    (config := tmp_path / "site" / "mkdocs.yml").write_text("site_name: One\nnav: [index.md]\n")
    (docs / "index.md").write_text("# Start\n\nSome words.\n")
    (docs / "bad.md").write_bytes(b"\0")
    with watching(docs, warning_count=1) as (published, _):
        save(config, "site_name: Another\nnav: [index.md, more.md]\n")
        assert "Published" in next(published)
        save(docs / "more.md", "# More\n\nMore words.\n")
        assert "1 page added" in next(published)
        save(config, "site_name: A third\nnav: [more.md, index.md]\n")
        assert "Published" in next(published)


def test_watch_and_dry_run_exclude_each_other(bookbound: Run, book: Path, tmp_path: Path) -> None:
    refused = bookbound("index", str(book), "--watch", "--dry-run", cwd=tmp_path)
    assert (refused.returncode, "--dry-run" in refused.stderr) == (2, True)


@pytest.mark.slow
def test_a_watched_folder_may_be_moved_away_and_back_and_be_hidden(tmp_path: Path, watching: Watching) -> None:
    (folder := tmp_path / ".hidden").mkdir()
    (note := folder / "note.md").write_text("# Note\n\nThe first words.\n")
    with watching(folder) as (published, errors):
        save(note, "# Note\n\nThe second words.\n")
        assert "1 page changed" in next(published)
        folder.rename(tmp_path / "away")
        assert "Error" in next(errors)
        (tmp_path / "away").rename(folder)
        for words in ("third", "fourth"):
            save(note, f"# Note\n\nThe {words} words.\n")
            assert "1 page changed" in next(published)


def test_a_change_is_published_as_soon_as_another_process_lets_go_of_the_index(
    bookbound: Run, book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change_while_locked(*_: Path) -> Iterator[bool]:
        (book / "new.md").write_text("# New\n\nA page more.\n")
        with (tmp_path / ".bookbound" / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield True
            yield False
        yield False
        yield False
        raise KeyboardInterrupt

    monkeypatch.setattr("bookbound.cli.index_command.watch_changes", change_while_locked)
    done = bookbound("index", str(book), "--watch", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("Error")) == (130, 1)
    assert done.stdout.count("Published") == done.stdout.count("1 page added") == 1


def test_index_prints_a_summary_and_the_next_step(bookbound: Run, little_book: Path, tmp_path: Path) -> None:
    done = bookbound("index", str(little_book), "--index", str(tmp_path / "index"))
    assert (done.returncode, done.stderr) == (0, "")
    rows = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if line)
    assert rows["Pages"] == "2"
    assert rows["Index"] == str(tmp_path / "index")
    assert rows["Next:"] == f'bookbound ask "your question" --index {tmp_path / "index"}'


def test_index_in_json_has_the_manifest_the_notices_and_the_time(
    bookbound: Run, little_book: Path, tmp_path: Path
) -> None:
    (book := tmp_path / "book").mkdir()
    (book / "fine.md").write_bytes((little_book / "drives.md").read_bytes())
    (book / "odd.md").write_bytes("# Café\n\nThe café opens at nine.\n".encode("latin-1"))
    done = bookbound("index", "book", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert (done.returncode, found["pages"]) == (0, 2)
    assert [notice["file"] for notice in found["notices"]] == ["odd.md"]
    assert found["seconds"] > 0
    assert (tmp_path / ".bookbound").is_dir()


def test_a_file_with_an_unclear_encoding_is_a_warning(bookbound: Run, tmp_path: Path) -> None:
    (tmp_path / "odd.md").write_bytes("# Café\n\nThe café opens at nine.\n".encode("latin-1"))
    done = bookbound("index", ".", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.startswith("Warning: odd.md: ")


def test_a_warning_about_a_file_name_with_a_line_break_is_one_line(bookbound: Run, tmp_path: Path) -> None:
    (tmp_path / "od\nd.md").write_bytes("# Café\n\nThe café opens at nine.\n".encode("latin-1"))
    done = bookbound("index", ".", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.startswith("Warning: od\\nd.md: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [("ask", "why?"), ("status",), ("index", ".")])
def test_an_index_location_that_is_a_file_is_an_error(bookbound: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "page.md").write_text("# Words\n\nThat are no index.\n")
    done = bookbound(*command, "--index", "page.md", cwd=tmp_path)
    found = "Error: page.md is not a folder. Name a folder for the index: --index FOLDER\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", found)


@pytest.mark.parametrize(
    "command", [("index", ""), ("index", ".", "--index", ""), ("ask", "why?", "--index", ""), ("serve", "--source", "")]
)
def test_an_empty_path_is_not_the_working_directory(bookbound: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "page.md").write_text("# Words\n\nThis page is not the source.\n")
    done = bookbound(*command, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "The path is empty." in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]


def test_a_missing_source_exits_with_2(bookbound: Run, tmp_path: Path) -> None:
    done = bookbound("index", "nowhere", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)["error"]
    assert (done.returncode, found["type"]) == (2, "SourceError")
    assert found["message"].startswith("nowhere: ")


def test_an_index_that_another_process_writes_exits_with_2(bookbound: Run, little_book: Path, tmp_path: Path) -> None:
    bookbound("index", str(little_book), cwd=tmp_path)
    with (tmp_path / ".bookbound" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = bookbound("index", str(little_book), "--force", "--json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["error"]["type"]) == (2, "IndexLockedError")
