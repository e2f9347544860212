"""Spans of a question and its stages reach a real collector, continue a trace, and delay no request."""

from __future__ import annotations

import asyncio
import logging
import socket
from threading import Event

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from tests.server.telemetry.collector import attributes, collecting

from bookbound.contracts.request_context import RequestRecord
from bookbound.domain.trace import Stage, StageTiming
from bookbound.server.telemetry import opentelemetry
from bookbound.server.telemetry.opentelemetry import FailureLoggingExporter, SpanRecorder
from bookbound.testing import make_answer, make_passage

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
WORDS = "Quorrelwick"


STAGES: dict[Stage, StageTiming] = {
    "embed": StageTiming(0.1, 0.2, 1, 0.1),
    "write": StageTiming(0.2, 0.5, 3, 0.2),
}


def make_record(stages: dict[Stage, StageTiming] = STAGES, **fields: object) -> RequestRecord:
    record = RequestRecord("abc", "POST", route="/ask", contract="ask", status=200, kind="question", outcome="answered")
    record.reply, record.seconds = make_answer([(WORDS, make_passage(WORDS, score=0.75))]), 0.5
    record.clock.stages.update(stages)
    for name, value in fields.items():
        setattr(record, name, value)
    return record


async def export(url: str, *records: RequestRecord) -> None:
    spans = SpanRecorder(url)
    async with spans.running():
        for record in records:
            spans.record(record)


def test_a_question_is_a_span_and_each_stage_a_span_below_it() -> None:
    with collecting() as collector:
        asyncio.run(export(collector.url, make_record()))
        question, *stages = sorted(collector.wait_for(3), key=lambda span: bool(span.parent_span_id))
    assert collector.paths == {"/v1/traces"}
    assert question.name == "question"
    assert [span.name for span in stages] == ["embed", "write"]
    assert {span.parent_span_id for span in stages} == {question.span_id}
    assert {span.trace_id for span in stages} == {question.trace_id}
    known = attributes(question)
    assert (known["bookbound.request_id"], known["bookbound.outcome"], known["http.route"]) == (
        "abc",
        "answered",
        "/ask",
    )
    assert (known["bookbound.passages"], known["bookbound.top_score"]) == (1, 0.75)
    assert attributes(stages[1]) == {"bookbound.calls": 3, "bookbound.seconds": 0.2}
    assert question.end_time_unix_nano - question.start_time_unix_nano == 500_000_000
    assert stages[0].start_time_unix_nano - question.start_time_unix_nano == 100_000_000
    assert WORDS.encode() not in collector.bytes


def test_a_valid_trace_of_the_request_is_continued() -> None:
    with collecting() as collector:
        named = make_record({}, traceparent=f"00-{TRACE}-{PARENT}-01")
        wrong = make_record({}, traceparent=f"00-{WORDS}-{PARENT}-01")
        unsampled = make_record({}, traceparent=f"00-{TRACE}-{PARENT}-00")
        asyncio.run(export(collector.url, named, wrong, unsampled))
        spans = collector.wait_for(2)
    assert [(span.trace_id.hex() == TRACE, span.parent_span_id.hex()) for span in spans] == [
        (True, PARENT),
        (False, ""),
    ]
    assert WORDS.encode() not in collector.bytes


def test_failures_are_marked_and_requests_that_ask_nothing_have_no_span() -> None:
    with collecting() as collector:
        stages: dict[Stage, StageTiming] = {"embed": StageTiming(0.1, 0.2, 1, 0.1, "ServiceUnreachableError")}
        failed = make_record(stages, status=503, outcome="unreachable", reply=None)
        asyncio.run(export(collector.url, failed, make_record(kind=None)))
        spans = collector.wait_for(2)
    assert {span.status.code for span in spans} == {2}
    assert {attributes(span)["error.type"] for span in spans} == {"unreachable", "ServiceUnreachableError"}
    assert {span.status.message for span in spans} == {""}
    assert len(spans) == 2


def test_an_unreachable_collector_is_logged_once_without_its_address(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opentelemetry, "EXPORT_TIMEOUT_SECONDS", 0.3)
    monkeypatch.setattr(opentelemetry, "MAX_BATCH_SPANS", 50)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        asyncio.run(export(f"http://127.0.0.1:{port}/secret", *[make_record() for _ in range(100)]))
    assert [record.getMessage().partition(" and")[0] for record in caplog.records] == ["spans cannot be sent"]
    assert str(port) not in caplog.text


def test_a_silent_collector_does_not_delay_shutdown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opentelemetry, "SHUTDOWN_SECONDS", 0.1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()

        async def run() -> None:
            async with asyncio.timeout(opentelemetry.EXPORT_TIMEOUT_SECONDS / 2):
                await export(f"http://127.0.0.1:{silent.getsockname()[1]}", make_record())

        asyncio.run(run())


def test_an_outage_is_logged_when_it_begins_and_when_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    class UnreliableExporter(SpanExporter):
        works = Event()

        def export(self, spans: object) -> SpanExportResult:
            return SpanExportResult.SUCCESS if self.works.is_set() else SpanExportResult.FAILURE

    exporter = FailureLoggingExporter(UnreliableExporter())
    spans: list[ReadableSpan] = []
    with caplog.at_level(logging.INFO, "bookbound"):
        exporter.export(spans), exporter.export(spans)
        UnreliableExporter.works.set()
        exporter.export(spans), exporter.export(spans)
    assert [record.getMessage().partition(" and")[0] for record in caplog.records] == [
        "spans cannot be sent",
        "spans are sent again",
    ]
