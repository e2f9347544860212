"""The report for the author."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.server.query_log.factories import make_entry, make_refused_entry, make_repository

import bookbound as library
from bookbound import bootstrap
from bookbound.cli.exit_codes import EXIT_ANSWERED, EXIT_REFUSED
from bookbound.domain.book_ref import BookRef
from bookbound.server.query_log import log_folder
from bookbound.settings import Settings


def test_the_report_is_tables_and_groups_of_questions(run: Run, logged: Path) -> None:
    done = run("report", "--index", str(logged))
    assert (done.returncode, done.stderr) == (0, "")
    for words in ("What readers ask My book", "4 asked", "answered", "1 (25%)", "not logged", "Drives", "By day"):
        assert words in done.stdout
    assert "2× What is the price of a humanoid robot?" in done.stdout
    assert "also: How much does a humanoid robot cost?" in done.stdout
    never = done.stdout.partition("Chapters that never answer")[2]
    assert "Nodes" in never
    assert "\x1b" not in done.stdout


def test_the_report_is_json_for_scripts(run: Run, logged: Path) -> None:
    done = run("report", "--index", str(logged), "--format", "json", "--since", "10w")
    found = json.loads(done.stdout)
    assert found["questions"]["asked"] == 5
    assert found["questions"]["lost"] == 2
    assert [group["asked"] for group in found["unanswered"]["groups"]] == [2, 1]


def test_the_report_is_a_page_with_plots(run: Run, logged: Path) -> None:
    done = run("report", "--index", str(logged), "--format", "html")
    assert done.stdout.startswith("<!doctype html>")
    assert done.stdout.count("<svg") == 2
    assert "<script" not in done.stdout


@pytest.mark.parametrize("names", [(), ("--book", "all")])
def test_without_an_index_and_a_log_it_says_so_and_what_to_do(run: Run, tmp_path: Path, names: tuple[str, ...]) -> None:
    message = "There is no index in .bookbound yet. Index a book first: bookbound index SOURCE"
    for form in ("text", "html"):
        done = run("report", "--format", form, *names)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"Error: {message}\n")
    done = run("report", "--format", "json", *names)
    assert (done.returncode, json.loads(done.stdout)["error"]["message"]) == (2, message)
    assert list(tmp_path.iterdir()) == []


def test_a_log_without_an_index_is_reported_with_a_warning(run: Run, tmp_path: Path) -> None:
    repository = make_repository(None, log_folder(tmp_path / "index"))
    repository.write([make_entry("How often is it greased?", chapters=("Drives",))])
    repository.close()
    done = run("report", "--index", "index")
    assert (done.returncode, "1 asked" in done.stdout) == (0, True)
    assert "does not list chapters that never answered. There is no index in index yet." in done.stderr


@pytest.fixture(scope="module")
def several(little_book: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of a book without a name, two editions of another, and the query log of both."""
    folder = tmp_path_factory.mktemp("several")
    other = folder / "other"
    other.mkdir()
    (other / "ants.md").write_text("# Ants\n\nAn ant has six legs.\n")
    for source, name, edition in ((little_book, None, None), (other, "ants", "1.0"), (other, "ants", "2.0")):
        bootstrap.index_book(source, Settings(index=folder / "index", book=name, edition=edition))
    repository = make_repository(None, log_folder(folder / "index"))
    repository.write(
        [
            make_entry("How often is it greased?", chapters=("Drives",)),
            make_entry("How many legs has an ant?", chapters=("Ants",), book_ref=BookRef("ants", "2.0")),
            make_refused_entry("Who won the cup?", book_ref=BookRef("ants", "1.0")),
            make_refused_entry("Who is who?", book_ref=BookRef("withdrawn")),
            make_refused_entry("Which is which?", book_ref=BookRef("all")),
        ]
    )
    repository.close()
    return folder / "index"


def test_a_report_is_about_the_book_of_the_settings_and_mentions_the_others(run: Run, several: Path) -> None:
    done = run("report", "--index", str(several))
    assert (done.returncode, done.stderr) == (0, "")
    assert "What readers ask My book" in done.stdout
    assert "Other books or editions got 4 questions. To see all: --book all" in done.stdout
    assert "no longer in the index" not in done.stdout
    assert "Ants" not in done.stdout
    by_setting = run("report", "--index", str(several), BOOKBOUND_BOOK="ants").stdout
    assert "What readers ask Other" in by_setting
    assert "ants@2.0 (Other)" in by_setting


def test_a_report_is_about_the_given_book_and_edition(run: Run, several: Path) -> None:
    def found(*names: str) -> Any:
        return json.loads(run("report", "--index", str(several), "--format", "json", *names).stdout)

    ants = found("--book", "ants")
    assert (ants["book_ref"], ants["book"]["title"], ants["questions"]["asked"]) == ("ants", "Other", 2)
    assert ants["chapters"]["removed"] == ants["chapters"]["uncited"] == []
    first = found("--book", "ants", "--edition", "1.0")
    assert (first["questions"]["answered"], first["questions"]["refused"]) == (0, 1)
    assert first["chapters"]["uncited"] == ["Ants"]
    withdrawn = found("--book", "withdrawn")
    assert (withdrawn["book"], withdrawn["questions"]["asked"]) == (None, 1)
    everything = found("--book", "all", "--edition", "1.0")
    assert everything["questions"]["asked"] == 5
    assert {each["book_ref"] for each in everything["by_book"]} == {"", "ants@1.0", "ants@2.0", "withdrawn", "all"}


def test_a_report_about_all_books_is_also_text_and_a_page(run: Run, several: Path) -> None:
    text = run("report", "--index", str(several), "--book", "all").stdout
    for words in ("What readers ask all books", "5 asked", "ants: Ants", "My book", "all books together"):
        assert words in text
    page = run("report", "--index", str(several), "--book", "all", "--format", "html").stdout
    assert "all books together" in page


def test_a_report_about_an_unknown_book_exits_with_2(run: Run, several: Path) -> None:
    done = run("report", "--index", str(several), "--book", "beetles")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--book ants --edition 2.0" in done.stderr
    assert run("report", "--book", "../up").returncode == 4


@pytest.mark.parametrize("words", ["30", "d", "-1d", "1y", "1.5d", "999999d", ""])
def test_an_invalid_duration_exits_with_2(run: Run, words: str) -> None:
    done = run("report", f"--since={words}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "30d" in done.stderr


def test_questions_from_the_command_line_or_code_are_not_logged(run: Run, little_index: Path) -> None:
    question = "What does a harmonic drive consist of?"
    assert run("ask", question, "--index", str(little_index)).returncode in (EXIT_ANSWERED, EXIT_REFUSED)
    with library.open(little_index) as book:
        assert book.ask(question).text
    assert not log_folder(little_index).exists()


def test_commands_do_not_import_a_database_until_they_need_it() -> None:
    script = (
        "import sys, bookbound.bootstrap, bookbound.cli, bookbound.domain.ports;"
        "print([name for name in ('sqlalchemy', 'alembic', 'psycopg', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
