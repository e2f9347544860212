"""Tests the error for each way in which an embedding service can fail."""

from __future__ import annotations

import asyncio
import logging
import traceback
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from tests.indexing.embed.adapters import KEY, make_embedder, run_and_close
from tests.service_faults import ERROR_BY_FAULT

from bookbound.domain.errors import (
    ServiceAuthenticationError,
    ServiceError,
    ServiceResponseError,
    ServiceTimeoutError,
    ServiceUnreachableError,
)
from bookbound.domain.ports import Embedder, Vectors
from bookbound.domain.question import Deadline
from bookbound.indexing.embed import MAX_CONCURRENT_REQUESTS
from bookbound.services import MAX_ATTEMPTS
from bookbound.testing.scripted_services import Fault, ScriptedServices

QUESTION = "What does only the reader know?"
ENDPOINTS = {"cohere": ("embed", "cohere"), "openai": ("embeddings", "embeddings")}
FAULTS = ERROR_BY_FAULT | {
    Fault.CLOSED: ServiceResponseError,
    Fault.TOO_FEW: ServiceResponseError,
    Fault.NOT_NUMBERS: ServiceResponseError,
}


@pytest.fixture(params=["cohere", "openai"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def ask_and_fail(embedder: Embedder) -> ServiceError:
    """Asks a question and returns its error."""
    with pytest.raises(ServiceError) as caught:
        run_and_close(embedder, lambda embedder: embedder.embed_question(QUESTION))
    return caught.value


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_failure_becomes_our_error_without_secrets(
    kind: str, fault: Fault, services: ScriptedServices, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint, service = ENDPOINTS[kind]
    services.fail_with(fault, endpoint=endpoint, always=True)
    with caplog.at_level(logging.WARNING):
        error = ask_and_fail(make_embedder(kind, services.url))
    assert type(error) is FAULTS[fault]
    assert error.service == service
    text = "".join(traceback.format_exception(error)) + caplog.text
    for hidden in (KEY, KEY[:8], QUESTION, services.url, "Incorrect", "organization", "<html>"):
        assert hidden not in text


def test_a_reply_that_is_too_long_is_an_error(
    kind: str, services: ScriptedServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bookbound.services.MAX_REPLY_BYTES", 100)
    assert type(ask_and_fail(make_embedder(kind, services.url))) is ServiceResponseError


def test_a_closed_port_is_unreachable(kind: str, services: ScriptedServices) -> None:
    assert type(ask_and_fail(make_embedder(kind, services.refused_url))) is ServiceUnreachableError


def test_a_silent_service_times_out(kind: str, services: ScriptedServices) -> None:
    services.fail_with(Fault.TIMEOUT, always=True)
    assert type(ask_and_fail(make_embedder(kind, services.url, seconds=0.2))) is ServiceTimeoutError


def test_the_deadline_of_a_question_is_kept(kind: str, services: ScriptedServices) -> None:
    services.fail_with(Fault.TIMEOUT, always=True)

    async def work(embedder: Embedder) -> Vectors:
        return await embedder.embed_question(QUESTION, Deadline.after(0.2))

    with pytest.raises(ServiceTimeoutError):
        run_and_close(make_embedder(kind, services.url, seconds=600), work)


@pytest.mark.parametrize("retry_after", [3600, datetime.now(UTC) + timedelta(days=1)], ids=["seconds", "date"])
def test_a_rate_limit_error_says_when_to_retry(
    kind: str, retry_after: float | datetime, services: ScriptedServices
) -> None:
    services.fail_with(Fault.RATE_LIMITED, always=True, retry_after=retry_after)
    wait = ask_and_fail(make_embedder(kind, services.url)).retry_after
    assert wait is not None
    assert wait >= 3600
    assert len(services.requests) == 1


@pytest.mark.parametrize(
    "fault", [Fault.OVERLOADED, Fault.CLOSED, Fault.RATE_LIMITED, Fault.TRUNCATED, Fault.MALFORMED]
)
def test_a_temporary_failure_is_retried(kind: str, fault: Fault, services: ScriptedServices) -> None:
    services.fail_with(fault, times=MAX_ATTEMPTS - 1)
    vector = run_and_close(make_embedder(kind, services.url), lambda embedder: embedder.embed_question(QUESTION))
    assert np.isclose(np.linalg.norm(vector), 1)
    assert len(services.requests) == MAX_ATTEMPTS


@pytest.mark.parametrize("fault", [Fault.UNAUTHORIZED, Fault.NOT_FOUND, Fault.BAD_REQUEST])
def test_a_permanent_failure_is_not_retried(kind: str, fault: Fault, services: ScriptedServices) -> None:
    services.fail_with(fault, always=True)
    ask_and_fail(make_embedder(kind, services.url))
    assert len(services.requests) == 1


def test_the_number_of_attempts_is_limited(kind: str, services: ScriptedServices) -> None:
    services.fail_with(Fault.SERVER_ERROR, always=True)
    ask_and_fail(make_embedder(kind, services.url))
    assert len(services.requests) == MAX_ATTEMPTS


def test_a_changed_dimension_is_refused(kind: str, services: ScriptedServices) -> None:
    async def work(embedder: Embedder) -> None:
        await embedder.embed_question(QUESTION)
        services.fail_with(Fault.WRONG_DIMENSION, always=True)
        with pytest.raises(ServiceResponseError):
            await embedder.embed_question(QUESTION)

    run_and_close(make_embedder(kind, services.url), work)


def test_one_failed_batch_ends_the_others(kind: str, services: ScriptedServices) -> None:
    async def work(embedder: Embedder) -> None:
        services.fail_with(Fault.UNAUTHORIZED)
        services.fail_with(Fault.TIMEOUT, always=True)
        with pytest.raises(ServiceAuthenticationError):
            await embedder.embed([f"text {i}" for i in range(1000)])
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run_and_close(make_embedder(kind, services.url, seconds=5), work)
    assert len(services.requests) <= MAX_CONCURRENT_REQUESTS + 1
