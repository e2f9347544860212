"""The report for the author, and the commands that look after the log."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.server.query_log.entries import entry, ledger, of, refused

import bookbound as library
from bookbound import bootstrap
from bookbound.domain.book_ref import BookRef
from bookbound.domain.judgement import RefusalReason
from bookbound.server.query_log import log_folder
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.repository import LossReport
from bookbound.server.query_log.unflushed import UnflushedEntries
from bookbound.settings import Settings

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(bookbound: Run, tmp_path: Path) -> Run:
    """Runs the command line in an empty folder."""
    return partial(bookbound, cwd=tmp_path)


@pytest.fixture
def logged(little_index: Path) -> Iterator[Path]:
    """An index with a log beside it."""
    folder = log_folder(little_index)
    writing = ledger(None, folder)
    writing.write(
        [
            entry("How often is it greased?", chapters=("Drives",), milliseconds=20, asker=of()),
            refused("How much does a humanoid robot cost?", milliseconds=10),
            refused("What is the price of a humanoid robot?", kind=RefusalReason.INSUFFICIENT_GROUNDING),
            refused("Is there a\x1b[31m printed edition?"),
            entry("long ago", timedelta(days=60)),
            entry("too long ago", timedelta(days=100)),
        ],
        LossReport(2),
    )
    writing.close()
    yield little_index
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()


def test_the_report_is_tables_and_groups_for_people(run: Run, logged: Path) -> None:
    done = run("report", "--index", str(logged))
    assert (done.returncode, done.stderr) == (0, "")
    for words in ("What readers ask My book", "4 asked", "answered", "1 (25%)", "not logged", "Drives", "By day"):
        assert words in done.stdout
    assert "2× What is the price of a humanoid robot?" in done.stdout
    assert "also: How much does a humanoid robot cost?" in done.stdout
    never = done.stdout.partition("Chapters that never did")[2]
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


def test_without_an_index_and_without_a_log_there_is_still_a_report(run: Run, tmp_path: Path) -> None:
    for form in ("text", "html", "json"):
        done = run("report", "--format", form)
        assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["book"] is None
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def several(little_book: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of a book without a name, two editions of another, and the log of both."""
    folder = tmp_path_factory.mktemp("several")
    other = folder / "other"
    other.mkdir()
    (other / "ants.md").write_text("# Ants\n\nAn ant has six legs.\n")
    for source, name, edition in ((little_book, None, None), (other, "ants", "1.0"), (other, "ants", "2.0")):
        bootstrap.index_book(source, Settings(index=folder / "index", book=name, edition=edition))
    writing = ledger(None, log_folder(folder / "index"))
    writing.write(
        [
            entry("How often is it greased?", chapters=("Drives",)),
            entry("How many legs has an ant?", chapters=("Ants",), volume=BookRef("ants", "2.0")),
            refused("Who won the cup?", volume=BookRef("ants", "1.0")),
            refused("Who is who?", volume=BookRef("withdrawn")),
            refused("Which is which?", volume=BookRef("all")),
        ]
    )
    writing.close()
    return folder / "index"


def test_a_report_is_on_the_book_of_the_settings_and_tells_that_others_were_asked(run: Run, several: Path) -> None:
    done = run("report", "--index", str(several))
    assert (done.returncode, done.stderr) == (0, "")
    assert "What readers ask My book" in done.stdout
    assert "Other books or editions were asked 4×; a report on all of them: --book all" in done.stdout
    assert "no longer in the index" not in done.stdout
    assert "Ants" not in done.stdout
    by_setting = run("report", "--index", str(several), BOOKBOUND_BOOK="ants").stdout
    assert "What readers ask Other" in by_setting
    assert "ants@2.0 (Other)" in by_setting


def test_a_report_is_on_the_book_and_edition_that_are_named(run: Run, several: Path) -> None:
    def found(*names: str) -> Any:
        return json.loads(run("report", "--index", str(several), "--format", "json", *names).stdout)

    ants = found("--book", "ants")
    assert (ants["volume"], ants["book"]["title"], ants["questions"]["asked"]) == ("ants", "Other", 2)
    assert ants["chapters"]["gone"] == ants["chapters"]["never"] == []
    first = found("--book", "ants", "--edition", "1.0")
    assert (first["questions"]["answered"], first["questions"]["refused"]) == (0, 1)
    assert first["chapters"]["never"] == ["Ants"]
    withdrawn = found("--book", "withdrawn")
    assert (withdrawn["book"], withdrawn["questions"]["asked"]) == (None, 1)
    everything = found("--book", "all", "--edition", "1.0")
    assert everything["questions"]["asked"] == 5
    assert {each["volume"] for each in everything["by_book"]} == {"", "ants@1.0", "ants@2.0", "withdrawn", "all"}


