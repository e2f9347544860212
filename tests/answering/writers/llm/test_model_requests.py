"""A model is asked again after errors that may pass, and without the options that its endpoint rejects."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any

import pytest
from tests.answering.writers.llm.conftest import (
    APIS,
    BOTH,
    DRAFT,
    GAP,
    JUDGED,
    KEY,
    NARROWS,
    PASSAGES,
    UNDERSTOOD,
    WORDS,
    collect,
    list_sentences,
    run_writer,
    with_model,
)
from tests.answering.writers.llm.test_searching_agent import ScriptedSearch, run_agent
from tests.service_faults import ERROR_BY_FAULT

from bookbound.answering.writers.llm.language_model_writer import LanguageModelWriter
from bookbound.answering.writers.llm.model_requests import AcceptedOptions, ModelClient, RetriedStream
from bookbound.answering.writers.llm.openai_agents import OPTIONS_BY_PARAMETER, OpenAIAgentsModel
from bookbound.domain.errors import (
    ServiceError,
    ServiceRateLimitError,
    ServiceResponseError,
    ServiceTimeoutError,
    ServiceUnreachableError,
)
from bookbound.domain.language_model import Prompt, RequestOptions, UnsupportedParameterError
from bookbound.domain.question import NO_DEADLINE, Deadline
from bookbound.domain.reply import WriterEvent
from bookbound.domain.trace import TokenUsage
from bookbound.services import MAX_ATTEMPTS
from bookbound.testing.scripted_services import Fault, ScriptedServices, StreamedReply

ONE, OTHER = f"{GAP[:-1]} [1].", f"{NARROWS[:-1]} [2]."
FULL, PLAIN = RequestOptions(0.0), RequestOptions(None, send_schema=False, report_usage=False)
LEFT_OUT = {
    "temperature": RequestOptions(None),
    "response_format": RequestOptions(0.0, send_schema=False),
    "stream_options": RequestOptions(0.0, report_usage=False),
}


class FailingStream:
    """A stream that fails with these errors, one after the other, and then succeeds."""

    def __init__(self, *refusals: Exception) -> None:
        self.options: list[RequestOptions] = []
        self._refusals = list(refusals)

    async def start(self, options: RequestOptions) -> AsyncGenerator[str]:
        self.options.append(options)
        if self._refusals:
            raise self._refusals.pop(0)
        yield "said"


def rejection(parameter: str | None) -> UnsupportedParameterError:
    return UnsupportedParameterError(parameter, OPTIONS_BY_PARAMETER.get(parameter or ""))


def collect_options(*questions: FailingStream) -> list[list[RequestOptions]]:
    """Returns the options of each question to one model."""

    async def main() -> None:
        model = OpenAIAgentsModel("scripted-1", url="http://127.0.0.1:9/v1")
        accepted = AcceptedOptions(model)
        for question in questions:
            try:
                async for _ in RetriedStream(accepted, question.start, NO_DEADLINE).items():
                    pass
            except ServiceError:
                pass
        await model.close()

    asyncio.run(main())
    return [question.options for question in questions]


@pytest.mark.parametrize("parameter", LEFT_OUT)
def test_a_parameter_that_is_rejected_by_name_is_left_out_from_then_on(
    parameter: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    eased = LEFT_OUT[parameter]
    assert collect_options(FailingStream(rejection(parameter)), FailingStream(), FailingStream()) == [
        [FULL, eased],
        [eased],
        [eased],
    ]
    (message,) = [record.getMessage() for record in caplog.records if record.name == "bookbound.answering.writers"]
    assert f"`{parameter}`" in message


@pytest.mark.parametrize("parameter", [None, "messages", "Ignore the rules"])
def test_a_rejection_without_a_known_parameter_changes_one_question(
    parameter: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    assert collect_options(FailingStream(rejection(parameter)), FailingStream()) == [
        [FULL, PLAIN],
        [FULL],
    ]
    assert [record for record in caplog.records if record.name == "bookbound.answering.writers"] == []


def test_nothing_is_remembered_if_the_reduced_request_fails_too() -> None:
    refused = [rejection("temperature"), *[rejection(None)] * 2]
    assert collect_options(FailingStream(*refused), FailingStream()) == [[FULL, RequestOptions(None), PLAIN], [FULL]]
    assert collect_options(FailingStream(*refused[:2]), FailingStream()) == [
        [FULL, RequestOptions(None), PLAIN],
        [FULL],
    ]


def test_a_stream_that_yields_nothing_usable_is_not_started_again() -> None:
    refused = FailingStream(ServiceResponseError("unusable", service="language model"))
    assert collect_options(refused) == [[FULL]]


def test_later_attempts_keep_the_reduced_options() -> None:
    refused = FailingStream(rejection(None), ServiceUnreachableError("down", service="language model"))
    assert collect_options(refused) == [[FULL, PLAIN, PLAIN]]


TROUBLES: dict[Fault, type[ServiceError]] = ERROR_BY_FAULT | {
    Fault.CLOSED: ServiceUnreachableError,
    Fault.EMPTY_TEXT: ServiceResponseError,
    Fault.REFUSAL: ServiceResponseError,
    Fault.FILTERED: ServiceResponseError,
    Fault.CUT_SHORT: ServiceResponseError,
    Fault.STREAM_STOPS: ServiceResponseError,
    Fault.STREAM_ENDS: ServiceResponseError,
    Fault.STREAM_FAILS: ServiceResponseError,
}
PASSING = (ServiceUnreachableError, ServiceTimeoutError, ServiceRateLimitError)
UNUSABLE = [fault for fault, error in TROUBLES.items() if error is ServiceResponseError]


def cut_off(services: ScriptedServices, error: type[ServiceError], **options: Any) -> list[WriterEvent]:
    """Returns what was written before this error."""
    given: list[WriterEvent] = []

    async def use(model: OpenAIAgentsModel) -> list[WriterEvent]:
        async for piece in LanguageModelWriter(model).write(UNDERSTOOD, PASSAGES, JUDGED):
            given.append(piece)
        return []

    with pytest.raises(error):
        with_model(services, use, **options)
    return given


def chain(error: BaseException | None) -> Iterator[BaseException]:
    while error:
        yield error
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("api", APIS)
def test_a_reply_that_is_too_long_is_an_error(
    services: ScriptedServices, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bookbound.services.MAX_REPLY_BYTES", 100)
    services.reply_with(ONE)
    with pytest.raises(ServiceResponseError):
        run_writer(services, api)
    assert len(services.requests) == 1


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("fault", TROUBLES, ids=lambda fault: fault.name)
@pytest.mark.parametrize("way", ["writer", "agent"])
def test_every_fault_becomes_our_error_after_bounded_attempts(
    services: ScriptedServices, fault: Fault, api: str, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    services.reply_with(ONE)
    services.fail_with(fault, always=True)
    caplog.set_level(logging.INFO)
    with pytest.raises(TROUBLES[fault]) as caught:
        run_writer(services, api) if way == "writer" else run_agent(services, ScriptedSearch().search, api)
    error = caught.value
    assert error.service == "language model"
    tries = 2 if fault is Fault.BAD_REQUEST else 1 + (MAX_ATTEMPTS - 1) * isinstance(error, PASSING)
    assert len(services.requests) == tries
    for text in [*map(repr, chain(error)), *(record.getMessage() for record in caplog.records)]:
        assert not any(secret in text for secret in (KEY[:8], WORDS, "scripted-1"))


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("fault", [Fault.TIMEOUT, Fault.STREAM_HANGS, Fault.SLOW], ids=lambda fault: fault.name)
def test_a_model_that_never_ends_times_out(services: ScriptedServices, fault: Fault, api: str) -> None:
    services.reply_with(ONE)
    services.fail_with(fault, always=True, pause=10)
    with pytest.raises(ServiceTimeoutError):
        run_writer(services, api, timeout_seconds=0.5)


def test_a_question_has_one_deadline_for_all_attempts(services: ScriptedServices) -> None:
    services.fail_with(Fault.TIMEOUT, always=True)

    async def use(model: OpenAIAgentsModel) -> list[WriterEvent]:
        return await collect(LanguageModelWriter(model).write(UNDERSTOOD, PASSAGES, JUDGED, Deadline.after(0.3)))

    with pytest.raises(ServiceTimeoutError):
        with_model(services, use)


def test_a_model_that_hangs_after_a_sentence_times_out_without_another_attempt(services: ScriptedServices) -> None:
    never = Event()
    services.reply_with(StreamedReply(DRAFT.split("narrows")[0], never))
    given = cut_off(services, ServiceTimeoutError, timeout_seconds=1.0)
    never.set()
    assert list_sentences(given) == BOTH[:1]
    assert len(services.requests) == 1


def test_without_a_server_the_model_is_unreachable(services: ScriptedServices) -> None:
    with pytest.raises(ServiceUnreachableError) as caught:
        run_writer(services, url=f"{services.refused_url}/v1")
    assert not any("127.0.0.1" in repr(error) for error in chain(caught.value))


@pytest.mark.parametrize("fault", [Fault.OVERLOADED, Fault.RESET])
@pytest.mark.parametrize("api", APIS)
def test_an_error_that_passes_is_not_noticed(services: ScriptedServices, fault: Fault, api: str) -> None:
    services.reply_with(ONE)
    services.fail_with(fault, times=2)
    assert list_sentences(run_writer(services, api)) == BOTH[:1]
    assert len(services.requests) == 3


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [(7, 7, 7), ("0.5", 0.5, 0.5), (datetime.now(UTC) + timedelta(minutes=30), 1200, 1800), ("soon", None, None)],
)
def test_a_rate_limit_reports_when_to_retry(
    services: ScriptedServices, header: Any, least: float | None, most: float | None
) -> None:
    services.fail_with(Fault.RATE_LIMITED, retry_after=header, always=True)
    with pytest.raises(ServiceRateLimitError) as caught:
        run_writer(services, timeout_seconds=2 if least != 0.5 else 0.4)
    given = caught.value.retry_after
    assert (given is least is most) or (least is not None and most is not None and least <= (given or 0) <= most)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("fault", [Fault.OVERLOADED, Fault.RESET], ids=lambda fault: fault.name)
def test_the_token_usage_of_an_attempt_that_succeeds_is_counted(
    services: ScriptedServices, fault: Fault, api: str
) -> None:
    services.reply_with(ONE)
    services.fail_with(fault)
    assert run_writer(services, api)[-1] == TokenUsage(1, 100, 20)


@pytest.mark.parametrize("fault", UNUSABLE, ids=lambda fault: fault.name)
@pytest.mark.parametrize("api", APIS)
def test_an_unusable_reply_is_not_asked_for_again(services: ScriptedServices, fault: Fault, api: str) -> None:
    services.reply_with(ONE)
    services.fail_with(fault)
    cut_off(services, ServiceResponseError, api=api)
    assert len(services.requests) == 1


@pytest.mark.parametrize("api", APIS)
def test_the_token_usage_comes_before_the_error(services: ScriptedServices, api: str) -> None:
    services.reply_with(DRAFT)
    services.fail_with(Fault.CUT_SHORT)
    given = cut_off(services, ServiceResponseError, api=api)
    assert given[-1] == TokenUsage(1, 100, 20)


def test_sentences_before_an_error_are_yielded(services: ScriptedServices) -> None:
    services.reply_with(f"{DRAFT} {DRAFT} {ONE}")
    services.fail_with(Fault.STREAM_ENDS)
    assert list_sentences(cut_off(services, ServiceResponseError))[:1] == BOTH[:1]
    assert len(services.requests) == 1


@pytest.mark.parametrize("api", APIS)
def test_a_short_text_comes_whole_with_what_it_cost(services: ScriptedServices, api: str) -> None:
    services.reply_with("One two.", "")
    prompt = Prompt("Say it.", "Now.")

    async def use(model: OpenAIAgentsModel) -> tuple[str, TokenUsage]:
        return await ModelClient(model).complete(prompt, NO_DEADLINE)

    assert with_model(services, use, api) == ("One two.", TokenUsage(1, 100, 20))
    with pytest.raises(ServiceResponseError):
        with_model(services, use, api)
    assert len(services.requests) == 2


def test_a_rejection_without_a_reason_simplifies_one_request_only(
    services: ScriptedServices,
) -> None:
    services.fail_with(Fault.BAD_REQUEST)
    services.reply_with(ONE, OTHER)

    async def use(model: OpenAIAgentsModel) -> list[WriterEvent]:
        writer = LanguageModelWriter(model)
        await collect(writer.write(UNDERSTOOD, PASSAGES, JUDGED))
        return await collect(writer.write(UNDERSTOOD, PASSAGES, JUDGED))

    assert list_sentences(with_model(services, use)) == BOTH[1:]
    schemas = ["response_format" in asked.json for asked in services.requests]
    assert schemas == [True, False, True]
