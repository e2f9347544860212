"""Tests that every contract says if the book answers only part of the question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient
from tests.contracts.helpers import open_scripted_book

from bookbound.contracts import agent, grounded_agent, serialization
from bookbound.contracts.ask import AskResponse
from bookbound.contracts.chat import ChatResponse
from bookbound.contracts.query import build_response, plan_workflow
from bookbound.contracts.query_models import MAX_ANSWER_CHARS, QueryRequest
from bookbound.contracts.request_context import RequestContext
from bookbound.domain.chunk import QuotableUnit, UnitKind
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question
from bookbound.domain.reply import (
    MAX_ANSWER_SENTENCES,
    PARTIAL_ANSWER_MESSAGE,
    PARTIAL_SELECTION_ANSWER_MESSAGE,
    Answer,
)
from bookbound.testing import ScriptedBackend, make_answer, make_passage, make_refusal

Serve = Callable[[ScriptedBackend], TestClient]
PASSAGE = make_passage("The tower is 9 m high.", score=0.9)
QUESTION = "How high, and how heavy?"
Render = Callable[[Answer], str]


def make_partial_answer(text: str = "The tower is 9 m high.", times: int = 1, chunk_id: str = "c1") -> Answer:
    passage = replace(PASSAGE, chunk=replace(PASSAGE.chunk, id=chunk_id))
    answer = make_answer([(text, passage)] * times)
    return replace(answer, judgement=replace(answer.judgement, is_partial=True))


def render_ask(answer: Answer) -> str:
    return AskResponse.from_reply(Question(QUESTION), answer).answer


def render_chat(answer: Answer) -> str:
    return ChatResponse.from_reply(answer, "r").answer


def render_query(answer: Answer) -> str:
    response = build_response(answer, plan_workflow(QueryRequest(query=QUESTION)), RequestContext())
    assert response.answer
    return response.answer.text


def render_agent(answer: Answer) -> str:
    with open_scripted_book(answer) as (book, _):
        response = agent.ask(QUESTION, book)
    assert isinstance(response, agent.AgentResponse)
    return response.answer


def render_grounded_agent(answer: Answer) -> str:
    with open_scripted_book(answer) as (book, _):
        return grounded_agent.ask(QUESTION, book).answer


RENDERERS: list[Render] = [render_ask, render_chat, render_query, render_agent, render_grounded_agent]


@pytest.mark.parametrize("render", RENDERERS)
def test_a_partial_answer_ends_with_the_reservation(render: Render) -> None:
    response = render(make_partial_answer())
    assert response.startswith("The tower is 9 m high. ")
    assert response.endswith(f" {PARTIAL_ANSWER_MESSAGE}")
    assert response.count(PARTIAL_ANSWER_MESSAGE) == 1


@pytest.mark.parametrize("render", RENDERERS)
def test_a_complete_answer_has_no_reservation(render: Render) -> None:
    assert PARTIAL_ANSWER_MESSAGE not in render(make_answer([("The tower is 9 m high.", PASSAGE)]))


def test_the_reservation_is_never_a_sixth_sentence() -> None:
    assert render_ask(make_partial_answer(times=MAX_ANSWER_SENTENCES - 1)).endswith(PARTIAL_ANSWER_MESSAGE)
    assert PARTIAL_ANSWER_MESSAGE not in render_ask(make_partial_answer(times=MAX_ANSWER_SENTENCES))


@pytest.mark.parametrize("render", [render_query, render_grounded_agent])
def test_answer_and_reservation_fit_into_2000_characters(render: Render) -> None:
    response = render(make_partial_answer("word " * 500))
    assert len(response) <= MAX_ANSWER_CHARS == grounded_agent.MAX_ANSWER_LENGTH
    assert response.endswith(PARTIAL_ANSWER_MESSAGE)
    assert len(response) > MAX_ANSWER_CHARS - 20


@pytest.mark.parametrize("render", [render_query, render_grounded_agent])
def test_an_answer_with_words_that_look_like_markup_fits_into_2000_characters(render: Render) -> None:
    response = render(make_partial_answer("a*b " * 600))
    assert len(response) <= MAX_ANSWER_CHARS
    assert response.endswith(PARTIAL_ANSWER_MESSAGE)


@pytest.mark.parametrize("render", [render_query, render_grounded_agent])
def test_code_that_does_not_fit_into_2000_characters_stays_code(render: Render) -> None:
    text = "walk(1)\n" * 300
    chunk = replace(PASSAGE.chunk, text=text, units=(QuotableUnit("code", 0, len(text)),))
    response = render(make_answer([(text, replace(PASSAGE, chunk=chunk))]))
    assert len(response) <= MAX_ANSWER_CHARS
    assert response.startswith("```\nwalk(1)\nwalk(1)\n")
    assert response.endswith("\n```")


@pytest.mark.parametrize("render", RENDERERS)
def test_the_reservation_names_the_missing_parts(render: Render) -> None:
    answer = make_partial_answer()
    answer = replace(answer, judgement=replace(answer.judgement, missing_parts=("How old is it?",)))
    assert render(answer).endswith(f" {PARTIAL_ANSWER_MESSAGE} I found no sure answer to this: How old is it?")


@pytest.mark.parametrize("render", RENDERERS)
@pytest.mark.parametrize("kind", ["sentence", "item"])
def test_a_missing_part_is_never_markup(render: Render, kind: UnitKind) -> None:
    text = "- It is 9 m high."
    chunk = replace(PASSAGE.chunk, text=text, units=(QuotableUnit(kind, 0, len(text)),))
    answer = make_answer([(text, replace(PASSAGE, chunk=chunk))])
    judgement = replace(answer.judgement, is_partial=True, missing_parts=("Is <b>it</b> [old](http://a.org)?",))
    assert render(replace(answer, judgement=judgement)).endswith(r"Is \<b>it\</b> [old\](http://a.org)?")


def test_a_long_missing_part_leaves_room_for_the_answer() -> None:
    answer = make_partial_answer()
    answer = replace(answer, judgement=replace(answer.judgement, missing_parts=("How old is it? " * 130,)))
    response = render_grounded_agent(answer)
    assert response.startswith("The tower is 9 m high.")
    assert len(response) <= MAX_ANSWER_CHARS


def test_the_reservation_for_a_selection_names_the_selection() -> None:
    response = AskResponse.from_reply(
        Question("How?", "The tower", AnswerScope.SELECTION), make_partial_answer(chunk_id=SELECTION_CHUNK_ID)
    ).answer
    assert response.endswith(PARTIAL_SELECTION_ANSWER_MESSAGE)


def test_our_own_api_has_the_reservation_in_its_own_field(serve: Serve) -> None:
    plain = serialization.serialize_reply(make_partial_answer())
    assert (plain["partial"], plain["answer"]) == (True, "The tower is 9 m high.")
    assert serialization.serialize_reply(make_answer([("The tower is 9 m high.", PASSAGE)]))["partial"] is False
    assert serialization.serialize_reply(make_refusal())["partial"] is False
    response = serve(ScriptedBackend(make_partial_answer())).post("/v1/answers", json={"question": QUESTION}).json()
    assert response["partial"] is True
