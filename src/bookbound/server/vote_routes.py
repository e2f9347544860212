"""Defines the endpoint for votes on replies."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, StringConstraints

from bookbound.contracts.http_contract import (
    Problem,
    ProblemError,
    ProblemKind,
    QuestionRoute,
    error_responses,
)
from bookbound.contracts.v1 import ErrorModel
from bookbound.server.middleware.client_identity import SECURITY_REQUIREMENTS
from bookbound.server.query_log.votes import Vote, VoteStore

UNKNOWN_REPLY = "The log has no question of this request. Send the `request_id` of a reply."


class VoteModel(BaseModel):
    """A vote on the reply with this `request_id`."""

    model_config = ConfigDict(extra="forbid")

    request_id: Annotated[str, StringConstraints(strict=True, pattern=r"^[A-Za-z0-9._-]{1,128}$")]
    vote: Vote


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
