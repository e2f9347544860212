"""A retried batch is written once, and old questions are deleted."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text
from tests.server.query_log.conftest import Rows
from tests.server.query_log.factories import make_entry, make_refused_entry, make_repository, make_requester

from bookbound.domain.book_ref import BookRef
from bookbound.domain.errors import ServiceUnreachableError
from bookbound.server.query_log import LossReport, schema
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.repository import DELETE_BATCH_SIZE, delete_older_than

OLD_SESSION, NEW_SESSION = UUID(int=1), UUID(int=2)
ROBOTS = BookRef("robots", "2.0")


def test_a_retried_batch_is_written_and_counted_once(url: str, tmp_path: Path, rows: Rows) -> None:
    batch = [make_entry(requester=make_requester(), chapters=("Gaits", "Drives")) for _ in range(5)]
    report = LossReport(7)
    with closing(make_repository(url, tmp_path)) as repository:
        repository.write(batch[:3], report)
        repository.write(batch, report)
        repository.write(batch)
    assert rows("SELECT count(*) AS n FROM queries") == [{"n": 5}]
    assert rows("SELECT query_count FROM query_sessions") == [{"query_count": 5}]
    assert rows("SELECT count(*) AS n FROM query_chapters") == [{"n": 10}]
    assert rows("SELECT lost FROM query_losses") == [{"lost": 7}]


def test_a_loss_only_grows(url: str, tmp_path: Path, rows: Rows) -> None:
    report_id = uuid4()
    with closing(make_repository(url, tmp_path)) as repository:
        for lost in (2, 5, 3):
            repository.write([], LossReport(lost, report_id))
    assert rows("SELECT lost FROM query_losses") == [{"lost": 5}]


def days_ago(days: int) -> datetime:
    return datetime.now(UTC) - timedelta(days=days)


def read_remaining(rows: Rows) -> tuple[set[str], set[UUID], int, int]:
    return (
        {row["query_text"] for row in rows("SELECT query_text FROM queries")},
        {UUID(str(row["session_id"])) for row in rows("SELECT session_id FROM query_sessions")},
        len(rows("SELECT query_id FROM query_chapters UNION SELECT query_id FROM query_volumes")),
        len(rows("SELECT * FROM query_losses")),
    )


def test_a_purge_deletes_old_questions_with_everything_that_belongs_to_them(
    url: str, tmp_path: Path, database: QueryLogDatabase, rows: Rows
) -> None:
    old: dict[str, Any] = {"created_at": days_ago(91)}
    details: dict[str, Any] = {"chapters": ("Gaits",), "book_ref": ROBOTS}
    entries = [
        make_entry("old, answered", requester=make_requester(OLD_SESSION), **old, **details),
        make_refused_entry("old, refused", requester=make_requester(NEW_SESSION), **old),
        make_entry("old, without a session", **old),
        make_entry("new", requester=make_requester(NEW_SESSION), created_at=days_ago(89), **details),
    ]
    with closing(make_repository(url, tmp_path)) as repository:
        repository.write(entries, LossReport(3, created_at=days_ago(91)))
    assert read_remaining(rows)[2:] == (2, 1)
    assert delete_older_than(database, days_ago(90)) == 3
    assert read_remaining(rows) == ({"new"}, {NEW_SESSION}, 1, 0)
    assert delete_older_than(database, days_ago(90)) == 0
    assert delete_older_than(database, days_ago(0)) == 1
    assert read_remaining(rows) == (set(), set(), 0, 0)


def test_a_session_with_a_question_stays(database: QueryLogDatabase, rows: Rows) -> None:
    schema.migrate(database)
    with database.begin() as connection:
        for table, values in (
            ("query_sessions (session_id, created_at)", "'2001-01-01 00:00:00'"),
            ("queries (session_id, query_text, mode, status)", "'new', 'standard_rag', 'error'"),
        ):
            connection.execute(text(f"INSERT INTO {table} VALUES ('{OLD_SESSION.hex}', {values})"))
    assert delete_older_than(database, days_ago(90)) == 0
    assert read_remaining(rows)[:2] == ({"new"}, {OLD_SESSION})


def test_a_purge_continues_after_the_first_batch(url: str, tmp_path: Path, database: QueryLogDatabase) -> None:
    count = DELETE_BATCH_SIZE + 20
    with closing(make_repository(url, tmp_path)) as repository:
        repository.write([make_entry(created_at=days_ago(91)) for _ in range(count)])
    assert delete_older_than(database, days_ago(90)) == count


def test_a_purge_of_a_log_that_does_not_exist_creates_nothing(database: QueryLogDatabase) -> None:
    is_missing = database.is_missing
    assert delete_older_than(database, days_ago(90)) == 0
    assert database.is_missing is is_missing


def test_purged_text_is_gone_from_the_bytes_of_a_file(tmp_path: Path) -> None:
    def contains_marker() -> bool:
        return any(b"MARKER" in file.read_bytes() for file in tmp_path.iterdir())

    with closing(make_repository(None, tmp_path)) as repository:
        repository.write([make_entry(f"MARKER {number}?", created_at=days_ago(91)) for number in range(200)])
    with closing(QueryLogDatabase(None, tmp_path)) as database:
        assert contains_marker()
        delete_older_than(database, days_ago(90))
        assert not contains_marker()


@pytest.mark.parametrize("removed", ["file", "file and its log", "folder"])
def test_questions_after_the_removal_of_the_file_are_in_a_new_file(tmp_path: Path, removed: str) -> None:
    folder = tmp_path / "log"
    with closing(make_repository(None, folder)) as repository:
        repository.write([make_entry("Before?")])
        if removed == "folder":
            shutil.rmtree(folder)
        for file in folder.glob("questions.db" if removed == "file" else "questions.db*"):
            file.unlink()
        repository.write([make_entry("After?")])
        repository.write([make_entry("Later?")])
        with closing(sqlite3.connect(folder / "questions.db")) as reader:
            assert sorted(reader.execute("SELECT query_text FROM queries")) == [("After?",), ("Later?",)]


def test_what_is_written_to_a_file_that_is_removed_meanwhile_is_written_again(tmp_path: Path) -> None:
    database = QueryLogDatabase(None, tmp_path)
    with closing(database):
        schema.migrate(database)
        with pytest.raises(ServiceUnreachableError), database.begin():
            (tmp_path / "questions.db").unlink()
