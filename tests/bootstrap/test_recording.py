"""The log as the settings say: what is set wrong is told at the start, and what is away is a warning."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.server.query_log.entries import KEY, entry, of

from bookbound.bootstrap import web_app
from bookbound.domain.errors import ConfigError
from bookbound.server.query_log import log_folder
from bookbound.server.query_log.address_hash import ADDRESS_KEY_FILE
from bookbound.server.query_log.background_writer import BackgroundQueryLog
from bookbound.settings import Settings


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Where an index would be."""
    return tmp_path / "index"


@pytest.fixture
def blocked(index: Path) -> Path:
    """A place that not even the owner of the machine can write: a file stands where the folder should."""
    log_folder(index).write_text("")
    return index


def test_what_is_needed_is_there_before_anybody_asks(index: Path) -> None:
    web_app.check_query_log(Settings(index=index))
    web_app.check_query_log(Settings(index=index))
    assert {file.name for file in log_folder(index).iterdir()} == {".gitignore", ADDRESS_KEY_FILE, "questions.db"}


def test_without_a_log_there_is_nothing_and_nothing_is_looked_at(blocked: Path) -> None:
    off = Settings(index=blocked, log="off", log_url="nonsense", log_key="short")
    web_app.check_query_log(off)
    noted = web_app.build_query_log(off)
    noted.note(entry())
    asyncio.run(noted.close())
    assert noted.lost == 0
    assert [file.name for file in blocked.parent.iterdir()] == [log_folder(blocked).name]


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"log_key": "short"}, "`log_key` must have 16 characters"),
        ({"log_url": "nonsense"}, "`log_url` is no database URL"),
        ({"log_url": "mysql://me:a-secret@host/log"}, "`log_url` must begin with postgresql:// or sqlite:///"),
        ({"log_url": "sqlite://"}, "`log_url` must name a file"),
    ],
)
def test_what_is_set_wrong_is_told_by_its_setting_and_not_shown(
    index: Path, chosen: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words) as trouble:
        web_app.check_query_log(Settings(index=index, **chosen))
    assert "secret" not in str(trouble.value)


def test_a_log_of_a_newer_version_is_told_and_left_alone(index: Path) -> None:
    chosen = Settings(index=index)
    web_app.check_query_log(chosen)
    database = web_app.log(chosen)
    with database.begin() as connection:
        connection.exec_driver_sql("UPDATE query_log_version SET version_num = '9999'")
    database.close()
    with pytest.raises(ConfigError, match="newer version of Bookbound"):
        web_app.check_query_log(chosen)


def test_a_place_that_cannot_be_written_is_a_warning_with_the_way_out(blocked: Path) -> None:
    with pytest.warns(UserWarning, match=r"answered, but cannot be logged yet.*index-log.*set `log` to off"):
        web_app.check_query_log(Settings(index=blocked))


def test_a_database_that_is_away_is_a_warning_that_does_not_show_its_address(index: Path) -> None:
    url = "postgresql://me:a-secret@127.0.0.1:9/log"
    with pytest.warns(UserWarning, match="cannot be logged yet") as told:
        web_app.check_query_log(Settings(index=index, log_url=url))
    assert "secret" not in str(told[0].message)


def test_a_log_elsewhere_needs_a_key_where_none_can_be_kept(blocked: Path, tmp_path: Path) -> None:
    elsewhere: dict[str, Any] = {"index": blocked, "log_url": f"sqlite:///{tmp_path / 'elsewhere.db'}"}
    with pytest.raises(ConfigError, match="give a key: `log_key`"):
        web_app.check_query_log(Settings(**elsewhere))
    web_app.check_query_log(Settings(**elsewhere, log_key=KEY.decode()))
    web_app.check_query_log(Settings(**elsewhere, log_addresses="plain"))


def test_what_was_asked_while_the_place_could_not_be_written_is_logged_once_it_can(blocked: Path) -> None:
    noted = web_app.build_query_log(Settings(index=blocked))
    assert isinstance(noted, BackgroundQueryLog)
    noted.note(entry(asker=of()))
    log_folder(blocked).unlink()
    asyncio.run(noted.close())
    assert (noted.noted, noted.written, noted.lost) == (1, 1, 0)
