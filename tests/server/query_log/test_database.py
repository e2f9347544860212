"""Where the log is, and how trouble with it is told."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text
from tests.server.query_log.entries import entry, ledger

from bookbound.domain.errors import ConfigError, ServiceUnreachableError
from bookbound.server.query_log import log_folder
from bookbound.server.query_log.database import QueryLogDatabase


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("SECRET", "is no database URL"),
        ("mysql://SECRET@host/db", "must begin with postgresql:// or sqlite:///"),
        ("postgresql://user:SECRET@host:port/db", "is no database URL"),
        ("sqlite://", "must name a file"),
        ("sqlite:///:memory:", "must name a file"),
    ],
)
def test_a_url_that_will_not_do_is_told_without_it(tmp_path: Path, url: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told) as trouble:
        QueryLogDatabase(url, tmp_path)
    assert "SECRET" not in str(trouble.value)


def test_a_server_that_is_not_there_is_told_without_its_address(tmp_path: Path) -> None:
    dead = QueryLogDatabase("postgresql://reader:SECRET@127.0.0.1:1/nowhere", tmp_path)
    with pytest.raises(ServiceUnreachableError, match="`log_url`") as trouble, dead.begin():
        pass
    assert trouble.value.service == "log"
    assert trouble.value.__cause__ is None
    assert "SECRET" not in str(trouble.value)


def test_without_the_driver_the_extra_is_named(tmp_path: Path) -> None:
    script = f"""
import sys
sys.modules["psycopg"] = None
from importlib import util
util.find_spec = lambda name, found=util.find_spec: None if name == "psycopg" else found(name)
from pathlib import Path
from bookbound.server.query_log.database import Database
Database("postgresql://host/db", Path({str(tmp_path)!r}))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert 'BadSetup: A log in PostgreSQL needs one more package: pip install "bookbound[postgres]"' in done.stderr


def test_the_folder_of_the_log_is_beside_the_index_whatever_the_index_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert log_folder(Path(".bookbound")) == tmp_path / ".bookbound-log"
    assert log_folder(Path("a/b")) == tmp_path / "a" / "b-log"
    assert log_folder(Path()) == tmp_path.with_name(f"{tmp_path.name}-log")


def test_by_default_it_is_a_file_for_its_owner_alone_that_is_kept_out_of_version_control(tmp_path: Path) -> None:
    folder = tmp_path / "what? 100%#" / "my index-log"
    database = QueryLogDatabase(None, folder)
    assert database.missing
    assert not folder.exists()
    held = os.umask(0)
    try:
        with database.begin() as connection:
            connection.execute(text("CREATE TABLE some (one INTEGER)"))
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}
    finally:
        os.umask(held)
    database.close()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {name for name in modes if name.startswith("questions.db")} >= {"questions.db"}
    assert all(mode == 0o600 for name, mode in modes.items() if name.startswith("questions.db"))
    assert (folder / ".gitignore").read_text() == "*\n"
    assert not database.missing


def test_a_file_that_is_no_database_is_told_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "questions.db"
    file.write_text("some other file of mine, and long enough to be looked at as a database" * 20)
    before = file.read_bytes()
    writing = ledger(f"sqlite:///{file}", tmp_path)
    with pytest.raises(ServiceUnreachableError, match=r"questions\.db cannot be used"):
        writing.write([entry()])
    writing.close()
    assert file.read_bytes() == before


def test_a_file_survives_a_kill_with_all_that_was_acknowledged(tmp_path: Path) -> None:
    script = f"""
import os, signal
from pathlib import Path
from tests.server.query_log.entries import entry, ledger
writing = ledger(None, Path({str(tmp_path)!r}))
for number in range(40):
    writing.write([entry(f"Question {{number}}?")])
    print(number, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    repository = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", script], cwd=repository, capture_output=True, text=True, check=False)
    assert done.returncode == -9
    database = QueryLogDatabase(None, tmp_path)
    with database.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM queries")).scalar() == done.stdout.count("\n") == 40
    database.close()


@pytest.mark.parametrize(
    ("url", "told"),
    [
        (
            "postgresql://SECRET:SECRET@db.example:5433/log?password=SECRET",
            "PostgreSQL database log on db.example:5433",
        ),
        ("postgresql://SECRET@/log?host=/run/SECRET", "PostgreSQL database log on a server"),
        ("postgresql://db.example", "PostgreSQL on db.example"),
        ("sqlite:///there/questions.db", "there/questions.db"),
    ],
)
def test_where_a_log_is_can_be_told_without_what_lets_one_in(tmp_path: Path, url: str, told: str) -> None:
    database = QueryLogDatabase(url, tmp_path)
    assert database.where == told
    database.close()
