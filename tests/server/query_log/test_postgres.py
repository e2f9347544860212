"""A server that turns us down is told apart from one that is away, and neither with a name or a password."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from evals.load.services import Postgres, until
from sqlalchemy import URL, make_url

from bookbound.bootstrap import web_app
from bookbound.domain.errors import ConfigError
from bookbound.settings import Settings

SECRET = "a-password-of-somebody"


@pytest.fixture(scope="module")
def guarded(server: Postgres) -> Iterator[URL]:
    """A database whose role needs a password; it has one that may write nothing, too."""
    for role in ("guarded", "onlooker"):
        server.sql(f"CREATE ROLE {role} LOGIN PASSWORD '{SECRET}'")
    rules = Path(server.sql("SHOW hba_file")[0][0])
    before = rules.read_text()
    rules.write_text(f"local all guarded,onlooker scram-sha-256\n{before}")
    url = make_url(server.database())
    server.sql("GRANT CREATE ON SCHEMA public TO guarded", url.render_as_string(hide_password=False))
    server.sql("SELECT pg_reload_conf()")
    until(lambda: len(server.sql("SELECT 1 FROM pg_hba_file_rules WHERE 'guarded' = ANY(user_name)")) == 1)
    yield url.set(username="guarded", password=SECRET)
    rules.write_text(before)
    server.sql("SELECT pg_reload_conf()")


def ready(url: URL, place: Path) -> None:
    web_app.check_query_log(Settings(index=place / "index", log_url=url.render_as_string(hide_password=False)))


def test_a_log_behind_a_password_is_used(guarded: URL, tmp_path: Path) -> None:
    ready(guarded, tmp_path)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"password": f"{SECRET}-wrong"}, "name or the password"),
        ({"password": ""}, "name or the password"),
        ({"username": "nobody-of-this-name"}, "name or the password"),
        ({"database": "a-database-of-somebody"}, "no database of the name"),
        ({"username": "onlooker"}, "may not make or write the tables"),
    ],
)
def test_what_is_wrong_with_the_url_ends_the_start_and_is_named(
    guarded: URL, tmp_path: Path, wrong: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words) as told:
        ready(guarded.set(**wrong), tmp_path)
    assert "`log_url`" in str(told.value)
    assert not [each for each in (SECRET, "nobody", "somebody", "guarded", "onlooker") if each in str(told.value)]


def test_a_server_that_is_away_is_a_warning(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Nobody answers at the address in `log_url`") as told:
        ready(make_url(f"postgresql://guarded:{SECRET}@127.0.0.1:9/log"), tmp_path)
    assert SECRET not in str(told[0].message)


def test_a_server_that_is_full_is_a_warning(server: Postgres, guarded: URL, tmp_path: Path) -> None:
    server.sql("ALTER ROLE guarded CONNECTION LIMIT 0")
    with pytest.warns(UserWarning, match="takes no connection for now"):
        ready(guarded, tmp_path)
    server.sql("ALTER ROLE guarded CONNECTION LIMIT -1")
