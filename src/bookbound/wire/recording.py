"""Builds what logs questions, as the settings say."""

from __future__ import annotations

import warnings
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING

from bookbound.errors import Unreachable
from bookbound.ports import Journal
from bookbound.settings import Settings

if TYPE_CHECKING:
    from bookbound.record.address import Worded
    from bookbound.record.database import Database

SOMEBODY = "::"


def log(settings: Settings) -> Database:
    """Where questions are logged: a file beside the index, or the database that the settings name."""
    from bookbound.record.database import Database
    from bookbound.record.folder import beside

    return Database(settings.log_url, beside(settings.index))


def keep(settings: Settings) -> timedelta:
    """For how long questions are kept."""
    return timedelta(days=settings.log_days)


def ready(settings: Settings) -> None:
    """See that questions can be logged: what is set wrong is told before anybody asks.

    A database that is away, or a place that cannot be written, is a warning: questions are answered all the same. What
    a process that was killed left is counted.
    """
    if settings.log == "off":
        return
    from bookbound.record.folder import beside
    from bookbound.record.ledger import Ledger
    from bookbound.record.outstanding import recover

    worded = _worded(settings)
    with closing(Ledger(log(settings), worded, keep(settings))) as ledger:
        try:
            ledger.open()
            recover(beside(settings.index), ledger)
        except Unreachable as trouble:
            told = f"Questions are answered, but cannot be logged yet. {trouble} To log none, set `log` to off."
            warnings.warn(told, stacklevel=2)
            return
    worded(SOMEBODY)  # so that there is a key from now on


def journal(settings: Settings) -> Journal:
    """What notes the questions; where the database is away it waits for it."""
    if settings.log == "off":
        from bookbound.record.noting import Silent

        return Silent()
    from bookbound.record.folder import beside
    from bookbound.record.journal import QueuedJournal
    from bookbound.record.ledger import Ledger

    return QueuedJournal(Ledger(log(settings), _worded(settings), keep(settings)), beside(settings.index))


def _worded(settings: Settings) -> Worded:
    from bookbound.record import address
    from bookbound.record.folder import beside

    if settings.log_addresses == "plain":
        return address.plain
    if settings.log_key:
        return address.hashed(address.given_key(settings.log_key))
    return address.kept(beside(settings.index))
