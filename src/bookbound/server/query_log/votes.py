"""Stores readers' votes on replies, and defines their endpoint."""

from __future__ import annotations

import asyncio
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, StringConstraints
from sqlalchemy import update

from bookbound.contracts.http_contract import Problem, ProblemError, ProblemKind, QuestionRoute, error_responses
from bookbound.contracts.v1 import ErrorModel
from bookbound.server.middleware.access import SECURITY_REQUIREMENTS
from bookbound.server.query_log.database import QueryLogDatabase
from bookbound.server.query_log.schema import Vote, hash_request_id, votes_table

LOG_DELAY_SECONDS = 1.0
"""A question is logged a moment after its reply, so an unknown one is looked up again after this time."""
UNKNOWN_REPLY = "The log has no question of this request. Send the `request_id` of a reply."


class VoteModel(BaseModel):
    """A vote on the reply with this `request_id`."""

    model_config = ConfigDict(extra="forbid")

    request_id: Annotated[str, StringConstraints(strict=True, pattern=r"^[A-Za-z0-9._-]{1,128}$")]
    vote: Vote


class VoteStore:
    """Stores the vote on the reply to a request, and nothing else; a later vote replaces it."""

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


def vote_routes(votes: VoteStore) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["votes"], route_class=QuestionRoute)

    @router.post(
        "/votes",
        status_code=204,
        responses=error_responses(ErrorModel, 404, 422),
        openapi_extra={"security": [{}, *SECURITY_REQUIREMENTS]},
    )
    async def vote(body: VoteModel) -> None:
        """Store whether a reply helped; a later vote on the same reply replaces it."""
        if not await votes.store(body.request_id, body.vote):
            raise ProblemError(Problem(ProblemKind.NOT_FOUND, 404, UNKNOWN_REPLY))

    return router
