"""That only part of a question is in the book reaches the reader through every face."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest
from fastapi.testclient import TestClient

from bookbound.answering.pipeline import Pipeline
from bookbound.contracts import agent, grounded_agent, serialization
from bookbound.contracts.ask import AskResponse
from bookbound.contracts.chat import ChatResponse
from bookbound.contracts.query import build_response, plan_workflow
from bookbound.contracts.query_models import MAX_ANSWER_CHARS, QueryRequest
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question
from bookbound.domain.reply import (
    MAX_ANSWER_SENTENCES,
    PARTIAL_ANSWER_MESSAGE,
    PARTIAL_SELECTION_ANSWER_MESSAGE,
    Answer,
)
from bookbound.library import Book, EventLoopThread
from bookbound.testing import ScriptedBackend, make_answer, make_passage, make_refusal

Serve = Callable[[ScriptedBackend], TestClient]
BOOK = make_passage("The tower is 9 m high.", score=0.9)


def part(text: str = "The tower is 9 m high.", times: int = 1, chunk_id: str = "c1") -> Answer:
    found = replace(BOOK, chunk=replace(BOOK.chunk, id=chunk_id))
    whole = make_answer([(text, found)] * times)
    return replace(whole, judgement=replace(whole.judgement, partial=True))


def queried(reply: Answer) -> str:
    told = build_response(reply, plan_workflow(QueryRequest(query="How high, and how heavy?")), "r").answer
    assert told
    return told.text


def read(reply: Answer, speak: Callable[[Book], str]) -> str:
    worker = EventLoopThread()
    try:
        return speak(Book(cast(Pipeline, ScriptedBackend(reply)), worker))
    finally:
        worker.close()


def by_agent(book: Book) -> str:
    reply = agent.ask("How high, and how heavy?", book)
    assert isinstance(reply, agent.AgentResponse)
    return reply.answer


def by_grounded_agent(book: Book) -> str:
    return grounded_agent.ask("How high, and how heavy?", book).answer


FREE_TEXT: list[Callable[[Answer], str]] = [
    lambda reply: AskResponse.of(Question("How?"), reply).answer,
    lambda reply: ChatResponse.of(reply, "r").answer,
    queried,
    lambda reply: read(reply, by_agent),
    lambda reply: read(reply, by_grounded_agent),
]


@pytest.mark.parametrize("face", FREE_TEXT)
def test_a_partial_answer_ends_in_the_statement_that_it_is_one(face: Callable[[Answer], str]) -> None:
    told = face(part())
    assert told.startswith("The tower is 9 m high. ")
    assert told.endswith(f" {PARTIAL_ANSWER_MESSAGE}")
    assert told.count(PARTIAL_ANSWER_MESSAGE) == 1


@pytest.mark.parametrize("face", FREE_TEXT)
def test_a_whole_answer_says_nothing_of_parts(face: Callable[[Answer], str]) -> None:
    assert PARTIAL_ANSWER_MESSAGE not in face(make_answer([("The tower is 9 m high.", BOOK)]))


def test_the_statement_takes_no_sixth_sentence() -> None:
    asked = Question("How?")
    assert AskResponse.of(asked, part(times=MAX_ANSWER_SENTENCES - 1)).answer.endswith(PARTIAL_ANSWER_MESSAGE)
    assert PARTIAL_ANSWER_MESSAGE not in AskResponse.of(asked, part(times=MAX_ANSWER_SENTENCES)).answer


@pytest.mark.parametrize("face", [queried, lambda reply: read(reply, by_grounded_agent)])
def test_the_statement_fits_into_2000_characters_with_the_answer(face: Callable[[Answer], str]) -> None:
    told = face(part("word " * 500))
    assert len(told) <= MAX_ANSWER_CHARS == grounded_agent.MAX_ANSWER_LENGTH
    assert told.endswith(PARTIAL_ANSWER_MESSAGE)
    assert len(told) > MAX_ANSWER_CHARS - 20


def test_an_answer_from_a_selection_speaks_of_the_selection() -> None:
    told = AskResponse.of(
        Question("How?", "The tower", AnswerScope.SELECTION), part(chunk_id=SELECTION_CHUNK_ID)
    ).answer
    assert told.endswith(PARTIAL_SELECTION_ANSWER_MESSAGE)


def test_the_canonical_reply_says_whether_it_is_partial_and_leaves_the_answer_as_it_is(serve: Serve) -> None:
    plain = serialization.serialize_reply(part())
    assert (plain["partial"], plain["answer"]) == (True, "The tower is 9 m high.")
    assert serialization.serialize_reply(make_answer([("The tower is 9 m high.", BOOK)]))["partial"] is False
    assert serialization.serialize_reply(make_refusal())["partial"] is False
    told = serve(ScriptedBackend(part())).post("/v1/answers", json={"question": "How high, and how heavy?"}).json()
    assert told["partial"] is True
