"""A second provider of language models needs its own file and nothing else: the writers know only the port."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

from tests.answering.writers.conftest import make_passage

from bookbound.answering.understanding import understand
from bookbound.answering.writers.llm.language_model_writer import LanguageModelWriter
from bookbound.answering.writers.llm.searching_agent import LanguageModelAgent
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Judgement
from bookbound.domain.language_model import (
    FinalReply,
    ModelEvent,
    OptionName,
    Prompt,
    RequestOptions,
    SearchTool,
    UnsupportedParameterError,
)
from bookbound.domain.ports import LanguageModel
from bookbound.domain.question import Question, Retrieval
from bookbound.domain.reply import AnswerSentence, WriterEvent
from bookbound.domain.trace import TokenUsage

QUESTION = Question("What is torque?")
UNDERSTOOD = understand(QUESTION)
PASSAGES = [make_passage("a", "Torque is force times arm."), make_passage("b", "It is measured in Nm.")]
JUDGED = Judgement(0.9, ("a",), (), "Good")
REPLY = "Torque is force times arm [1]."


class MemoryModel:
    """A provider without a network: it replies with a scripted text, in pieces or, with a tool, after one search."""

    name = "memory-1"
    temperature = 0.5
    timeout_seconds = 5.0

    def __init__(self, rejected: Sequence[OptionName] = ()) -> None:
        self.requests: list[tuple[bool, RequestOptions]] = []
        self._rejected = list(rejected)

    async def run(
        self, prompt: Prompt, options: RequestOptions, tool: SearchTool | None = None, *, turns: int = 1
    ) -> AsyncGenerator[ModelEvent]:
        self.requests.append((tool is not None, options))
        if self._rejected:
            option = self._rejected.pop()
            raise UnsupportedParameterError(option, option)
        if tool:
            assert set(tool.arguments_schema["properties"]) == {"query", "k"}
            assert "Torque is force times arm." in await tool.run('{"query": "torque", "k": 3}')
        else:
            yield REPLY[:20]
            yield REPLY[20:]
        yield TokenUsage(1, 10, 5)
        yield FinalReply(REPLY)

    async def close(self) -> None: ...


async def search(query: str, k: int) -> tuple[Retrieval, Sequence[str]]:
    found: list[Passage] = PASSAGES[:k]
    return Retrieval(tuple(found)), [passage.chunk.text for passage in found]


def collect(events: AsyncGenerator[WriterEvent]) -> list[WriterEvent]:
    async def main() -> list[WriterEvent]:
        return [event async for event in events]

    return asyncio.run(main())


def check_answer(events: list[WriterEvent]) -> None:
    sentence, usage = events
    assert isinstance(sentence, AnswerSentence)
    assert (sentence.text, sentence.evidence[0].chunk_id) == ("Torque is force times arm.", "a")
    assert usage == TokenUsage(1, 10, 5)


def test_a_writer_answers_with_another_provider() -> None:
    model: LanguageModel = MemoryModel()
    writer = LanguageModelWriter(model)
    assert writer.name == "memory-1"
    check_answer(collect(writer.write(UNDERSTOOD, PASSAGES, JUDGED)))


def test_an_agent_searches_with_another_provider() -> None:
    agent = LanguageModelAgent(MemoryModel())
    assert (agent.name, agent.temperature) == ("memory-1", 0.5)
    check_answer(collect(agent.converse(QUESTION, search)))


def test_what_is_rejected_with_a_tool_is_still_sent_without_one() -> None:
    model = MemoryModel(["temperature"])
    agent, writer = LanguageModelAgent(model), LanguageModelWriter(model)
    for _ in range(2):
        check_answer(collect(agent.converse(QUESTION, search)))
        check_answer(collect(writer.write(UNDERSTOOD, PASSAGES, JUDGED)))
    full, reduced = RequestOptions(0.5), RequestOptions(None)
    assert model.requests == [(True, full), (True, reduced), (False, full), (True, reduced), (False, full)]
