"""That only part of a question is in the book reaches the reader through every face."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest
from fastapi.testclient import TestClient

from bookbound.ask import Pipeline
from bookbound.dialogue import MOST_SENTENCES, ONLY_PART, ONLY_PART_SELECTED, SELECTION_ID, Answer, Question, Scope
from bookbound.faces import agent, canonical, grounded_agent
from bookbound.faces.ask import AskResponse
from bookbound.faces.chat import ChatResponse
from bookbound.faces.query import plan, response
from bookbound.faces.query_entities import LONGEST_ANSWER, QueryRequest
from bookbound.library import Book, Worker
from bookbound.testing import ScriptedDesk, answer, passage, refusal

Serve = Callable[[ScriptedDesk], TestClient]
BOOK = passage("The tower is 9 m high.", score=0.9)


def part(text: str = "The tower is 9 m high.", times: int = 1, chunk_id: str = "c1") -> Answer:
    found = replace(BOOK, chunk=replace(BOOK.chunk, id=chunk_id))
    whole = answer([(text, found)] * times)
    return replace(whole, judgement=replace(whole.judgement, partial=True))


def queried(reply: Answer) -> str:
    told = response(reply, plan(QueryRequest(query="How high, and how heavy?")), "r").answer
    assert told
    return told.text


def read(reply: Answer, speak: Callable[[Book], str]) -> str:
    worker = Worker()
    try:
        return speak(Book(cast(Pipeline, ScriptedDesk(reply)), worker))
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
    assert told.endswith(f" {ONLY_PART}")
    assert told.count(ONLY_PART) == 1


@pytest.mark.parametrize("face", FREE_TEXT)
def test_a_whole_answer_says_nothing_of_parts(face: Callable[[Answer], str]) -> None:
    assert ONLY_PART not in face(answer([("The tower is 9 m high.", BOOK)]))


def test_the_statement_takes_no_sixth_sentence() -> None:
    asked = Question("How?")
    assert AskResponse.of(asked, part(times=MOST_SENTENCES - 1)).answer.endswith(ONLY_PART)
    assert ONLY_PART not in AskResponse.of(asked, part(times=MOST_SENTENCES)).answer


@pytest.mark.parametrize("face", [queried, lambda reply: read(reply, by_grounded_agent)])
def test_the_statement_fits_into_2000_characters_with_the_answer(face: Callable[[Answer], str]) -> None:
    told = face(part("word " * 500))
    assert len(told) <= LONGEST_ANSWER == grounded_agent.MAX_ANSWER_LENGTH
    assert told.endswith(ONLY_PART)
    assert len(told) > LONGEST_ANSWER - 20


def test_an_answer_from_a_selection_speaks_of_the_selection() -> None:
    told = AskResponse.of(Question("How?", "The tower", Scope.SELECTION), part(chunk_id=SELECTION_ID)).answer
    assert told.endswith(ONLY_PART_SELECTED)


def test_the_canonical_reply_says_whether_it_is_partial_and_leaves_the_answer_as_it_is(serve: Serve) -> None:
    plain = canonical.reply(part())
    assert (plain["partial"], plain["answer"]) == (True, "The tower is 9 m high.")
    assert canonical.reply(answer([("The tower is 9 m high.", BOOK)]))["partial"] is False
    assert canonical.reply(refusal())["partial"] is False
    told = serve(ScriptedDesk(part())).post("/v1/answers", json={"question": "How high, and how heavy?"}).json()
    assert told["partial"] is True
