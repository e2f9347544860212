"""Each way in which a service that embeds can fail, and the error that comes of it."""

from __future__ import annotations

import asyncio
import logging
import traceback
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.indexing.embed.adapters import KEY, made, using
from tests.troubles import EVERYWHERE

from bookbound.domain.errors import (
    ServiceAuthenticationError,
    ServiceError,
    ServiceResponseError,
    ServiceTimeoutError,
    ServiceUnreachableError,
)
from bookbound.domain.ports import Embedder
from bookbound.indexing.embed import MAX_CONCURRENT_REQUESTS
from bookbound.services import MAX_ATTEMPTS, set_deadline
from bookbound.testing.scripted_services import Fault, ScriptedServices

if TYPE_CHECKING:
    from bookbound.domain.ports import Vectors

ASKED = "What would nobody but the reader know?"
ENDPOINTS = {"cohere": ("embed", "cohere"), "openai": ("embeddings", "embeddings")}
FAULTS = EVERYWHERE | {
    Fault.CLOSED: ServiceResponseError,
    Fault.TOO_FEW: ServiceResponseError,
    Fault.NOT_NUMBERS: ServiceResponseError,
}


@pytest.fixture(params=["cohere", "openai"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def failed(embedder: Embedder) -> ServiceError:
    """The error that a question ends in."""
    with pytest.raises(ServiceError) as caught:
        using(embedder, lambda embedder: embedder.embed_question(ASKED))
    return caught.value


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_becomes_our_error_of_the_service_and_tells_nothing_that_is_not_ours_to_tell(
    kind: str, fault: Fault, services: ScriptedServices, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint, service = ENDPOINTS[kind]
    services.fails(fault, path=endpoint, always=True)
    with caplog.at_level(logging.WARNING):
        trouble = failed(made(kind, services.url))
    assert type(trouble) is FAULTS[fault]
    assert trouble.service == service
    told = "".join(traceback.format_exception(trouble)) + caplog.text
    for hidden in (KEY, KEY[:8], ASKED, services.url, "Incorrect", "organization", "<html>"):
        assert hidden not in told


def test_a_port_where_nobody_listens_is_unreachable(kind: str, services: ScriptedServices) -> None:
    assert type(failed(made(kind, services.refused_url))) is ServiceUnreachableError


def test_a_service_that_never_answers_is_out_of_time(kind: str, services: ScriptedServices) -> None:
    services.fails(Fault.TIMEOUT, always=True)
    assert type(failed(made(kind, services.url, seconds=0.2))) is ServiceTimeoutError


def test_the_deadline_of_a_question_is_kept(kind: str, services: ScriptedServices) -> None:
    services.fails(Fault.TIMEOUT, always=True)

    async def work(embedder: Embedder) -> Vectors:
        set_deadline(0.2)
        return await embedder.embed_question(ASKED)

    with pytest.raises(ServiceTimeoutError):
        using(made(kind, services.url, seconds=600), work)


@pytest.mark.parametrize("retry_after", [3600, datetime.now(UTC) + timedelta(days=1)], ids=["seconds", "date"])
def test_a_limit_says_when_to_come_back(kind: str, retry_after: float | datetime, services: ScriptedServices) -> None:
    services.fails(Fault.RATE_LIMITED, always=True, retry_after=retry_after)
    wait = failed(made(kind, services.url)).retry_after
    assert wait is not None
    assert wait >= 3600
    assert len(services.requests) == 1


@pytest.mark.parametrize(
    "fault", [Fault.OVERLOADED, Fault.CLOSED, Fault.RATE_LIMITED, Fault.TRUNCATED, Fault.MALFORMED]
)
def test_trouble_that_passes_is_waited_out(kind: str, fault: Fault, services: ScriptedServices) -> None:
    services.fails(fault, times=MAX_ATTEMPTS - 1)
    vector = using(made(kind, services.url), lambda embedder: embedder.embed_question(ASKED))
    assert np.isclose(np.linalg.norm(vector), 1)
    assert len(services.requests) == MAX_ATTEMPTS


@pytest.mark.parametrize("fault", [Fault.UNAUTHORIZED, Fault.NOT_FOUND, Fault.BAD_REQUEST])
def test_trouble_that_does_not_pass_is_not_tried_again(kind: str, fault: Fault, services: ScriptedServices) -> None:
    services.fails(fault, always=True)
    failed(made(kind, services.url))
    assert len(services.requests) == 1


def test_the_service_is_tried_so_often_and_no_more(kind: str, services: ScriptedServices) -> None:
    services.fails(Fault.SERVER_ERROR, always=True)
    failed(made(kind, services.url))
    assert len(services.requests) == MAX_ATTEMPTS


def test_vectors_of_another_dimension_than_before_are_not_taken(kind: str, services: ScriptedServices) -> None:
    async def work(embedder: Embedder) -> None:
        await embedder.embed_question(ASKED)
        services.fails(Fault.WRONG_DIMENSION, always=True)
        with pytest.raises(ServiceResponseError):
            await embedder.embed_question(ASKED)

    using(made(kind, services.url), work)


def test_one_batch_that_fails_ends_the_others(kind: str, services: ScriptedServices) -> None:
    async def work(embedder: Embedder) -> None:
        services.fails(Fault.UNAUTHORIZED)
        services.fails(Fault.TIMEOUT, always=True)
        with pytest.raises(ServiceAuthenticationError):
            await embedder.embed([f"text {i}" for i in range(1000)])
        assert asyncio.all_tasks() == {asyncio.current_task()}

    using(made(kind, services.url, seconds=5), work)
    assert len(services.requests) <= MAX_CONCURRENT_REQUESTS + 1
