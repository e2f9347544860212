"""Spans of a question and its stations reach a real collector, go on with a trace, and keep nobody waiting."""

from __future__ import annotations

import asyncio
import logging
import socket
from threading import Event

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from tests.server.telemetry.collector import attributes, collecting

from bookbound.server.telemetry import RequestRecord, StageTiming, opentelemetry
from bookbound.server.telemetry.opentelemetry import FailureLoggingExporter, SpanRecorder
from bookbound.testing import make_answer, make_passage

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
WORDS = "Quorrelwick"


def visit(**known: object) -> RequestRecord:
    reply = make_answer([(WORDS, make_passage(WORDS, score=0.75))])
    made = RequestRecord(
        "POST", {"request_id": "abc"}, route="/ask", face="ask", status=200, outcome="answered", reply=reply
    )
    made.asked, made.seconds = "question", 0.5
    made.stays = {"embed": StageTiming(0.1, 0.2, 1, 0.1), "write": StageTiming(0.2, 0.5, 3, 0.2)}
    for name, value in known.items():
        setattr(made, name, value)
    return made


async def told(url: str, *visits: RequestRecord) -> None:
    spans = SpanRecorder(url)
    async with spans.kept():
        for each in visits:
            spans.over(each)


def test_a_question_is_a_span_with_its_figures_and_each_station_a_span_below_it() -> None:
    with collecting() as collector:
        asyncio.run(told(collector.url, visit()))
        question, *stations = sorted(collector.wait_for(3), key=lambda span: bool(span.parent_span_id))
    assert collector.paths == {"/v1/traces"}
    assert question.name == "question"
    assert [span.name for span in stations] == ["embed", "write"]
    assert {span.parent_span_id for span in stations} == {question.span_id}
    assert {span.trace_id for span in stations} == {question.trace_id}
    known = attributes(question)
    assert (known["bookbound.request_id"], known["bookbound.outcome"], known["http.route"]) == (
        "abc",
        "answered",
        "/ask",
    )
    assert (known["bookbound.passages"], known["bookbound.top_score"]) == (1, 0.75)
    assert attributes(stations[1]) == {"bookbound.calls": 3, "bookbound.seconds": 0.2}
    assert question.end_time_unix_nano - question.start_time_unix_nano == 500_000_000
    assert stations[0].start_time_unix_nano - question.start_time_unix_nano == 100_000_000
    assert WORDS.encode() not in collector.bytes


def test_the_trace_that_a_request_names_is_gone_on_with_and_a_wrong_one_is_not() -> None:
    with collecting() as collector:
        named = visit(traceparent=f"00-{TRACE}-{PARENT}-01", stays={})
        wrong = visit(traceparent=f"00-{WORDS}-{PARENT}-01", stays={})
        unsampled = visit(traceparent=f"00-{TRACE}-{PARENT}-00", stays={})
        asyncio.run(told(collector.url, named, wrong, unsampled))
        spans = collector.wait_for(2)
    assert [(span.trace_id.hex() == TRACE, span.parent_span_id.hex()) for span in spans] == [
        (True, PARENT),
        (False, ""),
    ]
    assert WORDS.encode() not in collector.bytes


def test_what_failed_is_marked_and_what_asked_for_nothing_has_no_span() -> None:
    with collecting() as collector:
        failed = visit(
            status=503, outcome="unreachable", reply=None, stays={"embed": StageTiming(0.1, 0.2, 1, 0.1, "Unreachable")}
        )
        asyncio.run(told(collector.url, failed, visit(asked=None)))
        spans = collector.wait_for(2)
    assert {span.status.code for span in spans} == {2}
    assert {attributes(span)["error.type"] for span in spans} == {"unreachable", "Unreachable"}
    assert {span.status.message for span in spans} == {""}
    assert len(spans) == 2


def test_a_collector_that_is_away_is_told_once_without_its_address(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opentelemetry, "EXPORT_TIMEOUT_SECONDS", 0.3)
    monkeypatch.setattr(opentelemetry, "MAX_BATCH_SPANS", 50)
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        port = deaf.getsockname()[1]
        asyncio.run(told(f"http://127.0.0.1:{port}/secret", *[visit() for _ in range(100)]))
    assert [record.getMessage().partition(" and")[0] for record in caplog.records] == ["spans cannot be sent"]
    assert str(port) not in caplog.text


def test_a_collector_that_keeps_silent_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opentelemetry, "SHUTDOWN_SECONDS", 0.1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()

        async def ended() -> None:
            async with asyncio.timeout(opentelemetry.EXPORT_TIMEOUT_SECONDS / 2):
                await told(f"http://127.0.0.1:{silent.getsockname()[1]}", visit())

        asyncio.run(ended())


def test_each_outage_is_told_as_it_begins_and_as_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    class Fickle(SpanExporter):
        well = Event()

        def export(self, spans: object) -> SpanExportResult:
            return SpanExportResult.SUCCESS if self.well.is_set() else SpanExportResult.FAILURE

    exporter = FailureLoggingExporter(Fickle())
    spans: list[ReadableSpan] = []
    with caplog.at_level(logging.INFO, "bookbound"):
        exporter.export(spans), exporter.export(spans)
        Fickle.well.set()
        exporter.export(spans), exporter.export(spans)
    assert [record.getMessage().partition(" and")[0] for record in caplog.records] == [
        "spans cannot be sent",
        "spans are sent again",
    ]
