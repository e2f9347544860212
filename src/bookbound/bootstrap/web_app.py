"""Builds the web application with its rate limiter, query log and telemetry, and checks their settings."""

from __future__ import annotations

import asyncio
import logging
import uuid
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, closing
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from bookbound.bootstrap.book_catalogue import BookCatalogue, find_book_store
from bookbound.bootstrap.book_opener import build_book_pool
from bookbound.bootstrap.components import build_embedder, require_extra
from bookbound.domain import errors
from bookbound.domain.ports import QueryLog, RateLimiter
from bookbound.domain.rate import RateLimit, RateLimitBucket
from bookbound.services import validate_url
from bookbound.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

    from bookbound.server.app import McpRoutes
    from bookbound.server.query_log.database import QueryLogDatabase
    from bookbound.server.query_log.repository import AddressFormatter, QueryLogRepository
    from bookbound.server.query_log.votes import VoteStore
    from bookbound.server.report.report_builder import BookLoader, ReportBuilder
    from bookbound.server.telemetry import QueueStats, Telemetry
    from bookbound.server.telemetry.opentelemetry import SpanRecorder

PLACEHOLDER_ADDRESS = "::"
log = logging.getLogger("bookbound.server")


def check_server_services(settings: Settings, workers: int = 1) -> None:
    """Checks rate limits, telemetry, query log and the source for re-indexing before the server starts.

    A wrong setting is an error. A service that is unreachable is a warning, because questions can be answered.
    """
    from bookbound.bootstrap.reindex_process import check_source

    check_rate_limits(settings, workers)
    check_telemetry(settings)
    check_query_log(settings)
    check_source(settings)


def build_rate_limiter(settings: Settings) -> RateLimiter | None:
    """Returns a limiter of this process, or one that shares its counts through Redis, or None if limits are off."""
    if settings.rate_limits == "off":
        return None
    from bookbound.server.rate_limit import FallbackLimiter, MemoryLimiter

    if not settings.redis_url:
        return MemoryLimiter()
    return FallbackLimiter(_build_redis_limiter(settings, settings.redis_url), MemoryLimiter())


def check_rate_limits(settings: Settings, workers: int = 1) -> None:
    from bookbound.server.rate_limit import RateLimitPolicies, parse_networks

    parse_networks(settings.trusted_proxies)
    RateLimitPolicies.from_settings(settings)
    if settings.rate_limits == "off":
        return
    if settings.redis_url:
        asyncio.run(_check_redis(_build_redis_limiter(settings, settings.redis_url)))
    elif workers > 1:
        message = f"Each of the {workers} processes counts rate limits alone, so {workers} times the limit may pass."
        warnings.warn(f"{message} To count together, set `redis_url`.", stacklevel=2)


def _build_redis_limiter(settings: Settings, url: str) -> RateLimiter:
    with require_extra("redis", "redis_url"):
        from bookbound.server.rate_limit.redis import RedisLimiter
    return RedisLimiter(url, settings.qdrant_collection, (settings.query_log_key or "").encode())


async def _check_redis(limiter: RateLimiter) -> None:
    """Takes from an unused bucket: a Redis that rejects this is an error, an unreachable one is a warning."""
    try:
        await limiter.take([RateLimitBucket("start", str(uuid.uuid4()), RateLimit(1, 1))])
    except (errors.ServiceAuthenticationError, errors.ServiceResponseError) as error:
        raise errors.ConfigError(f"{error} Correct the setting `redis_url`.") from error
    except errors.ServiceError as error:
        warnings.warn(f"{error} Until then each process counts rate limits alone.", stacklevel=2)
    finally:
        await limiter.close()


def open_query_log(settings: Settings) -> QueryLogDatabase:
    """Returns the database of the query log: the one of the settings, or a file next to the index."""
    from bookbound.server.query_log import log_folder
    from bookbound.server.query_log.database import QueryLogDatabase

    return QueryLogDatabase(settings.query_log_url, log_folder(settings.index))


def query_log_retention(settings: Settings) -> timedelta:
    return timedelta(days=settings.query_log_days)


def check_query_log(settings: Settings) -> None:
    if settings.query_log == "off":
        return
    format_address = _build_address_format(settings)
    with closing(_build_query_log_repository(settings, format_address)) as repository:
        try:
            repository.ensure_tables()
        except errors.ServiceUnreachableError as error:
            message = f"Questions are answered but cannot be logged yet. {error} To log none, set `query_log` to off."
            warnings.warn(message, stacklevel=2)
            return
    format_address(PLACEHOLDER_ADDRESS)  # creates the key


