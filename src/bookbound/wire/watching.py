"""Builds what watches the service, as the settings say."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from bookbound.settings import Settings
from bookbound.upstream import fit_address
from bookbound.wire.remote import extra

if TYPE_CHECKING:
    from bookbound.watch.opentelemetry import Spans
    from bookbound.watch.standing import Standing
    from bookbound.watch.watch import Watch


def watch(settings: Settings, standing: Callable[[], Standing]) -> Watch:
    """Log lines, and metrics and spans where they are wanted; `standing` says how the desk stands."""
    from bookbound.watch.watch import Watch, Watcher, line

    watchers: list[Watcher] = [line]
    kept: list[AbstractAsyncContextManager[None]] = []
    metrics = None
    if settings.metrics == "on":
        from bookbound.watch.prometheus import Metrics

        metrics = Metrics(standing)
        watchers.append(metrics.over)
        kept.append(metrics.kept())
    if settings.traces_url:
        spans = _spans(settings.traces_url)
        watchers.append(spans.over)
        kept.append(spans.kept())
    return Watch(watchers, metrics, kept)


def ready(settings: Settings) -> None:
    """See that spans can be made: what is set wrong is told before anybody asks."""
    if settings.traces_url:
        fit_address(settings.traces_url, "traces_url")
        with extra("tracing", "traces_url"):
            import bookbound.watch.opentelemetry  # noqa: F401


def _spans(url: str) -> Spans:
    url = fit_address(url, "traces_url")
    with extra("tracing", "traces_url"):
        from bookbound.watch.opentelemetry import Spans
    return Spans(url)
