"""Defines the author's page at `/report` and the endpoint with its data."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from bookbound.contracts.http_contract import Context, Problem, ProblemError, ProblemKind
from bookbound.contracts.v1 import ErrorModel
from bookbound.domain.book_ref import BookRef
from bookbound.domain.trace import QueryStatus
from bookbound.evaluation import MetricsDict
from bookbound.server.api_keys import ReloadingKeyRing
from bookbound.server.index_routes import ADMIN_ONLY, ERROR_RESPONSES, AdminKeyId
from bookbound.server.page.book_page import REPORT_PATH, find_root, render_page_template, respond_with_page

MAX_DAYS, DEFAULT_DAYS, PERIODS = 3650, 30, (7, 30, 90)
NO_LOG = "This server does not log questions, so there is nothing to report. To log them, set `query_log` to on."
Days = Annotated[int, Query(ge=1, le=MAX_DAYS, description="How many days to look back.")]
REPORT_RESPONSES = ERROR_RESPONSES | {status: {"model": ErrorModel} for status in (409, 422)}
BuildReport = Callable[[BookRef, timedelta], Awaitable[MetricsDict]]
log = logging.getLogger("bookbound.server")


def report_routes(build_report: BuildReport | None, keys: ReloadingKeyRing, default: BookRef) -> APIRouter:
    """The page and its data about a book, by default `default`; without `build_report` no question is logged."""
    router = APIRouter(tags=["report"])

    @router.api_route(REPORT_PATH, methods=["GET", "HEAD"], include_in_schema=False)
    async def page(request: Request) -> HTMLResponse:
        """The page without any data, so that it may be shown to everyone."""
        content = render_page_template(
            "report.html.j2",
            find_root(request.scope),
            has_admin_key=keys.has_admin_key,
            has_log=build_report is not None,
            periods=PERIODS,
            default_days=DEFAULT_DAYS,
            phrases=_list_phrases() if build_report else {},
        )
        return respond_with_page(request, content)

    @router.get("/v1/report", responses=REPORT_RESPONSES, openapi_extra=ADMIN_ONLY)
    async def report(key_id: AdminKeyId, context: Context, days: Days = DEFAULT_DAYS) -> dict[str, Any]:
        """Report what readers asked and could not find, as `bookbound report --format json` does."""
        log.warning("key %s read the report", key_id)
        if build_report is None:
            raise ProblemError(Problem(ProblemKind.CONFLICT, 409, NO_LOG))
        return await build_report(context.book or default, timedelta(days=days))

    return router


def _list_phrases() -> dict[str, str]:
    """The words for each reason why a question has no answer."""
    from bookbound.server.report import presentation  # imports the database library, which only the log needs

    return {str(name): phrase for name, phrase in presentation.REFUSAL_PHRASES.items()} | {
        str(QueryStatus.UNSURE): presentation.UNSURE_PHRASE
    }
