"""The state, age and tables of the query log."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.cli.conftest import Run
from tests.server.query_log.factories import make_entry, make_repository, make_unsure_entry

from bookbound.domain.trace import QueryStatus
from bookbound.server.query_log import log_folder
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.report.presentation import REPORT_COLUMNS


def test_log_status_shows_where_the_log_is_and_what_it_holds(run: Run, logged: Path) -> None:
    found = json.loads(run("log", "status", "--json", "--index", str(logged)).stdout)
    oldest = datetime.fromisoformat(found.pop("oldest"))
    assert timedelta(days=99) < datetime.now(UTC) - oldest < timedelta(days=101)
    assert found == {
        "log": "on",
        "where": str(log_folder(logged) / "questions.db"),
        "step": "0004",
        "questions": 6,
        "sessions": 1,
        "lost": 2,
        "answered": 3,
        "unsure": 0,
        "refused": 3,
        "errors": 0,
    }
    done = run("log", "status", "--index", str(logged))
    assert (done.returncode, done.stderr) == (0, "")
    for words in ("questions.db", "Questions    6\n", "Not logged   2\n"):
        assert words in done.stdout


def test_log_status_counts_replies_with_the_words_and_in_the_order_of_a_report(run: Run, logged: Path) -> None:
    repository = make_repository(None, log_folder(logged))
    repository.write([make_unsure_entry("How heavy is it?"), make_entry("And now?", status=QueryStatus.FAILED)])
    repository.close()
    lines = [line.split() for line in run("log", "status", "--index", str(logged)).stdout.splitlines()]
    start = lines.index(["Questions", "8"])
    assert [name.lower() for name, _ in lines[start + 1 : start + 5]] == list(REPORT_COLUMNS[1:])
    assert [int(count) for _, count in lines[start + 1 : start + 5]] == [3, 1, 3, 1]


def test_log_status_does_not_make_a_log(run: Run, tmp_path: Path) -> None:
    done = run("log", "status")
    assert (done.returncode, done.stderr) == (0, "")
    assert "none" in done.stdout
    assert json.loads(run("log", "status", "--json").stdout)["oldest"] is None
    assert list(tmp_path.iterdir()) == []


def test_a_purge_deletes_old_questions_and_counts_them(run: Run, logged: Path) -> None:
    done = run("log", "purge", "--index", str(logged))
    assert (done.returncode, done.stdout, done.stderr) == (0, "Deleted 1 question.\n", "")
    assert json.loads(run("log", "purge", "--older-than", "30d", "--json", "--index", str(logged)).stdout) == {
        "deleted": 1
    }
    everything = ("log", "purge", "--older-than", "0d", "--index", str(logged))
    refused = run(*everything)
    assert (refused.returncode, "--yes" in refused.stderr) == (2, True)
    assert run(*everything, "--yes").stdout == "Deleted 4 questions.\n"


def test_a_purge_does_not_make_a_log(run: Run, tmp_path: Path) -> None:
    assert run("log", "purge").stdout == "Deleted 0 questions.\n"
    assert list(tmp_path.iterdir()) == []


def test_the_tables_are_downgraded_and_upgraded(run: Run, logged: Path) -> None:
    where = ("--index", str(logged))
    done = run("log", "downgrade", "0001", *where)
    assert (done.returncode, done.stdout) == (2, "")
    assert "add --yes" in done.stderr
    assert (
        run("log", "downgrade", "0001", "--yes", *where).stdout
        == "The query log is at schema step 0001 (before: 0004).\n"
    )
    done = run("report", *where)
    assert done.returncode == 2
    assert "bookbound log upgrade" in done.stderr
    assert run("log", "upgrade", *where).stdout == "The query log is at schema step 0004 (before: 0001).\n"
    assert "4 asked" in run("report", *where).stdout


def test_a_downgrade_does_not_upgrade(run: Run, logged: Path) -> None:
    where = ("--index", str(logged))
    run("log", "downgrade", "nothing", "--yes", *where)
    done = run("log", "downgrade", "0001", "--yes", *where)
    assert done.returncode == 2
    assert "bookbound log upgrade" in done.stderr
    database = QueryLogDatabase(None, log_folder(logged))
    with database.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM query_log_version").scalar() == 0
    database.close()
