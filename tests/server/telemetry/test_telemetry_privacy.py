"""Tests that no text of a reader or a book, and no key, is in the logs, metrics or spans of real servers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.server_process import run_server_process
from tests.server.telemetry.collector import attributes, collecting

from bookbound import bootstrap
from bookbound.settings import Settings
from bookbound.testing.scripted_services import Fault, ScriptedServices

pytestmark = pytest.mark.slow
PASSAGE, SELECTION, QUESTION, SECRET = "Quorrelwick", "Zwickelmoor", "Ummenschlag", "sk-Kettensprenger-0123456789"
ADDRESS, PEER, QUERY, AGENT = "203.0.113.77", "127.83.19.7", "Vantongeren", "Obsidianbrowser"
SESSION = "550e8400-e29b-41d4-a716-446655440000"
MARKERS = (PASSAGE, SELECTION, QUESTION, SECRET, ADDRESS, PEER, QUERY, AGENT, SESSION)
HORN = f"In fog the horn of {PASSAGE} sounds for four seconds in every minute."
BOOK = f"# Lighthouse\n\n## The fog horn\n\n{HORN}\nThe keeper writes down at which hour the horn was started.\n"
BELL = f"At noon the bell of {SELECTION} rings twelve times."
ASKED = f"{QUESTION} asks: for how many seconds in every minute does the horn sound in fog?"
HEADERS = {"X-Forwarded-For": ADDRESS, "User-Agent": AGENT, "tracestate": f"a={QUERY}", "X-Request-ID": "asked-1"}
TRACE = "0af7651916cd43dd8448eb211c80319c"


@dataclass
class Visible:
    """The responses, logs, metrics and spans of a server."""

    output: str = ""
    metrics: str = ""
    spans: list[Any] = field(default_factory=list)
    span_bytes: bytes = b""
    statuses: list[int] = field(default_factory=list)
    responses: str = ""

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.output.splitlines()]


def ask(client: httpx.Client, visible: Visible) -> None:
    """Send valid and invalid requests, each with every marker that must not be visible."""
    parent = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}
    requests: list[tuple[str, dict[str, Any], dict[str, str]]] = [
        ("/ask", {"question": ASKED}, parent),
        ("/ask", {"question": f"{QUESTION} asks: how often does the bell ring at noon?", "selected_text": BELL}, {}),
        ("/v1/answers", {"question": ASKED}, {}),
        ("/v1/answers", {"question": ASKED}, {"Accept": "text/event-stream"}),
        ("/api/query", {"query": ASKED, "session_id": SESSION}, {}),
        ("/v1/search", {"query": ASKED}, {}),
        ("/ask", {"question": [ASKED]}, {}),
        ("/ask", {"question": ASKED}, {"X-API-Key": SECRET}),
        (f"/{QUESTION}", {"question": ASKED}, {}),
    ]
    for path, body, headers in requests:
        response = client.post(f"{path}?q={QUERY}", json=body, headers=HEADERS | headers)
        visible.statuses.append(response.status_code)
        visible.responses += response.text
    visible.metrics = client.get("/metrics").text


def no_failures(index: Path, folder: Path) -> Visible:
    """Two processes with readable logs and no failures."""
    visible = Visible()
    with collecting() as collector:
        options = {"index": index, "answer_threshold": 0.0, "traces_url": collector.url}
        with run_server_process(options, folder / "output", "--workers", "2", address=PEER) as server:
            ask(server.client, visible)
        visible.spans, visible.span_bytes = list(collector.spans), collector.bytes
    visible.output = (folder / "output").read_text()
    return visible


def failing_model(index: Path, folder: Path) -> Visible:
    """One process with JSON logs, and a language model whose errors repeat the question."""
    visible = Visible()
    with collecting() as collector, ScriptedServices() as services:
        services.fail_with(Fault.BAD_REQUEST, endpoint="chat", always=True)
        options = {
            "index": index,
            "answer_threshold": 0.0,
            "traces_url": collector.url,
            "log_format": "json",
            "query_log": "off",
        }
        options |= {"llm_model": "a-model", "llm_url": services.openai_url, "llm_key": SECRET}
        with run_server_process(options, folder / "output", address=PEER) as server:
            ask(server.client, visible)
        visible.spans, visible.span_bytes = list(collector.spans), collector.bytes
    visible.output = (folder / "output").read_text()
    return visible


Situation = Callable[[Path, Path], Visible]
SITUATIONS: tuple[Situation, ...] = (no_failures, failing_model)


@pytest.fixture(scope="module")
def visible(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Situation, Future[Visible]]]:
    def run_situation(situation: Situation) -> Visible:
        folder = tmp_path_factory.mktemp(situation.__name__)
        (folder / "source").mkdir()
        (folder / "source" / "lighthouse.md").write_text(BOOK, encoding="utf-8")
        bootstrap.index_book(folder / "source", Settings(index=folder / "index"))
        return situation(folder / "index", folder)

    with ThreadPoolExecutor(2) as runs:
        yield {each: runs.submit(run_situation, each) for each in SITUATIONS}


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: each.__name__)
def test_no_marker_is_in_logs_metrics_or_spans(visible: dict[Situation, Future[Visible]], situation: Situation) -> None:
    found = visible[situation].result()
    assert PASSAGE in found.responses
    assert [marker for marker in MARKERS if marker in found.output] == []
    assert [marker for marker in MARKERS if marker in found.metrics] == []
    assert [marker for marker in MARKERS if marker.encode() in found.span_bytes] == []
    assert "Traceback" not in found.output


def test_every_request_has_a_log_line_and_every_question_its_spans(
    visible: dict[Situation, Future[Visible]],
) -> None:
    found = visible[no_failures].result()
    assert found.statuses == [200, 200, 200, 200, 200, 200, 400, 401, 404]
    lines = [line for line in found.output.splitlines() if " request request_id=asked-1 " in line]
    assert [line.rpartition("=")[2] for line in lines] == [
        *["answered"] * 5,
        "found",
        "invalid_input",
        "unauthorized",
        "not_found",
    ]
    assert 'bookbound_questions_total{contract="ask",outcome="answered"} 2.0' in found.metrics
    assert 'bookbound_stage_seconds_count{stage="verify"} 5.0' in found.metrics
    assert 'bookbound_stage_seconds_count{stage="queue"} 6.0' in found.metrics
    questions = [span for span in found.spans if span.name == "question"]
    assert len(questions) == 5
    assert {attributes(span)["bookbound.request_id"] for span in questions} == {"asked-1"}
    (named,) = (span for span in questions if span.trace_id.hex() == TRACE)
    stages = {span.name for span in found.spans if span.parent_span_id == named.span_id}
    assert stages == {"queue", "embed", "search", "judge", "write", "verify"}


def test_with_failures_every_log_line_is_json_and_names_what_failed(visible: dict[Situation, Future[Visible]]) -> None:
    found = visible[failing_model].result()
    assert found.statuses == [503, 503, 200, 200, 503, 200, 400, 401, 404]
    lines = found.lines
    assert {"time", "level", "logger", "message"} <= set.intersection(*(set(line) for line in lines))
    requests = [line for line in lines if line["message"] == "request" and line.get("request_id") == "asked-1"]
    assert [line["status"] for line in requests] == found.statuses
    assert [line["outcome"] for line in requests][:4] == ["unreachable", "unreachable", "answered", "answered"]
    reported = [line for line in lines if line["logger"] == "bookbound.answering.drafting"]
    assert {line["request_id"] for line in reported} == {"asked-1"}
    for metric in (
        'bookbound_questions_total{contract="query",outcome="unreachable"} 1.0',
        'bookbound_service_failures_total{kind="rejected",service="language model"} 5.0',
        'bookbound_degraded_answers_total{contract="bookbound"} 2.0',
    ):
        assert metric in found.metrics
    assert {attributes(span).get("error.type") for span in found.spans if span.name == "write"} == {
        "UnsupportedParameterError"
    }
