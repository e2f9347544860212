"""What was noted is rows and losses, to the last entry, whoever is killed and whenever."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any
from uuid import UUID, uuid4

import pytest
from evals.load.services import Postgres
from tests.server.query_log.conftest import Rows
from tests.server.query_log.entries import closed, entry, journal, ledger, until

from bookbound.server.query_log import unflushed as module
from bookbound.server.query_log.repository import LossReport
from bookbound.server.query_log.unflushed import (
    FILE_HEADER,
    ID_BYTES,
    UnflushedEntries,
    report_unflushed,
    take_unflushed,
)

LOG = "0123456789abcdef"
REPOSITORY = Path(__file__).parents[2]
NOTES = """
import sys
from pathlib import Path
from time import sleep
from tests.server.query_log.entries import entry, journal
from bookbound.server.query_log import journal as journals
url, folder, pause, room = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
journals.GATHER = 0.01
noting = journal(url, folder, room=room)
for number in range(1_000_000):
    noting.note(entry(f"Question {number}?"))
    print(number, flush=True)
    sleep(pause)
"""


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file of another test is met among those that the system clears."""
    monkeypatch.setattr(module, "passing", lambda: tmp_path / "passing")


class Noting:
    """A process that notes question after question until it is killed, and says so of each."""

    def __init__(self, url: str, folder: Path, pause: float = 0.0, room: int = 4096) -> None:
        command = [sys.executable, "-c", NOTES, url, str(folder), str(pause), str(room)]
        self._said = folder / f"said-{uuid4().hex}"
        with self._said.open("w") as said:
            self._process = subprocess.Popen(command, cwd=REPOSITORY, stdout=said)
        until(lambda: self.noted > 0)

    @property
    def noted(self) -> int:
        return self._said.read_text().count("\n")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("outstanding-*"))


def told(rows: Rows) -> tuple[int, int]:
    """How many rows there are, and how many losses are told."""
    (found,) = rows("SELECT (SELECT count(*) FROM queries) AS n, (SELECT sum(lost) FROM query_losses) AS lost")
    return int(found["n"]), int(found["lost"] or 0)


@pytest.mark.parametrize("room", [4096, 30])
def test_whenever_a_process_is_killed_rows_and_losses_are_what_it_noted(
    url: str, tmp_path: Path, rows: Rows, room: int
) -> None:
    chance = random.Random(room)
    processes = [Noting(url, tmp_path, chance.choice([0.0, 0.0005]), room) for _ in range(3)]
    for each in processes:
        sleep(chance.uniform(0, 0.3))
        each.kill()
    noted = sum(each.noted for each in processes)
    assert files(tmp_path)
    following = journal(url, tmp_path)
    until(lambda: not files(tmp_path))
    assert closed(following) == (0, 0, 0)
    written, lost = told(rows)
    # One that was noted may not have been said to be, by each of those that were killed.
    assert noted <= written + lost <= noted + len(processes)
    assert room == 4096 or lost


def test_a_count_is_exact_by_the_ids_that_were_left(url: str, tmp_path: Path, rows: Rows) -> None:
    noted = [entry(f"Question {number}?") for number in range(9)]
    left = UnflushedEntries(tmp_path, ledger(url, tmp_path).name)
    for each in noted:
        left.add(each.id)
    left.lose(noted[8].id)
    left.close()
    writing = ledger(url, tmp_path)
    writing.write(noted[:5])
    assert report_unflushed(tmp_path, writing) == 4
    assert report_unflushed(tmp_path, writing) == 0
    assert (told(rows), files(tmp_path)) == ((5, 4), [])
    writing.close()


def test_whoever_dies_between_the_row_for_a_loss_and_its_file_is_not_told_twice(
    url: str, tmp_path: Path, rows: Rows
) -> None:
    writing = ledger(url, tmp_path)
    left = UnflushedEntries(tmp_path, writing.name)
    for _ in range(3):
        left.add(one := uuid4())
        left.lose(one)
    writing.write([], left.loss)
    left.add(uuid4())
    left.close()
    assert report_unflushed(tmp_path, writing) == 4
    assert told(rows) == (0, 4)
    assert len(rows("SELECT * FROM query_losses")) == 1
    writing.close()


def test_a_loss_that_is_told_is_not_told_again_and_what_comes_after_it_is(tmp_path: Path) -> None:
    left = UnflushedEntries(tmp_path, LOG)
    ids = [uuid4() for _ in range(4)]
    for each in ids:
        left.add(each)
    left.lose(ids[0])
    first = left.loss
    left.lose(ids[1])
    left.done([ids[2]], told=first)
    left.close()
    (found,) = take_unflushed(tmp_path, LOG)
    assert (found.loss.lost, found.entries) == (1, frozenset([ids[3]]))
    assert found.loss.id != first.id


def test_what_a_living_process_holds_is_left_to_it(url: str, tmp_path: Path, rows: Rows) -> None:
    process = Noting(url, tmp_path, pause=0.001)
    writing = ledger(url, tmp_path)
    for _ in range(50):
        assert report_unflushed(tmp_path, writing) == 0
    assert files(tmp_path)
    process.kill()
    writing.close()


def test_a_file_is_empty_when_nothing_waits_and_gone_when_its_process_ends_well(url: str, tmp_path: Path) -> None:
    noting = journal(url, tmp_path)
    noting.note(entry())
    (file,) = files(tmp_path)
    until(lambda: file.stat().st_size == FILE_HEADER.size)
    assert closed(noting) == (1, 1, 0)
    assert files(tmp_path) == []


