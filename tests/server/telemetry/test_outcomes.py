"""Each finished request has one log line and one outcome."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest
from starlette.testclient import TestClient

from bookbound.contracts.request_context import RequestContext, RequestRecord
from bookbound.domain.errors import OverloadedError, ServiceRateLimitError, ServiceTimeoutError, ServiceUnreachableError
from bookbound.domain.judgement import RefusalReason
from bookbound.domain.question import Question
from bookbound.domain.reply import Reply
from bookbound.server.app import create_app
from bookbound.server.telemetry import (
    OUTCOMES,
    OutcomeRecorder,
    RequestObserver,
    Telemetry,
    log_request,
)
from bookbound.server.telemetry.prometheus import KNOWN_SERVICES, classify_failure
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_answer, make_passage, make_refusal, make_unsure

ANSWER = make_answer([("It walks.", make_passage("It walks."))])
ASKED = {"question": "Does it walk?"}
STREAM = {"Accept": "text/event-stream"}


class RecordList(list[RequestRecord]):
    """An observer that keeps the records."""

    def __call__(self, record: RequestRecord) -> None:
        self.append(record)

    __hash__ = object.__hash__  # type: ignore[assignment]


def make_client(script: Reply | Exception, *observers: RequestObserver, **settings: Any) -> TestClient:
    app = create_app(ScriptedBackend(script), Settings(**settings), telemetry=Telemetry(observers))
    return TestClient(app, raise_server_exceptions=False)


@pytest.mark.parametrize(
    ("script", "status", "outcome"),
    [
        (ANSWER, 200, "answered"),
        (make_unsure([make_passage("It walks.")]), 200, "unsure"),
        *[(make_refusal(kind), 200, f"refused_{kind.value}") for kind in RefusalReason],
        (ServiceUnreachableError("gone", service="qdrant"), 503, "unreachable"),
        (ServiceTimeoutError("late", service="qdrant"), 504, "timed_out"),
        (ServiceRateLimitError("full", service="qdrant"), 429, "limit_reached"),
        (OverloadedError("full", retry_after=1.0), 503, "busy"),
        (RuntimeError("broken"), 500, "internal_error"),
    ],
)
@pytest.mark.parametrize("path", ["/ask", "/v1/answers"])
def test_a_question_has_one_outcome_over_every_path(
    script: Reply | Exception, status: int, outcome: str, path: str
) -> None:
    records = RecordList()
    client = make_client(script, records)
    client.post(path, json=ASKED)
    client.post("/v1/answers", json=ASKED, headers=STREAM)
    assert [(record.kind, record.status, record.outcome) for record in records] == [("question", status, outcome)] * 2
    assert outcome in OUTCOMES


@pytest.mark.parametrize(
    ("method", "path", "content", "route", "contract", "outcome"),
    [
        ("POST", "/chat", b"{", "/chat", "chat", "invalid_input"),
        ("POST", "/v1/query?a=b", b"{", "/v1/query", "query", "invalid_input"),
        ("POST", "/ask", b"x" * 2000, "/ask", "ask", "too_large"),
        ("GET", "/ask", b"", "/ask", "ask", "method_not_allowed"),
        ("GET", "/secret/path", b"", "other", "other", "not_found"),
        ("GET", "/health/ready", b"", "/health/ready", "health", "served"),
        ("POST", "/v1/search", b'{"query": "it"}', "/v1/search", "bookbound", "found"),
        ("SECRET", "/ask", b"", "/ask", "ask", "method_not_allowed"),
    ],
)
def test_a_record_has_the_route_of_a_request_and_none_of_its_text(
    method: str, path: str, content: bytes, route: str, contract: str, outcome: str
) -> None:
    records = RecordList()
    make_client(ANSWER, records, max_body_bytes=1024).request(
        method, path, content=content, headers={"Content-Type": "application/json"}
    )
    (record,) = records
    assert (record.route, record.contract, record.outcome) == (route, contract, outcome)
    assert record.method in (method, "other")
    assert record.method != "SECRET"


def test_an_invalid_key_has_its_own_outcome() -> None:
    records = RecordList()
    make_client(ANSWER, records).post("/ask", json=ASKED, headers={"X-API-Key": "nobody"})
    assert [(record.status, record.kind, record.outcome) for record in records] == [(401, None, "unauthorized")]


def test_a_finished_request_has_one_log_line_with_its_id(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "bookbound"):
        response = make_client(ANSWER, log_request).post("/ask", json=ASKED, headers={"X-Request-ID": "abc"})
    (line,) = (record for record in caplog.records if record.getMessage() == "request")
    event: dict[str, Any] = line.event  # type: ignore[attr-defined]
    assert event.pop("milliseconds") >= 0
    assert event == {"method": "POST", "route": "/ask", "status": 200, "contract": "ask", "outcome": "answered"}
    assert response.headers["X-Request-ID"] == "abc"


def test_an_observer_that_fails_is_logged_once_and_stops_no_other(caplog: pytest.LogCaptureFixture) -> None:
    def fail(record: RequestRecord) -> None:
        raise RuntimeError("the reader's own words")

    records = RecordList()
    client = make_client(ANSWER, fail, records)
    assert [client.post("/ask", json=ASKED).status_code for _ in range(3)] == [200] * 3
    assert len(records) == 3
    assert [record.getMessage() for record in caplog.records].count("some requests are not reported: RuntimeError") == 1
    assert "own words" not in caplog.text


def test_services_and_failures_have_names_from_fixed_sets() -> None:
    kinds: Sequence[tuple[str, str]] = [
        classify_failure(kind("", service=name))
        for kind in (ServiceUnreachableError, ServiceTimeoutError)
        for name in ("qdrant", "https://host/secret")
    ]
    assert set(kinds) == {
        ("qdrant", "unreachable"),
        ("other", "unreachable"),
        ("qdrant", "timed_out"),
        ("other", "timed_out"),
    }
    assert "qdrant" in KNOWN_SERVICES


class SilentBackend(ScriptedBackend):
    """Never answers."""

    async def ask(self, question: Question, context: RequestContext) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError


def test_a_disconnect_before_the_reply_is_an_outcome_and_one_after_it_is_not() -> None:
    async def run() -> list[str]:
        question = Question("Does it walk?")
        early, between, late = RequestContext(), RequestContext(), RequestContext()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await OutcomeRecorder(SilentBackend(ANSWER)).ask(question, early)
        events = OutcomeRecorder(ScriptedBackend(ANSWER)).stream(question, between)
        await anext(events)
        await events.aclose()
        events = OutcomeRecorder(ScriptedBackend(ANSWER)).stream(question, late)
        while await anext(events) is not ANSWER:
            pass
        await events.aclose()
        return [context.record.outcome for context in (early, between, late)]

    assert asyncio.run(run()) == ["disconnected", "disconnected", "answered"]
