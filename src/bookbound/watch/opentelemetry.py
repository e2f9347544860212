"""One span for each question and one for each station it passed, sent to a collector that nobody waits for."""

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
from bookbound.discretion import discreet
from bookbound.watch.visit import Visit

PATH = "/v1/traces"
EVERY, ROOM, BATCH = 1.0, 4096, 512
"""The seconds between two sendings, the most spans that wait, and the most of them in one request."""
PATIENCE, LAST = 5.0, 2.0
"""The seconds that a sending may take with all its tries, and that all which waits has at the end."""
Figure = str | int | float | bool

log = logging.getLogger("bookbound.watch")


class Spans:
    """Makes spans of what was asked, once it is over; the trace that a request names is gone on with."""

    def __init__(self, url: str) -> None:
        discreet("urllib3", "requests")
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # it tells each failure, with its address
        resource = Resource.create({"service.name": "bookbound", "service.version": __version__})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        sent = Sent(OTLPSpanExporter(endpoint=_endpoint(url), timeout=PATIENCE))
        self._provider.add_span_processor(
            BatchSpanProcessor(
                sent, max_queue_size=ROOM, schedule_delay_millis=EVERY * 1000, max_export_batch_size=BATCH
            )
        )
        self._tracer = self._provider.get_tracer("bookbound", __version__)
        self._traces = TraceContextTextMapPropagator()

    def over(self, visit: Visit) -> None:
        """Keep the spans of a request that is over, if it asked for something."""
        if not visit.asked:
            return
        question = self._tracer.start_span(
            visit.asked,
            context=self._traces.extract({"traceparent": visit.traceparent}),
            kind=SpanKind.SERVER,
            start_time=visit.at,
            attributes=_figures(visit),
        )
        inside = set_span_in_context(question)
        for station, stay in visit.stays.items():
            figures = {"bookbound.calls": stay.calls, "bookbound.seconds": stay.seconds}
            span = self._tracer.start_span(
                station, context=inside, start_time=_moment(visit, stay.began), attributes=figures
            )
            _failed(span, stay.failed)
            span.end(_moment(visit, stay.ended))
        _failed(question, visit.outcome if (visit.status or 500) >= 500 else "")
        question.end(_moment(visit, visit.seconds))

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Send spans while this lasts; then what waits has a moment to be sent, and no more."""
        try:
            yield
        finally:
            last = Thread(target=self._provider.shutdown, name="spans", daemon=True)
            last.start()
            await asyncio.to_thread(last.join, LAST)


class Sent(SpanExporter):
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


def _endpoint(url: str) -> str:
    """The address that spans are sent to; a collector without a path has its usual one."""
    return url.rstrip("/") + PATH if urlsplit(url).path in ("", "/") else url


def _moment(visit: Visit, seconds: float) -> int:
    return visit.at + int(seconds * 1e9)


def _failed(span: Span, error: str) -> None:
    if error:
        span.set_attribute("error.type", error)
        span.set_status(Status(StatusCode.ERROR))


def _figures(visit: Visit) -> Mapping[str, Figure]:
    """What there is to know of a question without its words."""
    known: dict[str, Figure | None] = {
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
