"""Every added entry is written once or counted as lost, in both databases."""

from __future__ import annotations

import logging
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from tests.server.query_log.conftest import Rows
from tests.server.query_log.factories import (
    SESSION,
    close_and_count,
    make_entry,
    make_refused_entry,
    make_repository,
    make_requester,
    start_query_log,
)
from tests.servers.backend_servers import Postgres, wait_until

from bookbound.domain.errors import ServiceUnreachableError
from bookbound.domain.judgement import RefusalReason
from bookbound.domain.trace import QueryLogEntry, QueryMode, QueryStatus
from bookbound.server.query_log import BackgroundQueryLog, LossReport
from bookbound.server.query_log.repository import QueryLogRepository

DEAD_DATABASE = "postgresql://nobody@/log?host=/nowhere"
REPOSITORY_ROOT = Path(__file__).parents[3]


class BlockedRepository(QueryLogRepository):
    """Blocks every write until `gate` is set."""

    def __init__(self, repository: QueryLogRepository) -> None:
        self._repository, self.gate, self.was_called = repository, Event(), Event()

    def write(self, entries: Any, report: LossReport | None = None) -> None:
        self.was_called.set()
        self.gate.wait(30)
        self._repository.write(entries, report)

    def delete_expired(self) -> bool:
        return False

    def close(self) -> None:
        self._repository.close()


class MemoryRepository(QueryLogRepository):
    """Keeps loss reports by id; some writes fail after they were committed."""

    def __init__(self, failures: int = 0) -> None:
        self.reports: dict[UUID, int] = {}
        self._failures = failures

    def write(self, entries: Any, report: LossReport | None = None) -> None:
        if report:
            self.reports[report.id] = max(report.lost, self.reports.get(report.id, 0))
        if self._failures:
            self._failures -= 1
            raise ServiceUnreachableError("The connection broke.", service="log")

    def delete_expired(self) -> bool:
        return False

    def close(self) -> None: ...


def test_a_question_is_one_row_with_the_columns_of_the_contract(url: str, tmp_path: Path, rows: Rows) -> None:
    query_log = start_query_log(url, tmp_path)
    entry = make_refused_entry(
        "Who won?",
        RefusalReason.SELECTED_TEXT_MISSING,
        mode=QueryMode.SELECTION,
        selection_length=321,
        retrieved_count=1,
        top_score=0.25,
        milliseconds=41,
        created_at=datetime(2027, 3, 1, 12, 30, 15, 250000, UTC),
        requester=make_requester(),
    )
    query_log.add(entry)
    assert close_and_count(query_log) == (1, 1, 0)
    (row,) = rows("SELECT * FROM queries")
    assert UUID(str(row.pop("query_id"))) == entry.id
    assert UUID(str(row.pop("session_id"))) == SESSION
    assert str(row.pop("created_at")) == "2027-03-01 12:30:15.250000"
    assert row == {
        "query_text": "Who won?",
        "selected_text_length": 321,
        "mode": "selected_text_only",
        "status": "refused",
        "refusal_reason": "selected_text_missing",
        "chunks_retrieved": 1,
        "top_chunk_score": 0.25,
        "processing_time_ms": 41,
    }


def test_a_session_counts_its_questions_and_has_its_first_and_last_time(url: str, tmp_path: Path, rows: Rows) -> None:
    start, other = datetime(2027, 3, 1, tzinfo=UTC), uuid4()
    for days in (1, 2, 0):  # three logs, and the oldest questions come last
        query_log = start_query_log(url, tmp_path)
        query_log.add(make_entry(requester=make_requester(), created_at=start + timedelta(days=days)))
        query_log.add(make_entry(requester=make_requester(), created_at=start + timedelta(days=days, hours=1)))
        query_log.add(make_entry(requester=make_requester(other, None), created_at=start))
        query_log.add(make_entry())
        assert close_and_count(query_log) == (4, 4, 0)
    sessions = {UUID(str(row.pop("session_id"))): row for row in rows("SELECT * FROM query_sessions")}
    assert {key: row["query_count"] for key, row in sessions.items()} == {SESSION: 6, other: 3}
    assert str(sessions[SESSION]["created_at"]).startswith("2027-03-02 00:00:00")
    assert str(sessions[SESSION]["last_query_at"]).startswith("2027-03-03 01:00:00")
    assert sessions[other]["user_ip"] is None
    assert rows("SELECT count(*) AS n FROM queries WHERE session_id IS NULL") == [{"n": 3}]


