"""Sends one span for each question and each stage to an OpenTelemetry collector."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from threading import Thread
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from bookbound import __version__
from bookbound.server.telemetry import RequestRecord
from bookbound.services import quiet_loggers

TRACES_PATH = "/v1/traces"
EXPORT_SECONDS, MAX_QUEUED_SPANS, MAX_BATCH_SPANS = 1.0, 4096, 512
"""The seconds between two sendings, the most spans that wait, and the most of them in one request."""
EXPORT_TIMEOUT_SECONDS, SHUTDOWN_SECONDS = 5.0, 2.0
"""The seconds that a sending may take with all its tries, and that all which waits has at the end."""
SpanAttribute = str | int | float | bool
log = logging.getLogger("bookbound.server.telemetry")


class SpanRecorder:
    """Makes spans of what was asked, once it is over; the trace that a request names is gone on with."""

    def __init__(self, url: str) -> None:
        quiet_loggers("urllib3", "requests")
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # it tells each failure, with its address
        resource = Resource.create({"service.name": "bookbound", "service.version": __version__})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        sent = FailureLoggingExporter(OTLPSpanExporter(endpoint=_traces_endpoint(url), timeout=EXPORT_TIMEOUT_SECONDS))
        self._provider.add_span_processor(
            BatchSpanProcessor(
                sent,
                max_queue_size=MAX_QUEUED_SPANS,
                schedule_delay_millis=EXPORT_SECONDS * 1000,
                max_export_batch_size=MAX_BATCH_SPANS,
            )
        )
        self._tracer = self._provider.get_tracer("bookbound", __version__)
        self._traces = TraceContextTextMapPropagator()

    def over(self, visit: RequestRecord) -> None:
        """Keep the spans of a request that is over, if it asked for something."""
        if not visit.asked:
            return
        question = self._tracer.start_span(
            visit.asked,
            context=self._traces.extract({"traceparent": visit.traceparent}),
            kind=SpanKind.SERVER,
            start_time=visit.at,
            attributes=_question_attributes(visit),
        )
        inside = set_span_in_context(question)
        for station, stay in visit.stays.items():
            figures = {"bookbound.calls": stay.calls, "bookbound.seconds": stay.seconds}
            span = self._tracer.start_span(
                station, context=inside, start_time=_to_nanoseconds(visit, stay.began), attributes=figures
            )
            _mark_failed(span, stay.failed)
            span.end(_to_nanoseconds(visit, stay.ended))
        _mark_failed(question, visit.outcome if (visit.status or 500) >= 500 else "")
        question.end(_to_nanoseconds(visit, visit.seconds))

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Send spans while this lasts; then what waits has a moment to be sent, and no more."""
        try:
            yield
        finally:
            last = Thread(target=self._provider.shutdown, name="spans", daemon=True)
            last.start()
            await asyncio.to_thread(last.join, SHUTDOWN_SECONDS)


class FailureLoggingExporter(SpanExporter):
    """Sends spans by another exporter, and says once when it cannot and once when it can again."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter, self._failing = exporter, False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        failed = result is not SpanExportResult.SUCCESS
        if failed and not self._failing:
            log.warning("spans cannot be sent and are let go of; check the setting `traces_url` and the collector")
        elif self._failing and not failed:
            log.warning("spans are sent again")
        self._failing = failed
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()


def _traces_endpoint(url: str) -> str:
    """The address that spans are sent to; a collector without a path has its usual one."""
    return url.rstrip("/") + TRACES_PATH if urlsplit(url).path in ("", "/") else url


def _to_nanoseconds(visit: RequestRecord, seconds: float) -> int:
    return visit.at + int(seconds * 1e9)


def _mark_failed(span: Span, error: str) -> None:
    if error:
        span.set_attribute("error.type", error)
        span.set_status(Status(StatusCode.ERROR))


def _question_attributes(visit: RequestRecord) -> Mapping[str, SpanAttribute]:
    """What there is to know of a question without its words."""
    known: dict[str, SpanAttribute | None] = {
        "bookbound.request_id": visit.request_id,
        "bookbound.face": visit.face,
        "bookbound.outcome": visit.outcome,
        "http.request.method": visit.method,
        "http.route": visit.route,
        "http.response.status_code": visit.status,
    }
    if trace := visit.trace:
        scores = [passage.score for passage in trace.retrieval.passages]
        known |= {
            "bookbound.generation": trace.generation,
            "bookbound.embedder": trace.embedder,
            "bookbound.writer": trace.writer,
            "bookbound.passages": len(scores),
            "bookbound.top_score": max(scores, default=None),
            "bookbound.citations": len(visit.reply.citations) if visit.reply else 0,
            "bookbound.degraded": trace.degraded,
            "bookbound.model.calls": trace.usage.calls,
            "bookbound.model.tokens_read": trace.usage.read,
            "bookbound.model.tokens_written": trace.usage.written,
        }
    return {name: value for name, value in known.items() if value is not None}
