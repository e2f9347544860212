"""What is noted is written, once, or counted as lost; the same for both databases."""

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
from evals.load.services import Postgres
from tests.server.query_log.conftest import Rows
from tests.server.query_log.entries import SESSION, closed, entry, journal, ledger, of, refused, until

from bookbound.domain.judgement import RefusalReason
from bookbound.domain.query_log_entry import QueryLogEntry, QueryMode, QueryStatus
from bookbound.server.query_log.background_writer import BackgroundQueryLog
from bookbound.server.query_log.repository import LossReport, QueryLogRepository

DEAD = "postgresql://nobody@/log?host=/nowhere"


class Gated(QueryLogRepository):
    """A ledger that writes nothing until it is let."""

    def __init__(self, inner: QueryLogRepository) -> None:
        self._inner, self.gate, self.reached = inner, Event(), Event()

    def write(self, entries: Any, loss: LossReport | None = None) -> None:
        self.reached.set()
        self.gate.wait(30)
        self._inner.write(entries, loss)

    @property
    def name(self) -> str:
        return self._inner.name

    def settle(self, loss: LossReport, entries: Any) -> int:
        return self._inner.settle(loss, entries)

    def tidy(self) -> bool:
        return False

    def close(self) -> None:
        self._inner.close()


def test_a_question_is_one_row_with_what_the_contract_lists(url: str, tmp_path: Path, rows: Rows) -> None:
    noting = journal(url, tmp_path)
    created = datetime(2027, 3, 1, 12, 30, 15, 250000, UTC)
    noted = refused(
        "Who won?",
        RefusalReason.SELECTED_TEXT_MISSING,
        mode=QueryMode.SELECTION,
        selected=321,
        retrieved=1,
        top_score=0.25,
        milliseconds=41,
        created=created,
        asker=of(),
    )
    noting.note(noted)
    assert closed(noting) == (1, 1, 0)
    (row,) = rows("SELECT * FROM queries")
    assert UUID(str(row.pop("query_id"))) == noted.id
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


def test_a_session_counts_its_questions_and_knows_its_first_and_last(url: str, tmp_path: Path, rows: Rows) -> None:
    start, other = datetime(2027, 3, 1, tzinfo=UTC), uuid4()
    for days in (1, 2, 0):  # three journals, and the oldest questions come last
        noting = journal(url, tmp_path)
        noting.note(entry(asker=of(), created=start + timedelta(days=days)))
        noting.note(entry(asker=of(), created=start + timedelta(days=days, hours=1)))
        noting.note(entry(asker=of(other, None), created=start))
        noting.note(entry())
        assert closed(noting) == (4, 4, 0)
    found = {UUID(str(row.pop("session_id"))): row for row in rows("SELECT * FROM query_sessions")}
    assert {key: row["query_count"] for key, row in found.items()} == {SESSION: 6, other: 3}
    assert str(found[SESSION]["last_query_at"]).startswith("2027-03-03 01:00:00")
    assert found[other]["user_ip"] is None
    assert rows("SELECT count(*) AS n FROM queries WHERE session_id IS NULL") == [{"n": 3}]


def test_a_batch_that_is_tried_again_is_written_and_counted_once(url: str, tmp_path: Path, rows: Rows) -> None:
    writing = ledger(url, tmp_path)
    batch, loss = [entry(asker=of(), chapters=("Gaits", "Drives")) for _ in range(5)], LossReport(7)
    writing.write(batch[:3], loss)
    writing.write(batch, loss)
    writing.write(batch)
    writing.close()
    assert rows("SELECT count(*) AS n FROM queries") == [{"n": 5}]
    assert rows("SELECT query_count FROM query_sessions") == [{"query_count": 5}]
    assert rows("SELECT count(*) AS n FROM query_chapters") == [{"n": 10}]
    assert rows("SELECT lost FROM query_losses") == [{"lost": 7}]


def test_more_than_a_batch_is_written_to_the_last_entry(url: str, tmp_path: Path, rows: Rows) -> None:
    noting = journal(url, tmp_path)
    for number in range(700):
        noting.note(entry(f"Question {number}?", asker=of()))
    assert closed(noting) == (700, 700, 0)
    assert rows("SELECT count(DISTINCT query_text) AS n FROM queries") == [{"n": 700}]


def test_where_the_queue_is_full_the_newest_is_lost_and_that_is_kept_as_a_number(
    url: str, tmp_path: Path, rows: Rows, caplog: pytest.LogCaptureFixture
) -> None:
    gated = Gated(ledger(url, tmp_path))
    noting = BackgroundQueryLog(gated, tmp_path, room=10)
    noting.note(entry("first"))
    assert gated.reached.wait(30)
    for number in range(25):
        noting.note(entry(f"Question {number}?"))
    assert (noting.noted, noting.written, noting.lost) == (26, 0, 15)
    gated.gate.set()
    until(lambda: noting.written == 11)
    assert rows("SELECT sum(lost) AS n FROM query_losses") == [{"n": 15}]
    with caplog.at_level(logging.INFO, "bookbound"):
        assert closed(noting) == (26, 11, 15)
    kept = {row["query_text"] for row in rows("SELECT query_text FROM queries")}
    assert kept == {"first", *(f"Question {number}?" for number in range(10))}
    assert rows("SELECT sum(lost) AS n FROM query_losses") == [{"n": 15}]
    assert caplog.messages == ["15 of 26 questions could not be logged"]