def test_more_than_one_batch_is_written_completely(url: str, tmp_path: Path, rows: Rows) -> None:
    query_log = start_query_log(url, tmp_path)
    for number in range(700):
        query_log.add(make_entry(f"Question {number}?", requester=make_requester()))
    assert close_and_count(query_log) == (700, 700, 0)
    assert rows("SELECT count(DISTINCT query_text) AS n FROM queries") == [{"n": 700}]


def test_a_full_buffer_loses_the_newest_entries_and_reports_their_number(
    url: str, tmp_path: Path, rows: Rows, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = BlockedRepository(make_repository(url, tmp_path))
    query_log = BackgroundQueryLog(blocked, max_buffered=10)
    query_log.add(make_entry("first"))
    assert blocked.was_called.wait(30)
    for number in range(25):
        query_log.add(make_entry(f"Question {number}?"))
    assert (query_log.added_count, query_log.written_count, query_log.lost_count) == (26, 0, 15)
    blocked.gate.set()
    wait_until(lambda: query_log.written_count == 11)
    assert rows("SELECT sum(lost) AS n FROM query_losses") == [{"n": 15}]
    with caplog.at_level(logging.INFO, "bookbound"):
        assert close_and_count(query_log) == (26, 11, 15)
    written = {row["query_text"] for row in rows("SELECT query_text FROM queries")}
    assert written == {"first", *(f"Question {number}?" for number in range(10))}
    assert rows("SELECT sum(lost) AS n FROM query_losses") == [{"n": 15}]
    assert caplog.messages == ["15 of 26 questions could not be logged"]


def test_a_loss_report_that_may_have_been_committed_is_counted_once() -> None:
    repository = MemoryRepository()
    blocked = BlockedRepository(repository)
    query_log = BackgroundQueryLog(blocked, max_buffered=1)
    query_log.add(make_entry())
    assert blocked.was_called.wait(30)
    for _ in range(4):
        query_log.add(make_entry())
    repository._failures = 2
    blocked.gate.set()
    assert close_and_count(query_log) == (5, 2, 3)
    assert list(repository.reports.values()) == [3]


def test_losses_after_a_report_get_a_new_report() -> None:
    repository = MemoryRepository()
    query_log = BackgroundQueryLog(repository, max_buffered=0)
    query_log.add(make_entry())
    query_log._report_losses()
    query_log.add(make_entry())
    query_log.add(make_entry())
    assert close_and_count(query_log) == (3, 0, 3)
    assert list(repository.reports.values()) == [1, 2]


def test_a_dead_database_delays_no_question_and_its_losses_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "bookbound"):
        query_log = start_query_log(DEAD_DATABASE, tmp_path, drain_seconds=0.5)
        for _ in range(50):
            query_log.add(make_entry("MARKER question", requester=make_requester(address="203.0.113.77")))
        assert close_and_count(query_log) == (50, 0, 50)
        query_log.add(make_entry())
        assert close_and_count(query_log) == (51, 0, 51)
    messages = "\n".join(caplog.messages)
    assert "questions wait to be logged: The database in `query_log_url` cannot be reached." in messages
    assert "50 of 50 questions could not be logged" in messages
    for secret in ("MARKER", "203.0.113", "nobody", "nowhere"):
        assert secret not in caplog.text