def test_a_report_on_all_books_is_for_people_too(run: Run, several: Path) -> None:
    told = run("report", "--index", str(several), "--book", "all").stdout
    for words in ("What readers ask all books", "5 asked", "ants: Ants", "My book", "all of them together"):
        assert words in told
    page = run("report", "--index", str(several), "--book", "all", "--format", "html").stdout
    assert "all of them together" in page


def test_a_report_on_a_book_that_nobody_has_heard_of_ends_with_2(run: Run, several: Path) -> None:
    done = run("report", "--index", str(several), "--book", "beetles")
    assert (done.returncode, done.stdout) == (2, "")
    assert "ants@2.0" in done.stderr
    assert run("report", "--book", "../up").returncode == 4


def test_a_status_of_the_log_says_where_it_is_and_what_it_holds(run: Run, logged: Path) -> None:
    found = json.loads(run("log", "status", "--json", "--index", str(logged)).stdout)
    oldest = datetime.fromisoformat(found.pop("oldest"))
    assert timedelta(days=99) < datetime.now(UTC) - oldest < timedelta(days=101)
    assert found == {
        "log": "on",
        "where": str(log_folder(logged) / "questions.db"),
        "step": "0003",
        "questions": 6,
        "sessions": 1,
        "lost": 2,
        "outstanding": 0,
    }
    left = UnflushedEntries(log_folder(logged), QueryLogDatabase(None, log_folder(logged)).name)
    left.add(uuid4())
    left.close()
    done = run("log", "status", "--index", str(logged))
    assert (done.returncode, done.stderr) == (0, "")
    for words in ("questions.db", "Questions     6\n", "Told as lost  2\n", "1, by processes that are gone"):
        assert words in done.stdout


def test_a_status_of_no_log_makes_none(run: Run, tmp_path: Path) -> None:
    done = run("log", "status")
    assert (done.returncode, done.stderr) == (0, "")
    assert "none" in done.stdout
    assert json.loads(run("log", "status", "--json").stdout)["oldest"] is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", ["30", "d", "-1d", "1y", "1.5d", "999999d", ""])
def test_a_time_that_is_none_ends_with_2(run: Run, words: str) -> None:
    done = run("report", f"--since={words}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "30d" in done.stderr


def test_a_purge_deletes_what_is_older_and_says_how_much(run: Run, logged: Path) -> None:
    done = run("log", "purge", "--index", str(logged))
    assert (done.returncode, done.stdout, done.stderr) == (0, "Deleted 1 question.\n", "")
    assert json.loads(run("log", "purge", "--older-than", "30d", "--json", "--index", str(logged)).stdout) == {
        "deleted": 1
    }
    everything = ("log", "purge", "--older-than", "0d", "--index", str(logged))
    refused = run(*everything)
    assert (refused.returncode, "--yes" in refused.stderr) == (2, True)
    assert run(*everything, "--yes").stdout == "Deleted 4 questions.\n"


def test_a_purge_of_nothing_makes_nothing(run: Run, tmp_path: Path) -> None:
    assert run("log", "purge").stdout == "Deleted 0 questions.\n"
    assert list(tmp_path.iterdir()) == []


def test_tables_go_up_and_down_by_hand(run: Run, logged: Path) -> None:
    where = ("--index", str(logged))
    done = run("log", "downgrade", "0001", *where)
    assert (done.returncode, done.stdout) == (2, "")
    assert "add --yes" in done.stderr
    assert run("log", "downgrade", "0001", "--yes", *where).stdout == "The log is at step 0001; it was at 0003.\n"
    done = run("report", *where)
    assert done.returncode == 2
    assert "bookbound log upgrade" in done.stderr
    assert run("log", "upgrade", *where).stdout == "The log is at step 0003; it was at 0001.\n"
    assert "4 asked" in run("report", *where).stdout


def test_a_downgrade_never_goes_up(run: Run, logged: Path) -> None:
    where = ("--index", str(logged))
    run("log", "downgrade", "nothing", "--yes", *where)
    done = run("log", "downgrade", "0001", "--yes", *where)
    assert done.returncode == 2
    assert "bookbound log upgrade" in done.stderr
    database = QueryLogDatabase(None, log_folder(logged))
    with database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM query_log_version").scalar() == 0
    database.close()


def test_whoever_asks_from_the_command_line_or_from_code_is_not_logged(run: Run, little_index: Path) -> None:
    asked = "What does a harmonic drive consist of?"
    assert run("ask", asked, "--index", str(little_index)).returncode == 0
    with library.open(little_index) as book:
        assert book.ask(asked).text
    assert not log_folder(little_index).exists()


def test_no_other_command_loads_a_database() -> None:
    script = (
        "import sys, bookbound.bootstrap, bookbound.cli, bookbound.cli.admin_commands, bookbound.cli.report_command, bookbound.domain.ports;"
        "print([name for name in ('sqlalchemy', 'alembic', 'psycopg', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