def test_a_dead_database_delays_nobody_and_what_it_loses_is_a_number(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "bookbound"):
        noting = journal(DEAD, tmp_path, drain=0.5)
        for _ in range(50):
            noting.note(entry("MARKER question", asker=of(address="203.0.113.77")))
        assert closed(noting) == (50, 0, 50)
        noting.note(entry())
        assert closed(noting) == (51, 0, 51)
    told = "\n".join(caplog.messages)
    assert "questions wait to be logged: Nobody answers at the address" in told
    assert "50 of 50 questions could not be logged" in told
    for secret in ("MARKER", "203.0.113", "nobody", "nowhere"):
        assert secret not in caplog.text


def test_a_disk_that_takes_nothing_is_a_dead_database(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    noting = journal(f"sqlite:///{tmp_path / 'file' / 'questions.db'}", tmp_path, drain=0.2)
    noting.note(entry())
    assert closed(noting) == (1, 0, 1)


def test_a_database_that_comes_back_gets_everything_that_waited(tmp_path: Path) -> None:
    file = tmp_path / "late" / "questions.db"
    noting = journal(f"sqlite:///{file}", tmp_path)
    for _ in range(20):
        noting.note(entry())
    sleep(0.5)
    assert noting.written == 0
    file.parent.mkdir()
    assert closed(noting) == (20, 20, 0)


def test_an_entry_that_no_database_takes_is_lost_alone(
    url: str, tmp_path: Path, rows: Rows, caplog: pytest.LogCaptureFixture
) -> None:
    noting = journal(url, tmp_path)
    noting.note(entry("before", asker=of()))
    noting.note(entry("MARKER", mode=cast(QueryMode, "sideways"), asker=of()))
    noting.note(entry("MARKER", milliseconds=cast(int, object())))
    noting.note(entry("after", asker=of()))
    assert closed(noting) == (4, 2, 2)
    assert {row["query_text"] for row in rows("SELECT query_text FROM queries")} == {"before", "after"}
    assert rows("SELECT query_count FROM query_sessions") == [{"query_count": 2}]
    assert rows("SELECT sum(lost) AS n FROM query_losses") == [{"n": 2}]
    assert "MARKER" not in caplog.text


@pytest.mark.parametrize(
    "question", ["nought \0 inside", "emoji 🦿 and ف", "x" * 2000, "'; DROP TABLE queries; --", "%s %(a)s :a ?"]
)
def test_every_question_can_be_written(url: str, tmp_path: Path, rows: Rows, question: str) -> None:
    noting = journal(url, tmp_path)
    noting.note(entry(question, milliseconds=10**12, chapters=(question, "")))
    assert closed(noting) == (1, 1, 0)
    assert rows("SELECT query_text FROM queries") == [{"query_text": question.replace("\0", "\ufffd")}]


def test_a_server_that_crashes_in_the_middle_loses_nothing_and_writes_nothing_twice(
    fragile: Postgres, tmp_path: Path
) -> None:
    url = fragile.database()
    noting = journal(url, tmp_path, drain=30)
    noted: list[QueryLogEntry] = []

    def note(count: int) -> None:
        for _ in range(count):
            noted.append(entry(asker=of(), status=QueryStatus.ANSWERED))
            noting.note(noted[-1])
            sleep(0.0005)

    for _ in range(3):
        note(150)
        until(lambda: noting.written > 0)
        note(150)
        acknowledged = noting.written
        fragile.crash()
        note(150)
        fragile.start()
        assert noting.written >= acknowledged
        assert fragile.sql("SELECT count(*) FROM queries", url)[0][0] >= acknowledged
    assert closed(noting) == (1350, 1350, 0)
    assert {row[0] for row in fragile.sql("SELECT query_id FROM queries", url)} == {each.id for each in noted}
    assert fragile.sql("SELECT query_count FROM query_sessions", url) == [(1350,)]


def test_several_processes_write_at_once(url: str, tmp_path: Path, rows: Rows) -> None:
    script = f"""
from pathlib import Path
from tests.server.query_log.entries import closed, entry, journal, of
from uuid import UUID
noting = journal({url!r}, Path({str(tmp_path)!r}), drain=30)
for number in range(600):
    noting.note(entry(asker=of(UUID(int=number % 7))))
assert closed(noting) == (600, 600, 0)
"""
    repository = Path(__file__).parents[2]
    started = [subprocess.Popen([sys.executable, "-c", script], cwd=repository) for _ in range(3)]
    assert [each.wait(timeout=60) for each in started] == [0] * 3
    assert rows("SELECT count(*) AS n, count(DISTINCT query_id) AS ids FROM queries") == [{"n": 1800, "ids": 1800}]
    assert rows("SELECT sum(query_count) AS n, count(*) AS sessions FROM query_sessions") == [
        {"n": 1800, "sessions": 7}
    ]


def test_to_close_twice_is_to_close_once(url: str, tmp_path: Path) -> None:
    noting = journal(url, tmp_path)
    noting.note(entry())
    assert closed(noting) == closed(noting) == (1, 1, 0)
