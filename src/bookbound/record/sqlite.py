"""A log in a SQLite file, which several processes may write at once."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event

from bookbound.record import folder

SECONDS = 5.0
"""How long a writer waits for another one to finish."""
FILE = "questions.db"


def engine(file: Path) -> Engine:
    """Opens the file, which only its owner may read; a transaction that writes begins by waiting for its turn."""
    made = create_engine(URL.create("sqlite", database=str(file)), connect_args={"timeout": SECONDS})

    @event.listens_for(made, "connect")
    def prepare(connection: Any, _: object) -> None:
        connection.isolation_level = None  # transactions begin where we say so
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous = FULL")  # what is committed outlives a power cut
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # what is purged is gone from the file, too

    @event.listens_for(made, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return made


def make(file: Path, ours: bool) -> None:
    """The file, where there is none yet, and its folder as well, where that is ours."""
    if ours:
        folder.make(file.parent)
    # Never where it is there: to close a second handle of a file lets go of every lock that this process has on it.
    with suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Readers and a writer at once; to change to it, SQLite waits for nobody, so the waiting is here."""
    until = monotonic() + SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if monotonic() > until:
                raise
            sleep(0.02)
