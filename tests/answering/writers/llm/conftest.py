from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import strategies as st
from tests.answering.writers.conftest import make_passage

from bookbound.answering.understanding import understand
from bookbound.answering.writers.llm.language_model_writer import LanguageModelWriter
from bookbound.answering.writers.llm.openai_agents import OpenAIAgentsModel
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Judgement
from bookbound.domain.question import Question
from bookbound.domain.reply import AnswerSentence, WriterEvent
from bookbound.testing.scripted_services import ScriptedServices

Result = TypeVar("Result")
KEY, WORDS = "sk-SECRETKEY", "PRIVATEWORDS"
QUESTION = Question(f"What is the reality gap, asks {WORDS}?")
UNDERSTOOD = understand(QUESTION)
JUDGED = Judgement(0.9, ("a",), (), "Good")
APIS = ("chat", "responses")
PASSAGES = [
    make_passage("a", "The reality gap is the difference between the simulator and the real world."),
    make_passage("b", "Domain randomization narrows the reality gap by varying the friction of the simulator."),
    make_passage("c", "A policy that was trained in one simulator alone often fails on the real robot."),
]
GAP, NARROWS = (
    "The reality gap is the difference between simulator and world.",
    "Randomization narrows the reality gap.",
)
DRAFT = "The reality gap is the difference between simulator and world [1]. Randomization narrows the reality gap [2]."
BOTH = [(GAP, "a"), (NARROWS, "b")]


def list_sentences(events: Sequence[WriterEvent]) -> list[tuple[str, str]]:
    """Returns each sentence and the passage that it cites first."""
    sentences = [event for event in events if isinstance(event, AnswerSentence)]
    return [(each.text, each.evidence[0].chunk_id if each.evidence else "") for each in sentences]


@st.composite
def cut(draw: st.DrawFn, text: str) -> list[str]:
    """Cuts a text into random pieces."""
    places = sorted(draw(st.sets(st.integers(0, len(text)), max_size=12)))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


@pytest.fixture
def services(server: ScriptedServices, monkeypatch: pytest.MonkeyPatch) -> ScriptedServices:
    monkeypatch.setattr("bookbound.services.FIRST_RETRY_SECONDS", 0.001)
    server.reset()
    return server


def with_model(
    services: ScriptedServices, use: Callable[[OpenAIAgentsModel], Awaitable[Result]], api: str = "chat", **given: Any
) -> Result:
    async def main() -> Result:
        model = OpenAIAgentsModel("scripted-1", **({"url": services.openai_url, "key": KEY, "api": api} | given))
        try:
            return await use(model)
        finally:
            await model.close()

    return asyncio.run(main())


async def collect(events: AsyncGenerator[WriterEvent]) -> list[WriterEvent]:
    return [event async for event in events]


def run_writer(
    services: ScriptedServices,
    api: str = "chat",
    passages: Sequence[Passage] = PASSAGES,
    judgement: Judgement = JUDGED,
    **given: Any,
) -> list[WriterEvent]:
    return with_model(
        services, lambda model: collect(LanguageModelWriter(model).write(UNDERSTOOD, passages, judgement)), api, **given
    )
