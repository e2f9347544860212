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
from bookbound.contracts.request_context import RequestRecord
from bookbound.services import quiet_loggers

TRACES_PATH = "/v1/traces"
EXPORT_SECONDS, MAX_QUEUED_SPANS, MAX_BATCH_SPANS = 1.0, 4096, 512
EXPORT_TIMEOUT_SECONDS, SHUTDOWN_SECONDS = 5.0, 2.0
"""The first limits one export with its retries, the second the export of all waiting spans at shutdown."""
SpanAttribute = str | int | float | bool
log = logging.getLogger("bookbound.server.telemetry")


class SpanRecorder:
    """Makes the spans of each finished question and search; they continue the trace that the request names."""

    def __init__(self, url: str) -> None:
        quiet_loggers("urllib3", "requests")
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # it logs each failure with the address
        # The address of a collector without a path gets the usual one.
        endpoint = url.rstrip("/") + TRACES_PATH if urlsplit(url).path in ("", "/") else url
        resource = Resource.create({"service.name": "bookbound", "service.version": __version__})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        exporter = FailureLoggingExporter(OTLPSpanExporter(endpoint=endpoint, timeout=EXPORT_TIMEOUT_SECONDS))
        self._provider.add_span_processor(
            BatchSpanProcessor(
                exporter,
                max_queue_size=MAX_QUEUED_SPANS,
                schedule_delay_millis=EXPORT_SECONDS * 1000,
                max_export_batch_size=MAX_BATCH_SPANS,
            )
        )
        self._tracer = self._provider.get_tracer("bookbound", __version__)
        self._propagator = TraceContextTextMapPropagator()

    def record(self, request: RequestRecord) -> None:
        """Make the spans of a finished request, if it asked something of the book."""
        if not request.kind:
            return
        question = self._tracer.start_span(
            request.kind,
            context=self._propagator.extract({"traceparent": request.traceparent}),
            kind=SpanKind.SERVER,
            start_time=request.started_ns,
            attributes=_question_attributes(request),
        )
        context = set_span_in_context(question)
        for stage, timing in request.clock.stages.items():
            span = self._tracer.start_span(
                stage,
                context=context,
                start_time=_to_nanoseconds(request, timing.began),
                attributes={"bookbound.calls": timing.calls, "bookbound.seconds": timing.seconds},
            )
            _mark_failed(span, timing.error)
            span.end(_to_nanoseconds(request, timing.ended))
        _mark_failed(question, request.outcome if (request.status or 500) >= 500 else "")
        question.end(_to_nanoseconds(request, request.seconds))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Export spans until the block ends; then export the waiting spans within a short time."""
        try:
            yield
        finally:
            shutdown = Thread(target=self._provider.shutdown, name="spans", daemon=True)
            shutdown.start()
            await asyncio.to_thread(shutdown.join, SHUTDOWN_SECONDS)


class FailureLoggingExporter(SpanExporter):
    """Exports spans through another exporter, and logs once that it fails and once that it works again."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter, self._failing = exporter, False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        failed = result is not SpanExportResult.SUCCESS
        if failed and not self._failing:
            log.warning("spans cannot be sent and are dropped; check the setting `traces_url` and the collector")
        elif self._failing and not failed:
            log.warning("spans are sent again")
        self._failing = failed
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()


def _to_nanoseconds(request: RequestRecord, seconds: float) -> int:
    return request.started_ns + int(seconds * 1e9)


def _mark_failed(span: Span, error: str) -> None:
    if error:
        span.set_attribute("error.type", error)
        span.set_status(Status(StatusCode.ERROR))


def _question_attributes(request: RequestRecord) -> Mapping[str, SpanAttribute]:
    """The figures of a question, without any text."""
    attributes: dict[str, SpanAttribute | None] = {
        "bookbound.request_id": request.request_id,
        "bookbound.contract": request.contract,
        "bookbound.outcome": request.outcome,
        "http.request.method": request.method,
        "http.route": request.route,
        "http.response.status_code": request.status,
    }
    if reply := request.reply:
        trace = reply.trace
        scores = [passage.score for passage in trace.retrieval.passages]
        attributes |= {
            "bookbound.generation": trace.generation,
            "bookbound.embedder": trace.embedder,
            "bookbound.writer": trace.writer,
            "bookbound.passages": len(scores),
            "bookbound.top_score": max(scores, default=None),
            "bookbound.citations": len(reply.citations),
            "bookbound.degraded": trace.degraded,
            "bookbound.model.calls": trace.usage.calls,
            "bookbound.model.input_tokens": trace.usage.input_tokens,
            "bookbound.model.output_tokens": trace.usage.output_tokens,
        }
    return {name: value for name, value in attributes.items() if value is not None}
