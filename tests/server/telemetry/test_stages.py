"""A request knows how long each stage of its question took, also if the question fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.pipelines import with_engine
from tests.server.pipeline_pool import open_pipeline_pool

from bookbound import bootstrap
from bookbound.contracts.request_context import RequestContext, RequestRecord
from bookbound.domain.errors import ServiceTimeoutError
from bookbound.domain.question import AnswerScope, Question
from bookbound.domain.reply import Answer, Refusal, WriterEvent
from bookbound.server.admission import AdmissionController
from bookbound.server.telemetry import OutcomeRecorder
from bookbound.settings import Settings

BOOK = "# Lighthouse\n\n## The fog horn\n\nIn fog the horn sounds for four seconds in every minute.\n"
HORN = "For how many seconds in every minute does the horn sound in fog?"


class FailingWriter:
    """A writer whose service times out."""

    name = "failing"

    async def write(self, *_: object) -> AsyncGenerator[WriterEvent]:
        raise ServiceTimeoutError("late", service="language model")
        yield


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stages")
    (source := folder / "source").mkdir()
    (source / "lighthouse.md").write_text(BOOK, encoding="utf-8")
    bootstrap.index_book(source, Settings(index=folder / "index"))
    return folder / "index"


async def ask(index: Path, question: Question, *, failing: bool = False) -> RequestRecord:
    pipeline = await bootstrap.open_pipeline(Settings(index=index, reader="fast", answer_threshold=0.0))
    if failing:
        pipeline = with_engine(pipeline, model=FailingWriter())
    admission, context = AdmissionController(1, 0), RequestContext()
    async with admission.serve_books(await open_pipeline_pool(pipeline)):
        try:
            await OutcomeRecorder(admission).ask(question, context)
        except ServiceTimeoutError:
            assert failing
    return context.record


def test_every_stage_of_a_question_is_timed_with_its_calls(index: Path) -> None:
    record = asyncio.run(ask(index, Question(HORN)))
    stages = record.clock.stages
    assert set(stages) == {"queue", "embed", "search", "judge", "write", "verify"}
    assert all(timing.seconds >= 0 and timing.ended >= timing.began for timing in stages.values())
    assert stages["embed"].calls == stages["judge"].calls == 1
    assert isinstance(record.reply, Answer | Refusal)
    assert record.reply.trace.stages is stages


def test_a_selection_is_located_and_embedded_to_be_scored(index: Path) -> None:
    stages = asyncio.run(ask(index, Question(HORN, BOOK.splitlines()[-1], AnswerScope.SELECTION))).clock.stages
    assert stages["embed"].calls == 2
    assert stages["search"].calls == 1


@pytest.mark.parametrize("allow_fallback", [True, False])
def test_the_failure_of_a_service_is_recorded_whether_or_not_the_question_is_answered(
    index: Path, allow_fallback: bool
) -> None:
    record = asyncio.run(ask(index, Question(HORN, allow_fallback=allow_fallback), failing=True))
    assert [error.service for error in record.clock.failures] == ["language model"]
    assert record.clock.stages["write"].error == "ServiceTimeoutError"
    assert (record.reply is not None and record.reply.trace.degraded) == allow_fallback
    assert record.outcome.startswith("answered") if allow_fallback else record.outcome == "timed_out"
