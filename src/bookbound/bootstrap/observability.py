"""Builds the log lines, metrics and traces of a server, and checks their settings."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from bookbound.bootstrap.components import require_extra
from bookbound.domain.errors import ConfigError
from bookbound.services import validate_url
from bookbound.settings import Settings

if TYPE_CHECKING:
    from bookbound.server.telemetry import QueueStats, Telemetry
    from bookbound.server.telemetry.opentelemetry import SpanRecorder

log = logging.getLogger("bookbound.server")


def build_telemetry(settings: Settings, get_stats: Callable[[], QueueStats]) -> Telemetry:
    """Returns log lines, and metrics and spans if the settings want them."""
    from bookbound.server.telemetry import RequestObserver, Telemetry, log_request

    observers: list[RequestObserver] = [log_request]
    running: list[AbstractAsyncContextManager[None]] = []
    metrics = None
    if settings.metrics == "on":
        from bookbound.server.telemetry.prometheus import PrometheusMetrics

        try:
            metrics = PrometheusMetrics(get_stats)
            observers.append(metrics.record)
            running.append(metrics.running())
        except ConfigError as error:  # questions can be answered without metrics
            log.error("this process publishes no metrics: %s", error)
    if settings.traces_url:
        spans = _build_span_recorder(settings.traces_url)
        observers.append(spans.record)
        running.append(spans.running())
    return Telemetry(observers, metrics, running)


def check_telemetry(settings: Settings) -> None:
    if settings.traces_url:
        validate_url(settings.traces_url, "traces_url")
        with require_extra("tracing", "traces_url"):
            import bookbound.server.telemetry.opentelemetry  # noqa: F401


def _build_span_recorder(url: str) -> SpanRecorder:
    url = validate_url(url, "traces_url")
    with require_extra("tracing", "traces_url"):
        from bookbound.server.telemetry.opentelemetry import SpanRecorder
    return SpanRecorder(url)
