"""What a log holds in all, and what is still to be told to it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import func, select

from bookbound.record import schema
from bookbound.record.database import Database
from bookbound.record.outstanding import untold
from bookbound.record.tables import losses, queries, sessions

AT_ONCE = 1000


class Holdings(NamedTuple):
    """So many rows from the oldest on, so many losses told, and so many entries that dead processes left untold.

    Of what they left, entries that are rows are no loss and are not counted.
    """

    step: str = schema.NOTHING
    questions: int = 0
    sessions: int = 0
    oldest: datetime | None = None
    lost: int = 0
    outstanding: int = 0


def holdings(database: Database, place: Path) -> Holdings:
    """What the log holds, and what is left beside it at `place`; nothing is changed or made."""
    left = untold(place, database.name)  # before the rows: what is written meanwhile must not count as missing
    noted = [entry for each in left for entry in each.entries]
    outstanding = sum(each.most for each in left)
    if database.missing:
        return Holdings(outstanding=outstanding)
    with database.read() as connection:
        if not schema.check(connection):
            return Holdings(outstanding=outstanding)
        for at in range(0, len(noted), AT_ONCE):
            written = select(func.count()).where(queries.c.query_id.in_(noted[at : at + AT_ONCE]))
            outstanding -= connection.execute(written).scalar_one()
        rows = select(func.count(), func.min(queries.c.created_at)).select_from(queries)
        count, oldest = connection.execute(rows).one()
        return Holdings(
            schema.HEAD,
            count,
            connection.execute(select(func.count()).select_from(sessions)).scalar_one(),
            oldest and oldest.replace(tzinfo=UTC),
            int(connection.execute(select(func.coalesce(func.sum(losses.c.lost), 0))).scalar_one()),
            outstanding,
        )
