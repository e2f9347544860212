"""A log in a PostgreSQL database."""

from __future__ import annotations

from importlib.util import find_spec

from sqlalchemy import URL, Connection, Engine, create_engine

from bookbound.errors import BadSetup

DRIVER = "psycopg"
SECONDS = 10
"""How long one statement may take; nothing that is done here needs a second."""
# Whoever cannot be reached is found out soon. What the URL says of these holds.
PATIENCE = {"connect_timeout": 3, "keepalives_idle": 10, "keepalives_interval": 3, "tcp_user_timeout": 10_000}
TURN = 0x626F6F6B
"""Names the lock that whoever changes the tables holds."""


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