def build_query_log(settings: Settings) -> QueryLog:
    """Returns the log of questions, which waits for a database that is unreachable."""
    if settings.query_log == "off":
        from bookbound.server.query_log import NullQueryLog

        return NullQueryLog()
    from bookbound.server.query_log import BackgroundQueryLog

    return BackgroundQueryLog(_build_query_log_repository(settings, _build_address_format(settings)))


def build_vote_store(settings: Settings) -> VoteStore | None:
    """Returns the store of votes, or None if questions are not logged."""
    if settings.query_log == "off":
        return None
    from bookbound.server.query_log.votes import VoteStore

    return VoteStore(open_query_log(settings))


def build_report_builder(settings: Settings, load_books: BookLoader) -> ReportBuilder:
    """Returns what reports on the query log."""
    from bookbound.server.report.report_builder import ReportBuilder

    local = replace(settings, embedder="local")  # the similarity of groups was chosen for it
    return ReportBuilder(partial(open_query_log, settings), load_books, partial(build_embedder, local))


def _build_query_log_repository(settings: Settings, format_address: AddressFormatter) -> QueryLogRepository:
    from bookbound.server.query_log.repository import QueryLogRepository

    return QueryLogRepository(open_query_log(settings), format_address, query_log_retention(settings))


def _build_address_format(settings: Settings) -> AddressFormatter:
    from bookbound.server.query_log import log_folder, repository

    if settings.query_log_addresses == "plain":
        return repository.normalize_address
    if settings.query_log_key:
        return repository.make_address_hasher(repository.parse_key_setting(settings.query_log_key))
    return repository.make_stored_key_hasher(log_folder(settings.index))


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
        except errors.ConfigError as error:  # questions can be answered without metrics
            log.error("this process publishes no metrics: %s", error)
    if settings.traces_url:
        spans = _prepare_spans(settings.traces_url)()
        observers.append(spans.record)
        running.append(spans.running())
    return Telemetry(observers, metrics, running)


def check_telemetry(settings: Settings) -> None:
    if settings.traces_url:
        _prepare_spans(settings.traces_url)


def _prepare_spans(url: str) -> Callable[[], SpanRecorder]:
    """Checks that spans can be recorded, and returns what begins to send them to the collector."""
    url = validate_url(url, "traces_url")
    with require_extra("tracing", "traces_url"):
        from bookbound.server.telemetry.opentelemetry import SpanRecorder
    return partial(SpanRecorder, url)


def create_web_app(settings: Settings, mcp_routes: McpRoutes | None = None) -> FastAPI:
    """Builds the web application of one process."""
    from bookbound.bootstrap.reindex_process import build_reindexing
    from bookbound.server.admission import AdmissionController
    from bookbound.server.app import create_app

    admission = AdmissionController(settings.max_concurrency, settings.max_queue, settings.answer_timeout_seconds)
    pool, limiter, votes = build_book_pool(settings), build_rate_limiter(settings), build_vote_store(settings)
    telemetry, catalogue = build_telemetry(settings, admission.queue_stats), BookCatalogue(settings)
    reindexing = build_reindexing(settings)
    report = None if settings.query_log == "off" else build_report_builder(settings, catalogue.manifests)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(admission.log_queries(build_query_log(settings)))  # the last to close
            for each in telemetry.background:
                await stack.enter_async_context(each)
            if limiter:
                stack.push_async_callback(limiter.close)
            if votes:
                stack.callback(votes.close)
            stack.push_async_callback(reindexing.close)
            await stack.enter_async_context(admission.serve_books(pool))
            try:
                await pool.ensure_open()
            except errors.BookIndexError as error:
                # A worker that starts after its siblings must not stop them: it reports that it is not ready.
                log.error("no book is open: %s", error)
            yield

    return create_app(
        admission,
        settings,
        lifespan,
        find_store=partial(find_book_store, settings),
        reindexing=reindexing,
        list_books=catalogue.manifests,
        open_index=admission.open_index,
        limiter=limiter,
        votes=votes,
        build_report=report.build_in_thread if report else None,
        telemetry=telemetry,
        mcp_routes=mcp_routes,
    )
