"""Stores readers' votes on replies: the vote and the id of its question, nothing else."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from uuid import NAMESPACE_URL, UUID, uuid5

from sqlalchemy import update

from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.schema import votes_table

LOG_DELAY_SECONDS = 1.0
"""A question is logged a moment after its reply, so an unknown one is looked up again after this time."""


class Vote(StrEnum):
    """Whether a reply helped."""

    UP = "up"
    DOWN = "down"


def hash_request_id(request_id: str) -> UUID:
    """The name of a request in the log; a client may choose the ID itself, and its text is not stored."""
    return uuid5(NAMESPACE_URL, f"bookbound:{request_id}")


class VoteStore:
    """Stores the vote on the reply to a request; a later vote replaces it."""

    def __init__(self, database: QueryLogDatabase, delay_seconds: float = LOG_DELAY_SECONDS) -> None:
        self._database, self._delay_seconds = database, delay_seconds

    async def store(self, request_id: str, vote: Vote) -> bool:
        """Stores a vote; false if the log has no question of this request."""
        request = hash_request_id(request_id)
        if await asyncio.to_thread(self._store, request, vote):
            return True
        await asyncio.sleep(self._delay_seconds)
        return await asyncio.to_thread(self._store, request, vote)

    def _store(self, request: UUID, vote: Vote) -> bool:
        if self._database.is_missing:
            return False
        statement = update(votes_table).where(votes_table.c.request_hash == request).values(vote=vote.value)
        with self._database.begin() as connection:
            return connection.execute(statement).rowcount > 0

    def close(self) -> None:
        self._database.close()
