"""Brings the tables of a log up to what this version knows, and back."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text

from bookbound.errors import BadSetup
from bookbound.record.database import Database

if TYPE_CHECKING:
    from alembic.config import Config

STEPS = ("nothing", "0001", "0002", "0003")
"""What the tables have been through, in its order."""
NOTHING, HEAD = STEPS[0], STEPS[-1]
VERSION = "query_log_version"
"""The table that remembers the step; it has a name of its own, for who keeps other things in the same database."""
_ONE = Lock()
"""Alembic keeps what it is doing in the module, so one thread at a time does it."""


def revision(connection: Connection) -> str:
    """The step that the tables are at."""
    if not inspect(connection).has_table(VERSION):
        return NOTHING
    found = connection.execute(text(f"SELECT version_num FROM {VERSION}")).scalar()
    return str(found or NOTHING)


def migrate(database: Database, to: str = HEAD) -> str:
    """Bring the tables to a step, by default the newest, and say which they were at.

    Others who do the same wait or are waited for. On the way back, what only a later step can hold is given up.
    """
    if to not in STEPS:
        raise BadSetup(f"There is no step {to}; known are {', '.join(STEPS)}.")
    with database.begin() as connection:
        at = _known(connection)
        if at != to:
            database.alone(connection)
            at = _known(connection)
        _move(connection, STEPS.index(at), STEPS.index(to))
    return at


def roll_back(database: Database, to: str) -> str:
    """Take the tables back to an earlier step, and say which they were at."""
    with database.begin() as connection:
        at = _known(connection)
    if to in STEPS and STEPS.index(to) > STEPS.index(at):
        raise BadSetup(f"The log is at step {at}, before {to}. To bring it up to date: bookbound log upgrade")
    migrate(database, to)
    database.scrub()
    return at


def check(connection: Connection) -> bool:
    """Whether there are tables to read; those of another version are told as such."""
    at = _known(connection)
    if at not in (HEAD, NOTHING):
        raise BadSetup("The log is of an older version of Bookbound. Bring it up to date: bookbound log upgrade")
    return at == HEAD


def _known(connection: Connection) -> str:
    at = revision(connection)
    if at not in STEPS:
        raise BadSetup(
            f"The log was made by a newer version of Bookbound (step {at}, and this one knows {HEAD}). Install that "
            "version, or name another database: `log_url`."
        )
    if at == NOTHING and {"queries", "query_sessions"} & set(inspect(connection).get_table_names()):
        raise BadSetup(
            "The database for the log holds a table `queries` or `query_sessions` that is not Bookbound's. "
            "Name another database: `log_url`."
        )
    return at


def _move(connection: Connection, at: int, to: int) -> None:
    from alembic import command

    with _ONE:
        if at < to:
            command.upgrade(_config(connection), STEPS[to])
        elif at > to:
            command.downgrade(_config(connection), STEPS[to] if to else "base")


def _config(connection: Connection) -> Config:
    from alembic.config import Config

    config = Config(attributes={"connection": connection, "version_table": VERSION})
    folder = str(Path(__file__).parent / "migrations")
    config.set_main_option("script_location", folder.replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