def test_an_unwritable_folder_is_a_dead_database(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    query_log = start_query_log(f"sqlite:///{tmp_path / 'file' / 'questions.db'}", tmp_path, drain_seconds=0.2)
    query_log.add(make_entry())
    assert close_and_count(query_log) == (1, 0, 1)


def test_closing_does_not_wait_for_a_write_that_hangs(url: str, tmp_path: Path) -> None:
    blocked = BlockedRepository(make_repository(url, tmp_path))
    query_log = BackgroundQueryLog(blocked, drain_seconds=0.1)
    query_log.add(make_entry())
    assert close_and_count(query_log) == (1, 0, 1)
    blocked.gate.set()
    wait_until(lambda: query_log.written_count == 1)
    assert query_log.lost_count == 0


def test_a_database_that_comes_back_gets_every_buffered_entry(tmp_path: Path) -> None:
    file = tmp_path / "late" / "questions.db"
    query_log = start_query_log(f"sqlite:///{file}", tmp_path)
    for _ in range(20):
        query_log.add(make_entry())
    sleep(0.5)
    assert query_log.written_count == 0
    file.parent.mkdir()
    assert close_and_count(query_log) == (20, 20, 0)


def test_an_entry_that_the_database_rejects_is_lost_alone(
    url: str, tmp_path: Path, rows: Rows, caplog: pytest.LogCaptureFixture
) -> None:
    query_log = start_query_log(url, tmp_path)
    query_log.add(make_entry("before", requester=make_requester()))
    query_log.add(make_entry("MARKER", mode=cast(QueryMode, "sideways"), requester=make_requester()))
    query_log.add(make_entry("MARKER", milliseconds=cast(int, object())))
    query_log.add(make_entry("after", requester=make_requester()))
    assert close_and_count(query_log) == (4, 2, 2)
    assert {row["query_text"] for row in rows("SELECT query_text FROM queries")} == {"before", "after"}
    assert rows("SELECT query_count FROM query_sessions") == [{"query_count": 2}]
    assert rows("SELECT sum(lost) AS n FROM query_losses") == [{"n": 2}]
    assert "MARKER" not in caplog.text


def test_every_text_can_be_written(url: str, tmp_path: Path, rows: Rows) -> None:
    questions = ["NUL \0 inside", "emoji 🦿 and ف", "x" * 2000, "'; DROP TABLE queries; --", "%s %(a)s :a ?"]
    query_log = start_query_log(url, tmp_path)
    for question in questions:
        query_log.add(make_entry(question, milliseconds=10**12, chapters=(question, "")))
    assert close_and_count(query_log) == (5, 5, 0)
    written = {row["query_text"] for row in rows("SELECT query_text FROM queries")}
    assert written == {question.replace("\0", "\ufffd") for question in questions}


@pytest.mark.slow
def test_a_server_that_crashes_in_a_batch_loses_nothing_and_duplicates_nothing(
    crashable_server: Postgres, tmp_path: Path
) -> None:
    url = crashable_server.database()
    query_log = start_query_log(url, tmp_path, drain_seconds=30)
    entries: list[QueryLogEntry] = []

    def add(count: int) -> None:
        for _ in range(count):
            entries.append(make_entry(requester=make_requester(), status=QueryStatus.ANSWERED))
            query_log.add(entries[-1])
            sleep(0.0005)

    for _ in range(3):
        add(150)
        wait_until(lambda: query_log.written_count > 0)
        add(150)
        acknowledged = query_log.written_count
        crashable_server.crash()
        add(150)
        crashable_server.start()
        assert query_log.written_count >= acknowledged
        assert crashable_server.sql("SELECT count(*) FROM queries", url)[0][0] >= acknowledged
    assert close_and_count(query_log) == (1350, 1350, 0)
    written = {row[0] for row in crashable_server.sql("SELECT query_id FROM queries", url)}
    assert written == {entry.id for entry in entries}
    assert crashable_server.sql("SELECT query_count FROM query_sessions", url) == [(1350,)]


@pytest.mark.slow
def test_several_processes_write_at_once(url: str, tmp_path: Path, rows: Rows) -> None:
    script = f"""
from pathlib import Path
from tests.server.query_log.factories import close_and_count, make_entry, make_requester, start_query_log
from uuid import UUID
query_log = start_query_log({url!r}, Path({str(tmp_path)!r}), drain_seconds=30)
for number in range(600):
    query_log.add(make_entry(requester=make_requester(UUID(int=number % 7))))
assert close_and_count(query_log) == (600, 600, 0)
"""
    processes = [subprocess.Popen([sys.executable, "-c", script], cwd=REPOSITORY_ROOT) for _ in range(3)]
    assert [process.wait(timeout=60) for process in processes] == [0] * 3
    assert rows("SELECT count(*) AS n, count(DISTINCT query_id) AS ids FROM queries") == [{"n": 1800, "ids": 1800}]
    assert rows("SELECT sum(query_count) AS n, count(*) AS sessions FROM query_sessions") == [
        {"n": 1800, "sessions": 7}
    ]


def test_a_log_can_be_closed_twice(url: str, tmp_path: Path) -> None:
    query_log = start_query_log(url, tmp_path)
    query_log.add(make_entry())
    assert close_and_count(query_log) == close_and_count(query_log) == (1, 1, 0)


def test_old_questions_are_deleted_at_the_start(url: str, tmp_path: Path, rows: Rows) -> None:
    repository = make_repository(url, tmp_path)
    repository.write([make_entry("old", timedelta(days=91)), make_entry("new")])
    repository.close()
    query_log = start_query_log(url, tmp_path)
    wait_until(lambda: rows("SELECT query_text FROM queries") == [{"query_text": "new"}])
    assert close_and_count(query_log) == (0, 0, 0)
