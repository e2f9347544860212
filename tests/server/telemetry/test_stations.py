"""What a question takes at each station is known, also where it fails or is broken off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from bookbound import bootstrap
from bookbound.domain.chunk import Passage
from bookbound.domain.errors import ServiceTimeoutError
from bookbound.domain.judgement import Judgement
from bookbound.domain.question import AnswerScope, Question
from bookbound.domain.reply import MissingPart, WriterEvent
from bookbound.server.telemetry import CURRENT_REQUEST, RequestRecord
from bookbound.server.telemetry.instrumentation import TimedWriter, instrument_pipeline
from bookbound.settings import Settings

BOOK = "# Lighthouse\n\n## The fog horn\n\nIn fog the horn sounds for four seconds in every minute.\n"
HORN = "For how many seconds in every minute does the horn sound in fog?"


class Failing:
    """A writer that a service fails."""

    name, reads = "failing", False

    async def write(self, *_: object) -> AsyncGenerator[WriterEvent]:
        raise ServiceTimeoutError("late", service="language model")
        yield


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stations")
    (source := folder / "source").mkdir()
    (source / "lighthouse.md").write_text(BOOK, encoding="utf-8")
    bootstrap.index_book(source, Settings(index=folder / "index"))
    return folder / "index"


def test_every_station_that_a_question_passes_is_known_with_its_calls(index: Path) -> None:
    async def ask(question: Question, *, fail: bool = False) -> tuple[RequestRecord, bool]:
        pipeline = instrument_pipeline(await bootstrap.pipeline(Settings(index=index, answered=0.0)))
        if fail:
            pipeline = replace(pipeline, writer=TimedWriter(Failing()), spare=pipeline.writer)
        CURRENT_REQUEST.set(visit := RequestRecord("POST"))
        reply = await pipeline.ask(question)
        await pipeline.close()
        return visit, reply.trace.degraded

    plain, degraded = asyncio.run(ask(Question(HORN)))
    assert set(plain.stays) == {"embed", "search", "judge", "write", "verify"}
    assert all(stay.seconds >= 0 and stay.ended >= stay.began for stay in plain.stays.values())
    assert plain.stays["embed"].calls == plain.stays["judge"].calls == 1
    assert not degraded
    selected, _ = asyncio.run(ask(Question(HORN, BOOK.splitlines()[-1], AnswerScope.SELECTION)))
    assert "embed" not in selected.stays
    assert "search" in selected.stays
    failed, degraded = asyncio.run(ask(Question(HORN, fall_back=True), fail=True))
    assert [trouble.service for trouble in failed.failures] == ["language model"]
    assert failed.stays["write"].failed == "TimedOut"
    assert degraded


def test_while_a_sentence_is_verified_or_read_its_writer_is_not_at_work() -> None:
    class Slow:
        name, reads = "slow", False

        async def write(
            self, question: Question, passages: Sequence[Passage], judgement: Judgement
        ) -> AsyncGenerator[WriterEvent]:
            for _ in range(3):
                yield MissingPart()

    async def read() -> RequestRecord:
        CURRENT_REQUEST.set(visit := RequestRecord("POST"))
        nothing = Judgement(0.0, (), (), "Poor")
        async with aclosing(TimedWriter(Slow()).write(Question("x"), (), nothing)) as draft:
            async for _ in draft:
                await asyncio.sleep(0.05)
        return visit

    stay = asyncio.run(read()).stays["write"]
    assert stay.calls == 4
    assert stay.seconds < stay.ended - stay.began


def test_without_a_request_nothing_is_kept(index: Path) -> None:
    async def ask() -> None:
        pipeline = instrument_pipeline(await bootstrap.pipeline(Settings(index=index)))
        assert CURRENT_REQUEST.get() is None
        await pipeline.ask(Question(HORN))
        await pipeline.close()

    asyncio.run(ask())
