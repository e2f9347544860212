"""Builds the web application with its rate limiter, query log and telemetry, and checks their settings."""

from __future__ import annotations

import asyncio
import logging
import uuid
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, closing
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from bookbound.bootstrap.components import require_extra
from bookbound.domain.errors import (
    BookIndexError,
    ConfigError,
    ServiceAuthenticationError,
    ServiceError,
    ServiceResponseError,
    ServiceUnreachableError,
)
from bookbound.domain.ports import QueryLog, RateLimiter
from bookbound.domain.rate_limit import RateLimit, RateLimitBucket
from bookbound.services import validate_url
from bookbound.settings import Settings, load_settings

if TYPE_CHECKING:
    from fastapi import FastAPI

    from bookbound.server.middleware.request_log import Telemetry
    from bookbound.server.query_log.address_hash import AddressFormatter
    from bookbound.server.query_log.database import QueryLogDatabase
    from bookbound.server.telemetry import QueueStats
    from bookbound.server.telemetry.opentelemetry import SpanRecorder


def build_rate_limiter(settings: Settings) -> RateLimiter | None:
    """What counts: this process for itself, or all that share a Redis together; nothing where limits are off."""
    if settings.limits == "off":
        return None
    from bookbound.server.rate_limit.memory import MemoryLimiter

    if not settings.redis_url:
        return MemoryLimiter()
    from bookbound.server.rate_limit.memory import FallbackLimiter

    return FallbackLimiter(_build_redis_limiter(settings, settings.redis_url), MemoryLimiter())


def check_rate_limits(settings: Settings, workers: int = 1) -> None:
    """See that limits hold: what is set wrong is told before anybody asks.

    A Redis that is away is a warning: questions are answered all the same.
    """
    from bookbound.server.middleware.client_identity import parse_networks
    from bookbound.server.rate_limit import RateLimitPolicies

    parse_networks(settings.proxies)
    RateLimitPolicies.of(settings)
    if settings.limits == "off":
        return
    if settings.redis_url:
        asyncio.run(_check_redis(_build_redis_limiter(settings, settings.redis_url)))
    elif workers > 1:
        told = f"Each of the {workers} processes counts limits alone, so that up to {workers} times as much may pass."
        warnings.warn(f"{told} To count together, set `redis_url`.", stacklevel=2)


def _build_redis_limiter(settings: Settings, url: str) -> RateLimiter:
    from bookbound.bootstrap.components import require_extra

    with require_extra("redis", "redis_url"):
        from bookbound.server.rate_limit.redis import RedisLimiter
    return RedisLimiter(url, settings.qdrant_collection, (settings.log_key or "").encode())


async def _check_redis(shared: RateLimiter) -> None:
    """Take once from a bucket of nobody's: what could never work is an error, what is away may come back."""
    try:
        await shared.take([RateLimitBucket("start", str(uuid.uuid4()), RateLimit(1, 1))])
    except (ServiceAuthenticationError, ServiceResponseError) as trouble:
        raise ConfigError(f"{trouble} Correct the setting `redis_url`.") from trouble
    except ServiceError as trouble:
        told = f"{trouble} Until it is there, each process counts limits alone; questions are answered all the same."
        warnings.warn(told, stacklevel=2)
    finally:
        await shared.close()


PLACEHOLDER_ADDRESS = "::"


def log(settings: Settings) -> QueryLogDatabase:
    """Where questions are logged: a file beside the index, or the database that the settings name."""
    from bookbound.server.query_log import log_folder
    from bookbound.server.query_log.database import QueryLogDatabase

    return QueryLogDatabase(settings.log_url, log_folder(settings.index))


def keep(settings: Settings) -> timedelta:
    """For how long questions are kept."""
    return timedelta(days=settings.log_days)


def check_query_log(settings: Settings) -> None:
    """See that questions can be logged: what is set wrong is told before anybody asks.

    A database that is away, or a place that cannot be written, is a warning: questions are answered all the same. What
    a process that was killed left is counted.
    """
    if settings.log == "off":
        return
    from bookbound.server.query_log import log_folder
    from bookbound.server.query_log.repository import QueryLogRepository
    from bookbound.server.query_log.unflushed import report_unflushed

    worded = _build_address_format(settings)
    with closing(QueryLogRepository(log(settings), worded, keep(settings))) as ledger:
        try:
            ledger.open()
            report_unflushed(log_folder(settings.index), ledger)
        except ServiceUnreachableError as trouble:
            told = f"Questions are answered, but cannot be logged yet. {trouble} To log none, set `log` to off."
            warnings.warn(told, stacklevel=2)
            return
    worded(PLACEHOLDER_ADDRESS)  # so that there is a key from now on


