"""The log has a location, and database errors are translated."""

from __future__ import annotations

import os
import re
import stat
from contextlib import closing
from importlib import util
from pathlib import Path

import pytest
from sqlalchemy import text
from tests.server.query_log.factories import make_entry, make_repository

from bookbound.domain.errors import ConfigError, ServiceUnreachableError
from bookbound.server.query_log import database, log_folder
from bookbound.server.query_log.database import QueryLogDatabase


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("SECRET", "is not a database URL"),
        ("mysql://SECRET@host/db", "must begin with postgresql:// or sqlite:///"),
        ("postgresql://user:SECRET@host:port/db", "is not a database URL"),
        ("sqlite://", "must name a file"),
        ("sqlite:///:memory:", "must name a file"),
    ],
)
def test_an_invalid_url_is_an_error_that_does_not_repeat_it(tmp_path: Path, url: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        QueryLogDatabase(url, tmp_path)
    assert "SECRET" not in str(error.value)


def test_an_unreachable_server_is_an_error_without_its_address(tmp_path: Path) -> None:
    database = QueryLogDatabase("postgresql://reader:SECRET@127.0.0.1:1/nowhere", tmp_path)
    with pytest.raises(ServiceUnreachableError, match="`query_log_url`") as error, database.begin():
        pass
    assert error.value.service == "log"
    assert error.value.__cause__ is None
    assert "SECRET" not in str(error.value)


def test_a_missing_driver_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "find_spec", lambda name: None if name == "psycopg" else util.find_spec(name))
    with pytest.raises(ConfigError, match=re.escape('pip install "psycopg[binary]>=3.2"')):
        QueryLogDatabase("postgresql://host/db", tmp_path)


def test_the_folder_of_the_log_is_next_to_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert log_folder(Path(".bookbound")) == tmp_path / ".bookbound-log"
    assert log_folder(Path("a/b")) == tmp_path / "a" / "b-log"
    assert log_folder(Path()) == tmp_path.with_name(f"{tmp_path.name}-log")


def test_the_default_file_is_private_and_ignored_by_git(tmp_path: Path) -> None:
    folder = tmp_path / "what? 100%#" / "my index-log"
    umask = os.umask(0)
    try:
        with closing(QueryLogDatabase(None, folder)) as database:
            assert database.is_missing
            assert not folder.exists()
            with database.begin() as connection:
                connection.execute(text("CREATE TABLE some (one INTEGER)"))
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}
            assert not database.is_missing
    finally:
        os.umask(umask)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert "questions.db" in modes
    assert all(mode == 0o600 for name, mode in modes.items() if name.startswith("questions.db"))
    assert (folder / ".gitignore").read_text() == "*\n"


def test_a_file_that_is_not_a_database_is_an_error_and_stays_unchanged(tmp_path: Path) -> None:
    file = tmp_path / "questions.db"
    file.write_text("some other file, long enough to be read as a database" * 20)
    before = file.read_bytes()
    with (
        closing(make_repository(f"sqlite:///{file}", tmp_path)) as repository,
        pytest.raises(ServiceUnreachableError, match=r"questions\.db cannot be used"),
    ):
        repository.write([make_entry()])
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("url", "location"),
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
def test_the_location_has_no_secrets(tmp_path: Path, url: str, location: str) -> None:
    with closing(QueryLogDatabase(url, tmp_path)) as database:
        assert database.location == location
