"""SQLite and PostgreSQL: locks, durability, and servers that refuse a connection."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL, make_url
from tests.server.query_log.factories import make_entry, make_repository
from tests.servers.backend_servers import Postgres, wait_until

from bookbound.domain.errors import ConfigError, ServiceUnreachableError
from bookbound.server.query_log.database import SQLITE_FILE_NAME

REPOSITORY_ROOT = Path(__file__).parents[3]
PASSWORD = "a-secret-password"
COUNT_ROWS = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
print(connection.execute("SELECT count(*) FROM queries").fetchone()[0])
connection.close()
"""
WRITE_AND_DIE = """
import os, signal, sys
from pathlib import Path
from tests.server.query_log.factories import make_entry, make_repository
repository = make_repository(None, Path(sys.argv[1]))
for number in range(40):
    repository.write([make_entry(f"Question {number}?")])
    print(number, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def count_rows(file: Path) -> int:
    with closing(sqlite3.connect(file)) as connection:
        return int(connection.execute("SELECT count(*) FROM queries").fetchone()[0])


def count_rows_in_another_process(file: Path) -> int:
    return int(subprocess.run([sys.executable, "-c", COUNT_ROWS, str(file)], capture_output=True, check=True).stdout)


def test_a_reading_process_does_not_disturb_the_writer(tmp_path: Path) -> None:
    repository = make_repository(None, tmp_path / "log")
    file = tmp_path / "log" / SQLITE_FILE_NAME
    for number in range(3):
        repository.write([make_entry(f"Question {number}?")])
        assert count_rows_in_another_process(file) == number + 1
    assert file.with_name(f"{SQLITE_FILE_NAME}-wal").exists(), "the writer still has the file open"
    repository.close()
    assert count_rows(file) == 3


def test_two_writers_in_turns_see_all_rows(tmp_path: Path) -> None:
    first, second = make_repository(None, tmp_path / "log"), make_repository(None, tmp_path / "log")
    for number in range(4):
        (first, second)[number % 2].write([make_entry(f"Question {number}?")])
    first.close()
    second.close()
    assert count_rows(tmp_path / "log" / SQLITE_FILE_NAME) == 4


def test_acknowledged_rows_survive_a_kill(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITE_AND_DIE, str(tmp_path)]
    result = subprocess.run(command, cwd=REPOSITORY_ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == -9
    assert count_rows(tmp_path / SQLITE_FILE_NAME) == result.stdout.count("\n") == 40


@pytest.fixture(scope="module")
def password_url(server: Postgres) -> Iterator[URL]:
    """A database whose users need a password; the user `read_only_user` may not write."""
    for role in ("guarded", "read_only_user"):
        server.sql(f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}'")
    rules = Path(server.sql("SHOW hba_file")[0][0])
    before = rules.read_text()
    rules.write_text(f"local all guarded,read_only_user scram-sha-256\n{before}")
    url = make_url(server.database())
    server.sql("GRANT CREATE ON SCHEMA public TO guarded", url.render_as_string(hide_password=False))
    server.sql("SELECT pg_reload_conf()")
    wait_until(lambda: len(server.sql("SELECT 1 FROM pg_hba_file_rules WHERE 'guarded' = ANY(user_name)")) == 1)
    yield url.set(username="guarded", password=PASSWORD)
    rules.write_text(before)
    server.sql("SELECT pg_reload_conf()")


def create_tables(url: URL, folder: Path) -> None:
    with closing(make_repository(url.render_as_string(hide_password=False), folder)) as repository:
        repository.ensure_tables()


def test_a_log_with_a_password_works(password_url: URL, tmp_path: Path) -> None:
    create_tables(password_url, tmp_path)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"password": f"{PASSWORD}-wrong"}, "user or the password"),
        ({"password": ""}, "user or the password"),
        ({"username": "unknown-user"}, "user or the password"),
        ({"database": "unknown-database"}, "does not have the database"),
        ({"username": "read_only_user"}, "may not create or write the tables"),
    ],
)
def test_a_refused_connection_is_a_wrong_setting(
    password_url: URL, tmp_path: Path, wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        create_tables(password_url.set(**wrong), tmp_path)
    assert "`query_log_url`" in str(error.value)
    assert not [
        each
        for each in (PASSWORD, "unknown-user", "unknown-database", "guarded", "read_only_user")
        if each in str(error.value)
    ]


def test_a_server_that_is_full_may_accept_connections_later(
    server: Postgres, password_url: URL, tmp_path: Path
) -> None:
    server.sql("ALTER ROLE guarded CONNECTION LIMIT 0")
    with pytest.raises(ServiceUnreachableError, match="accepts no connections at the moment"):
        create_tables(password_url, tmp_path)
    server.sql("ALTER ROLE guarded CONNECTION LIMIT -1")
