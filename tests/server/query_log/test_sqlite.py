from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

from tests.server.query_log.entries import entry, ledger

from bookbound.server.query_log.engines import SQLITE_FILE_NAME

READ = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1])
print(held.execute("SELECT count(*) FROM queries").fetchone()[0])
held.close()
"""


def read_elsewhere(file: Path) -> int:
    """What another process reads, which then closes the file."""
    return int(subprocess.run([sys.executable, "-c", READ, str(file)], capture_output=True, check=True).stdout)


def test_whoever_reads_the_log_meanwhile_takes_nothing_from_who_writes_it(tmp_path: Path) -> None:
    writer = ledger(None, tmp_path / "log")
    for asked in range(3):
        writer.write([entry(f"Question {asked}?")])
        assert read_elsewhere(tmp_path / "log" / SQLITE_FILE_NAME) == asked + 1
    ahead = tmp_path / "log" / f"{SQLITE_FILE_NAME}-wal"
    assert ahead.exists(), "the last to close it is still to come"
    writer.close()
    assert read_elsewhere(tmp_path / "log" / SQLITE_FILE_NAME) == 3


def test_two_who_write_in_turns_both_find_all_rows(tmp_path: Path) -> None:
    first, second = ledger(None, tmp_path / "log"), ledger(None, tmp_path / "log")
    for asked in range(4):
        (first, second)[asked % 2].write([entry(f"Question {asked}?")])
    first.close()
    second.close()
    with sqlite3.connect(tmp_path / "log" / SQLITE_FILE_NAME) as held:
        assert held.execute("SELECT count(*) FROM queries").fetchone()[0] == 4
    held.close()
