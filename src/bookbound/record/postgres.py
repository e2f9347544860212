"""A log in a PostgreSQL database."""

from __future__ import annotations

import re
from importlib.util import find_spec

from sqlalchemy import URL, Connection, Engine, create_engine
from sqlalchemy.exc import OperationalError

from bookbound.errors import BadSetup, BookboundError, Unreachable

DRIVER = "psycopg"
SECONDS = 10
"""How long one statement may take; nothing that is done here needs a second."""
# Whoever cannot be reached is found out soon. What the URL says of these holds.
PATIENCE = {"connect_timeout": 3, "keepalives_idle": 10, "keepalives_interval": 3, "tcp_user_timeout": 10_000}
TURN = 0x626F6F6B
"""Names the lock that whoever changes the tables holds."""
SERVICE = "log"
# A connection that is turned down has no code to go by, but words alone. The first row that fits holds.
TURNED_DOWN = (
    (
        r"FATAL: +database +does not exist",
        "The server has no database of the name in `log_url`. Make it, or correct that.",
    ),
    (
        r"FATAL: +(password auth|role +(does not exist|is not permitted)|no pg_hba|pg_hba)|fe_sendauth: no password",
        "The server does not take the name or the password in `log_url`. Correct them, or let that role in.",
    ),
    (r"FATAL: +permission denied", "The role in `log_url` may not use the database there. Grant it that."),
)
NO_RIGHT = "42501"
"""The code for what a role may not do."""


def engine(url: URL) -> Engine:
    """Opens the database that a URL names."""
    if find_spec(DRIVER) is None:
        raise BadSetup('A log in PostgreSQL needs one more package: pip install "bookbound[postgres]"')
    patience = {name: value for name, value in PATIENCE.items() if name not in url.query}
    return create_engine(url.set(drivername=f"postgresql+{DRIVER}"), connect_args=patience, pool_size=1)


def bound(connection: Connection, seconds: int = SECONDS) -> None:
    """Let no statement of this transaction take longer; nought is for ever."""
    connection.exec_driver_sql(f"SET LOCAL statement_timeout = {seconds * 1000}")


def alone(connection: Connection) -> None:
    """Wait until nobody else changes the tables, until this transaction ends."""
    bound(connection, 0)
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({TURN})")


def still(connection: Connection, table: str) -> None:
    """Wait until nobody is writing to a table, and let nobody, until this transaction ends."""
    connection.exec_driver_sql(f"LOCK TABLE {table} IN SHARE MODE")


def meaning(trouble: Exception) -> BookboundError:
    """What went wrong, in our own words alone: what a server says may hold names, and what was to be written.

    A server that is there and turns us down for good is set wrong; one that is away may come back.
    """
    cause = getattr(trouble, "orig", None) or trouble
    if getattr(cause, "sqlstate", None) == NO_RIGHT:
        return BadSetup("The role in `log_url` may not make or write the tables of the log there. Grant it that.")
    if getattr(cause, "sqlstate", None) or not isinstance(trouble, OperationalError):
        return Unreachable("The database of the log did not do as asked. See that `log_url` is right.", service=SERVICE)
    said = re.sub(r'"[^"]*"', "", str(cause))  # a name may be any words
    for pattern, told in TURNED_DOWN:
        if re.search(pattern, said):
            return BadSetup(told)
    if "FATAL:" in said:
        return Unreachable("The database of the log takes no connection for now. See how it fares.", service=SERVICE)
    told = "Nobody answers at the address in `log_url`. See that it is right, and that the database of the log runs."
    return Unreachable(told, service=SERVICE)