def test_a_file_does_not_grow_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FILE_BYTES", FILE_HEADER.size + 20 * ID_BYTES)
    left = UnflushedEntries(tmp_path, LOG)
    waiting = [uuid4() for _ in range(7)]
    for each in waiting:
        left.add(each)
    for _ in range(500):
        left.add(one := uuid4())
        left.lose(one)
    assert files(tmp_path)[0].stat().st_size <= module.MAX_FILE_BYTES
    left.close()
    (found,) = take_unflushed(tmp_path, LOG)
    lost = found.entries - set(waiting)
    assert (found.loss.lost + len(lost), found.entries - lost) == (500, frozenset(waiting))


def test_a_dead_database_is_told_of_the_losses_when_it_is_back(fragile: Postgres, tmp_path: Path) -> None:
    url = fragile.database()
    noting = journal(url, tmp_path, drain=0.2)
    noting.note(entry())
    until(lambda: noting.written == 1)
    fragile.crash()
    for _ in range(20):
        noting.note(entry())
    assert closed(noting) == (21, 1, 20)
    noting.note(entry())
    fragile.start()
    following = ledger(url, tmp_path)
    assert report_unflushed(tmp_path, following) == 20
    assert fragile.sql("SELECT sum(lost) FROM query_losses", url) == [(20,)]
    following.close()


def test_a_row_that_a_server_writes_after_its_process_is_gone_is_no_loss(server: Postgres, tmp_path: Path) -> None:
    import psycopg

    url = server.database()
    writing = ledger(url, tmp_path)
    writing.open()
    left, one = UnflushedEntries(tmp_path, writing.name), uuid4()
    left.add(one)
    left.close()
    found: list[int] = []
    with psycopg.connect(url) as slow:
        slow.execute(
            "INSERT INTO queries (query_id, query_text, mode, status) VALUES (%s, '?', 'standard_rag', 'error')", [one]
        )
        thread = Thread(target=lambda: found.append(report_unflushed(tmp_path, writing)))
        thread.start()
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        until(lambda: server.sql(waiting) == [(1,)])
    thread.join(30)
    assert found == [0]
    writing.close()


def test_where_its_folder_cannot_be_written_the_file_is_among_those_that_the_system_clears(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    left = UnflushedEntries(tmp_path / "file", LOG)
    left.add(uuid4())
    assert len(files(tmp_path / "passing")) == 1
    left.close()
    assert [len(each.entries) for each in take_unflushed(tmp_path / "file", LOG)] == [1]
    assert files(tmp_path / "passing") == []


def test_where_nothing_can_be_written_nothing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(module, "passing", lambda: tmp_path / "file" / "passing")
    left, one = UnflushedEntries(tmp_path / "file", LOG), uuid4()
    left.add(one)
    left.lose(one)
    left.done([], told=left.loss)
    assert not left.left()
    left.close()
    assert list(take_unflushed(tmp_path / "file", LOG)) == []


def test_what_belongs_to_another_log_is_left_alone(tmp_path: Path) -> None:
    left = UnflushedEntries(tmp_path, "another")
    left.add(uuid4())
    left.close()
    assert list(take_unflushed(tmp_path, LOG)) == []
    assert len(files(tmp_path)) == 1


def test_files_that_a_kill_left_half_made_disturb_nobody(tmp_path: Path) -> None:
    empty, short = tmp_path / f"outstanding-{LOG}-a", tmp_path / f"outstanding-{LOG}-b"
    empty.write_bytes(b"")
    short.write_bytes(b"short")
    whole = tmp_path / f"outstanding-{LOG}-c"
    loss, one = uuid4(), uuid4()
    whole.write_bytes(FILE_HEADER.pack(loss.bytes, 2) + one.bytes + b"half")
    whole.with_name(f".{whole.name}").write_bytes(b"")
    (found,) = take_unflushed(tmp_path, LOG)
    assert (found.loss.id, found.loss.lost, found.entries) == (loss, 2, frozenset([one]))
    assert {file.name for file in tmp_path.iterdir() if file.is_file()} == {empty.name, short.name}


def test_a_file_holds_ids_and_nothing_else(tmp_path: Path) -> None:
    noting: Any = journal("postgresql://nobody@/log?host=/nowhere", tmp_path, drain=0.1)
    noted = [entry(f"MARKER {number}?") for number in range(3)]
    for each in noted:
        noting.note(each)
    (file,) = files(tmp_path)
    words = file.read_bytes()
    assert {UUID(bytes=words[at : at + ID_BYTES]) for at in range(FILE_HEADER.size, len(words), ID_BYTES)} == {
        each.id for each in noted
    }
    assert file.stat().st_mode & 0o777 == 0o600
    assert closed(noting) == (3, 0, 3)


def test_a_loss_is_of_the_time_when_it_came_about(url: str, tmp_path: Path, rows: Rows) -> None:
    left = UnflushedEntries(tmp_path, ledger(url, tmp_path).name)
    left.add(uuid4())
    left.close()
    long_ago = datetime(2020, 5, 4, tzinfo=UTC)
    os.utime(files(tmp_path)[0], (long_ago.timestamp(), long_ago.timestamp()))
    writing = ledger(url, tmp_path)
    assert report_unflushed(tmp_path, writing) == 1
    writing.close()
    (row,) = rows("SELECT created_at FROM query_losses")
    assert str(row["created_at"]).startswith("2020-05-04")


def test_a_loss_only_grows(url: str, tmp_path: Path, rows: Rows) -> None:
    writing, one = ledger(url, tmp_path), uuid4()
    for lost in (2, 5, 3):
        writing.write([], LossReport(lost, one))
    writing.close()
    assert told(rows) == (0, 5)