def build_query_log(settings: Settings) -> QueryLog:
    """What notes the questions; where the database is away it waits for it."""
    if settings.log == "off":
        from bookbound.server.query_log import NullQueryLog

        return NullQueryLog()
    from bookbound.server.query_log import log_folder
    from bookbound.server.query_log.background_writer import BackgroundQueryLog
    from bookbound.server.query_log.repository import QueryLogRepository

    return BackgroundQueryLog(
        QueryLogRepository(log(settings), _build_address_format(settings), keep(settings)), log_folder(settings.index)
    )


def _build_address_format(settings: Settings) -> AddressFormatter:
    from bookbound.server.query_log import address_hash, log_folder

    if settings.log_addresses == "plain":
        return address_hash.normalize_address
    if settings.log_key:
        return address_hash.make_address_hasher(address_hash.parse_key_setting(settings.log_key))
    return address_hash.make_stored_key_hasher(log_folder(settings.index))


def build_telemetry(settings: Settings, standing: Callable[[], QueueStats]) -> Telemetry:
    """Log lines, and metrics and spans where they are wanted; `standing` says how the desk stands."""
    from bookbound.server.middleware.request_log import RequestObserver, Telemetry, log_request

    watchers: list[RequestObserver] = [log_request]
    kept: list[AbstractAsyncContextManager[None]] = []
    metrics = None
    if settings.metrics == "on":
        from bookbound.server.telemetry.prometheus import PrometheusMetrics

        metrics = PrometheusMetrics(standing)
        watchers.append(metrics.over)
        kept.append(metrics.kept())
    if settings.traces_url:
        spans = _build_span_exporter(settings.traces_url)
        watchers.append(spans.over)
        kept.append(spans.kept())
    return Telemetry(watchers, metrics, kept)


def check_telemetry(settings: Settings) -> None:
    """See that spans can be made: what is set wrong is told before anybody asks."""
    if settings.traces_url:
        validate_url(settings.traces_url, "traces_url")
        with require_extra("tracing", "traces_url"):
            import bookbound.server.telemetry.opentelemetry  # noqa: F401


def _build_span_exporter(url: str) -> SpanRecorder:
    url = validate_url(url, "traces_url")
    with require_extra("tracing", "traces_url"):
        from bookbound.server.telemetry.opentelemetry import SpanRecorder
    return SpanRecorder(url)


def check_server_settings(settings: Settings, workers: int = 1) -> None:
    """See that limits hold and questions are logged and watched: what is set wrong is told before anybody asks."""
    check_rate_limits(settings, workers)
    check_telemetry(settings)
    check_query_log(settings)


def create_web_app() -> FastAPI:
    """The web application, as a process that answers builds it: with the settings it was handed."""
    from bookbound.bootstrap import book_opener
    from bookbound.server.admission import AdmissionController
    from bookbound.server.app import create_app

    chosen = load_settings()
    desk = AdmissionController(chosen.at_once, chosen.queue, chosen.deadline)
    shelf = book_opener.build_book_pool(chosen)
    limiter, watch = build_rate_limiter(chosen), build_telemetry(chosen, desk.standing)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as held:
            await held.enter_async_context(desk.noted(build_query_log(chosen)))  # the last to close
            await held.enter_async_context(watch.kept())
            if limiter:
                held.push_async_callback(limiter.close)
            await held.enter_async_context(desk.staffed(shelf))
            try:
                await shelf.ready()
            except BookIndexError as trouble:
                # A process that starts later than its siblings must not take them down: it says it is not ready.
                logging.getLogger("bookbound.server").error("no book is open: %s", trouble)
            yield

    return create_app(
        desk,
        chosen,
        lifespan,
        store=partial(book_opener.find_book_store, chosen),
        limiter=limiter,
        watch=watch,
        shelf=shelf,
    )
