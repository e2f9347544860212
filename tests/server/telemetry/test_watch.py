"""One line for each request that is over, and what became of it in one word."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from bookbound.domain.errors import OverloadedError, ServiceRateLimitError, ServiceTimeoutError, ServiceUnreachableError
from bookbound.domain.judgement import RefusalReason
from bookbound.domain.question import Question
from bookbound.domain.reply import Reply
from bookbound.server.app import create_app
from bookbound.server.middleware.request_log import RequestObserver, Telemetry, log_request
from bookbound.server.telemetry import CURRENT_REQUEST, KNOWN_SERVICES, OUTCOMES, RequestRecord, classify_failure
from bookbound.server.telemetry.instrumentation import OutcomeRecorder
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_answer, make_passage, make_refusal

ANSWER = make_answer([("It walks.", make_passage("It walks."))])
ASKED = {"question": "Does it walk?"}
STREAM = {"Accept": "text/event-stream"}


class Kept(list[RequestRecord]):
    """A watcher that keeps what it sees."""

    def __call__(self, visit: RequestRecord) -> None:
        self.append(visit)

    __hash__ = object.__hash__  # type: ignore[assignment]


def client(script: Reply | Exception, *watchers: RequestObserver, **chosen: Any) -> TestClient:
    app = create_app(ScriptedBackend(script), Settings(**chosen), watch=Telemetry(watchers))
    return TestClient(app, raise_server_exceptions=False)


def unsure() -> Reply:
    return replace(ANSWER, judgement=replace(ANSWER.judgement, sure=False))


@pytest.mark.parametrize(
    ("script", "status", "outcome"),
    [
        (ANSWER, 200, "answered"),
        (unsure(), 200, "answered_unsure"),
        *[(make_refusal(kind), 200, f"refused_{kind.value}") for kind in RefusalReason],
        (ServiceUnreachableError("gone", service="qdrant"), 503, "unreachable"),
        (ServiceTimeoutError("late", service="qdrant"), 504, "timed_out"),
        (ServiceRateLimitError("full", service="qdrant"), 429, "limit_reached"),
        (OverloadedError("full", retry_after=1.0), 503, "busy"),
        (RuntimeError("broken"), 500, "internal_error"),
    ],
)
@pytest.mark.parametrize("path", ["/ask", "/v1/answers"])
def test_a_question_has_one_outcome_by_whichever_way_it_came(
    script: Reply | Exception, status: int, outcome: str, path: str
) -> None:
    seen = Kept()
    asking = client(script, seen)
    asking.post(path, json=ASKED)
    asking.post("/v1/answers", json=ASKED, headers=STREAM)
    assert [(visit.asked, visit.status, visit.outcome) for visit in seen] == [("question", status, outcome)] * 2
    assert outcome in OUTCOMES


@pytest.mark.parametrize(
    ("method", "path", "content", "route", "face", "outcome"),
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
def test_a_request_is_known_by_the_path_that_answers_it_and_never_by_its_own_words(
    method: str, path: str, content: bytes, route: str, face: str, outcome: str
) -> None:
    seen = Kept()
    client(ANSWER, seen, largest_body=1024).request(
        method, path, content=content, headers={"Content-Type": "application/json"}
    )
    (visit,) = seen
    assert (visit.route, visit.face, visit.outcome) == (route, face, outcome)
    assert visit.method in (method, "other")
    assert visit.method != "SECRET"


def test_a_key_that_does_not_hold_is_an_outcome_of_its_own() -> None:
    seen = Kept()
    client(ANSWER, seen).post("/ask", json=ASKED, headers={"Authorization": "Bearer nobody"})
    assert [(visit.status, visit.asked, visit.outcome) for visit in seen] == [(401, None, "unauthorized")]


def test_a_finished_request_is_one_line_with_its_id(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "bookbound"):
        response = client(ANSWER, log_request).post("/ask", json=ASKED, headers={"X-Request-ID": "abc"})
    (said,) = (record for record in caplog.records if record.getMessage() == "request")
    event: dict[str, Any] = said.event  # type: ignore[attr-defined]
    assert event.pop("milliseconds") >= 0
    assert event == {"method": "POST", "route": "/ask", "status": 200, "face": "ask", "outcome": "answered"}
    assert response.headers["X-Request-ID"] == "abc"


def test_a_watcher_that_fails_is_told_of_once_and_fails_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def clumsy(visit: RequestRecord) -> None:
        raise RuntimeError("the reader's own words")

    seen = Kept()
    asking = client(ANSWER, clumsy, seen)
    assert [asking.post("/ask", json=ASKED).status_code for _ in range(3)] == [200] * 3
    assert len(seen) == 3
    assert [record.getMessage() for record in caplog.records].count("requests are not all watched: RuntimeError") == 1
    assert "own words" not in caplog.text


def test_a_service_and_its_failure_are_words_of_a_fixed_set() -> None:
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


class Silent(ScriptedBackend):
    """A desk that never answers."""

    async def ask(self, question: Question) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError


def test_who_goes_away_before_the_reply_has_left_and_who_goes_after_it_was_answered() -> None:
    async def leave() -> list[str]:
        asked = Question("Does it walk?")
        CURRENT_REQUEST.set(early := RequestRecord("POST"))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await OutcomeRecorder(Silent(ANSWER)).ask(asked)
        CURRENT_REQUEST.set(between := RequestRecord("POST"))
        steps = OutcomeRecorder(ScriptedBackend(ANSWER)).steps(asked)
        await anext(steps)
        await steps.aclose()
        CURRENT_REQUEST.set(late := RequestRecord("POST"))
        steps = OutcomeRecorder(ScriptedBackend(ANSWER)).steps(asked)
        while await anext(steps) is not ANSWER:
            pass
        await steps.aclose()
        return [visit.outcome for visit in (early, between, late)]

    assert asyncio.run(leave()) == ["left", "left", "answered"]
