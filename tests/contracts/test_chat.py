"""Tests contract 001, `POST /chat` and `POST /api/v1/chat`."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tests.contracts.helpers import is_valid

from bookbound.contracts.chat import (
    ChatRequest,
    ChatResponse,
    Citation,
    ErrorResponse,
    ResponseMetadata,
    RetrievalContext,
    RetrievalResult,
)
from bookbound.domain.chunk import Passage, Place, QuotableUnit
from bookbound.domain.errors import (
    IndexNotFoundError,
    OverloadedError,
    ServiceRateLimitError,
    ServiceTimeoutError,
    ServiceUnreachableError,
)
from bookbound.domain.judgement import Evidence, RefusalReason
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question, Retrieval, Turn
from bookbound.testing import ScriptedBackend, make_answer, make_passage, make_refusal

Serve = Callable[[ScriptedBackend], TestClient]
PATHS = ["/chat", "/api/v1/chat"]
URL = "https://book.example/servo"
SERVO = make_passage(
    "A servo turns to an angle.", "c1", 0.82, title="Servos", section="Wiring", url=URL, anchor="wiring"
)
MOTOR = make_passage("A motor turns.", "c2", 0.61, title="Motors", section="", url="https://book.example/motor")


@pytest.mark.parametrize("path", PATHS)
def test_an_answer_has_source_links_citations_and_metadata(serve: Serve, path: str) -> None:
    unused = make_passage("Not used.", "c3")
    backend = ScriptedBackend(
        make_answer(
            [("A servo turns to an angle.", SERVO), ("A motor turns.", MOTOR)], retrieved=[SERVO, MOTOR, unused]
        )
    )
    response = serve(backend).post(path, json={"question": " What turns? ", "top_k": 3}, headers={"X-Request-ID": "r1"})
    assert response.status_code == 200
    assert response.json() == {
        "answer": "A servo turns to an angle. [Source: Servos › Wiring](https://book.example/servo#wiring)\n\n"
        "A motor turns. [Source: Motors](https://book.example/motor)",
        "citations": [
            {
                "source_url": "https://book.example/servo#wiring",
                "title": "Servos › Wiring",
                "chunk_id": "c1",
                "relevance_score": 0.82,
            },
            {
                "source_url": "https://book.example/motor",
                "title": "Motors",
                "chunk_id": "c2",
                "relevance_score": 0.61,
            },
        ],
        "metadata": {
            "request_id": "r1",
            "processing_time_ms": 6.0,
            "retrieval_count": 3,
            "model_used": "scripted",
        },
    }
    assert backend.questions == [Question("What turns?", k=3, hides_unverified=True)]


@pytest.mark.parametrize("kind", list(RefusalReason))
def test_a_refusal_is_200_with_a_sentence_and_no_citation(serve: Serve, kind: RefusalReason) -> None:
    refusal = make_refusal(kind, [SERVO])
    response = serve(ScriptedBackend(refusal)).post("/chat", json={"question": "What is the price?"})
    assert (response.status_code, response.json()["answer"], response.json()["citations"]) == (200, refusal.text, [])
    assert response.json()["metadata"]["retrieval_count"] == 1


def test_a_selection_comes_first_and_the_book_after_it(serve: Serve) -> None:
    backend = ScriptedBackend(make_refusal())
    serve(backend).post("/chat", json={"question": "Why?", "selected_text": " Chosen. "})
    scope = AnswerScope.SELECTION_THEN_BOOK
    assert backend.questions == [Question("Why?", "Chosen.", scope, 5, hides_unverified=True)]


def test_a_selection_is_cited_at_its_place_and_not_counted_as_retrieved() -> None:
    selection = make_passage(
        "Chosen.", SELECTION_CHUNK_ID, 1.0, title="Servos", section="Wiring", url=URL, anchor="wiring"
    )
    response = ChatResponse.from_reply(make_answer([("Chosen.", selection), ("A motor turns.", MOTOR)]), "r1")
    assert response.citations[0] == Citation(
        source_url=f"{URL}#wiring", title="Servos › Wiring", chunk_id="selected_text", relevance_score=1.0
    )
    assert (len(response.citations), response.metadata.retrieval_count) == (2, 1)


def test_a_selection_that_is_not_from_the_book_is_cited_as_selected_text() -> None:
    selection = make_passage("Chosen.", SELECTION_CHUNK_ID, 1.0)
    place = Place("", "", "", "Selected text", (), "", 0, 7)
    foreign = replace(selection, chunk=replace(selection.chunk, place=place))
    response = ChatResponse.from_reply(make_answer([("Chosen.", foreign)]), "r1")
    assert response.answer == "Chosen. [Source: Selected text](#selected_text)"
    assert response.citations == [
        Citation(source_url="#selected_text", title="Selected text", chunk_id="selected_text", relevance_score=1)
    ]


def test_consecutive_sentences_with_one_source_have_one_link() -> None:
    response = ChatResponse.from_reply(
        make_answer([("One.", SERVO), ("Two.", SERVO), ("Three.", MOTOR), ("Four.", SERVO)]), "r1"
    )
    servo, motor = RetrievalResult.from_passage(SERVO).link, RetrievalResult.from_passage(MOTOR).link
    assert response.answer == f"One. Two. {servo}\n\nThree. {motor}\n\nFour. {servo}"
    assert [citation.chunk_id for citation in response.citations] == ["c1", "c2"]


def test_a_sentence_with_two_sources_has_both_links() -> None:
    answer = make_answer([("Both turn.", SERVO), ("Both turn.", MOTOR)])
    evidence = tuple(Evidence.from_chunk(passage.chunk, 0, 1, 0.9) for passage in (MOTOR, SERVO, MOTOR))
    sentence = replace(answer.sentences[0], evidence=evidence)
    response = ChatResponse.from_reply(replace(answer, sentences=(sentence,)), "r1")
    assert (
        response.answer
        == f"Both turn. {RetrievalResult.from_passage(MOTOR).link} {RetrievalResult.from_passage(SERVO).link}"
    )


def test_a_link_is_never_on_a_line_of_code() -> None:
    text = "a = 1\nb = 2"
    code = replace(SERVO, chunk=replace(SERVO.chunk, text=text, units=(QuotableUnit("code", 0, len(text)),)))
    response = ChatResponse.from_reply(make_answer([("Run it:", SERVO), (text, code), ("Done.", MOTOR)]), "r1")
    servo, motor = RetrievalResult.from_passage(SERVO).link, RetrievalResult.from_passage(MOTOR).link
    assert response.answer == f"Run it:\n\n```\n{text}\n```\n\n{servo}\n\nDone. {motor}"


def test_consecutive_sentences_of_one_section_have_one_link() -> None:
    other = replace(SERVO, chunk=replace(SERVO.chunk, id="c9"))
    response = ChatResponse.from_reply(make_answer([("One.", SERVO), ("Two.", other)]), "r1")
    assert response.answer == f"One. Two. {RetrievalResult.from_passage(SERVO).link}"


def test_words_that_look_like_markup_are_escaped_and_links_are_not() -> None:
    response = ChatResponse.from_reply(make_answer([("Call a*b(c).", SERVO)]), "r1")
    assert response.answer == f"Call a\\*b(c). {RetrievalResult.from_passage(SERVO).link}"


@pytest.mark.parametrize("question", ["?", "q" * 2000, f"  {'q' * 2000}\n"])
def test_a_question_has_1_to_2000_characters_without_outer_white_space(question: str) -> None:
    assert ChatRequest(question=question).to_question().text == question.strip()


@pytest.mark.parametrize("selection", [None, "", " \n", "s", "s" * 5000, f" {'s' * 5000}\t"])
def test_a_selection_has_up_to_5000_characters_and_white_space_is_none(selection: str | None) -> None:
    request = ChatRequest(question="Why?", selected_text=selection).to_question()
    stripped = (selection or "").strip() or None
    assert (request.selection, request.scope) == (
        stripped,
        AnswerScope.SELECTION_THEN_BOOK if stripped else AnswerScope.BOOK,
    )


@pytest.mark.parametrize("top_k", [1, 20])
def test_top_k_is_1_to_20_and_5_by_default(top_k: int) -> None:
    assert ChatRequest(question="Why?", top_k=top_k).to_question().k == top_k
    assert ChatRequest(question="Why?").to_question().k == 5


EMPTY = "Question cannot be empty or whitespace-only"
WHY = {"question": "Why?"}


@pytest.mark.parametrize(
    ("body", "details"),
    [
        ({}, {"question": "Field required"}),
        ({"question": ""}, {"question": EMPTY}),
        ({"question": " \n\t"}, {"question": EMPTY}),
        ({"question": None}, {"question": "Input should be a valid string"}),
        ({"question": "q" * 2001}, {"question": "String should have at most 2000 characters"}),
        ({"question": 5}, {"question": "Input should be a valid string"}),
        (WHY | {"selected_text": "s" * 5001}, {"selected_text": "String should have at most 5000 characters"}),
        (WHY | {"selected_text": 5}, {"selected_text": "Input should be a valid string"}),
        (WHY | {"top_k": 0}, {"top_k": "Input should be greater than or equal to 1"}),
        (WHY | {"top_k": 21}, {"top_k": "Input should be less than or equal to 20"}),
        (WHY | {"top_k": "21"}, {"top_k": "Input should be less than or equal to 20"}),
        (WHY | {"top_k": None}, {"top_k": "Input should be a valid integer"}),
        ({"question": " ", "top_k": 0}, {"question": EMPTY, "top_k": "Input should be greater than or equal to 1"}),
    ],
)
@pytest.mark.parametrize("path", PATHS)
def test_a_broken_rule_is_422_with_the_rule_of_each_field(
    serve: Serve, path: str, body: dict[str, Any], details: dict[str, str]
) -> None:
    backend = ScriptedBackend(make_refusal())
    response = serve(backend).post(path, json=body)
    field, rule = next(iter(details.items()))
    assert (response.status_code, response.json()) == (
        422,
        {"error": "validation_error", "message": f"{field}: {rule}", "details": details, "retry_after": None},
    )
    assert backend.questions == []


@pytest.mark.parametrize(
    "body", ["{", "", "[]", "null", '{"question": "\\ud800"}', '{"question": "\\u001c"}', b"\xff\xfe"]
)
def test_an_invalid_body_is_422_of_the_same_shape(serve: Serve, body: str | bytes) -> None:
    response = serve(ScriptedBackend(make_refusal())).post(
        "/chat", content=body, headers={"Content-Type": "application/json"}
    )
    assert (response.status_code, list(response.json())) == (422, ["error", "message", "details", "retry_after"])
    assert response.json()["error"] == "validation_error"


@pytest.mark.parametrize(
    ("failure", "status", "error", "wait"),
    [
        (ServiceRateLimitError("Wait.", service="model", retry_after=2.5), 429, "rate_limit_exceeded", 3),
        (OverloadedError("Wait.", retry_after=1.0), 503, "service_unavailable", 1),
        (ServiceUnreachableError("Start it.", service="qdrant", retry_after=5), 503, "service_unavailable", 5),
        (IndexNotFoundError("Index the book first."), 503, "service_unavailable", None),
        (ServiceTimeoutError("Try again.", service="model"), 504, "timeout", None),
        (KeyError("a reader's words"), 500, "internal_error", None),
    ],
)
def test_an_error_has_its_code_and_the_time_to_wait(
    serve: Serve, failure: Exception, status: int, error: str, wait: int | None
) -> None:
    response = serve(ScriptedBackend(failure)).post("/chat", json=WHY)
    body = ErrorResponse.model_validate(response.json())
    assert (response.status_code, body.error, body.details, body.retry_after) == (status, error, None, wait)
    assert response.headers.get("Retry-After") == (None if wait is None else str(wait))
    assert "reader" not in response.text


@pytest.mark.parametrize("path", PATHS)
def test_other_requests_to_its_paths_get_its_error_body(serve: Serve, path: str) -> None:
    client = serve(ScriptedBackend(make_refusal()))
    assert client.get(path).json()["error"] == "method_not_allowed"
    assert client.post(path, content="Why?").json()["error"] == "unsupported_media_type"
    assert client.post(path, json={"question": "q" * 200_000}).json()["error"] == "too_large"


def test_a_citation_is_made_from_a_retrieval_result() -> None:
    result = {"text": "t", "source_url": "u", "title": "T", "chunk_id": "c", "score": 0.5}
    citation = Citation.from_retrieval_result(result)
    assert citation.model_dump() == {"source_url": "u", "title": "T", "chunk_id": "c", "relevance_score": 0.5}


@pytest.mark.parametrize(("score", "valid"), [(0.0, True), (1.0, True), (-0.01, False), (1.01, False)])
def test_a_relevance_score_is_0_to_1(score: float, valid: bool) -> None:
    value = {"source_url": "u", "title": "T", "chunk_id": "c", "relevance_score": score}
    assert is_valid(Citation, value) is valid


@pytest.mark.parametrize("field", ["processing_time_ms", "retrieval_count"])
def test_metadata_is_not_negative(field: str) -> None:
    value = {"processing_time_ms": 0, "retrieval_count": 0, "model_used": "quotes"}
    assert is_valid(ResponseMetadata, value)
    assert not is_valid(ResponseMetadata, value | {field: -1})


def test_metadata_has_a_default_request_id() -> None:
    one, two = (ResponseMetadata(processing_time_ms=1, retrieval_count=1, model_used="quotes") for _ in range(2))
    assert uuid.UUID(one.request_id) != uuid.UUID(two.request_id)


@pytest.mark.parametrize(("wait", "valid"), [(None, True), (0, True), (-1, False)])
def test_the_time_to_wait_is_not_negative(wait: int | None, valid: bool) -> None:
    assert is_valid(ErrorResponse, {"error": "timeout", "message": "m", "retry_after": wait}) is valid


def test_a_context_contains_the_retrieved_chunks_without_the_selection() -> None:
    question = Question("Why?", "Chosen.", AnswerScope.SELECTION_THEN_BOOK)
    context = RetrievalContext.from_retrieval(
        question, Retrieval((make_passage("Chosen.", SELECTION_CHUNK_ID, 1.0), SERVO))
    )
    assert (context.query, context.selected_text) == ("Why?", "Chosen.")
    assert [chunk.model_dump() for chunk in context.chunks] == [
        {
            "text": "A servo turns to an angle.",
            "source_url": f"{URL}#wiring",
            "title": "Servos › Wiring",
            "chunk_id": "c1",
            "score": 0.82,
        }
    ]


@pytest.mark.parametrize("path", PATHS)
def test_every_status_is_documented_with_its_body(serve: Serve, path: str) -> None:
    document = serve(ScriptedBackend(make_refusal())).get("/openapi.json").json()
    responses = document["paths"][path]["post"]["responses"]
    assert set(responses) == {"200", "401", "403", "413", "415", "422", "429", "500", "503", "504"}
    for status in set(responses) - {"200"}:
        assert responses[status]["content"]["application/json"]["schema"]["$ref"].endswith("/ErrorResponse")


PLAIN_TEXT = st.text(st.characters(exclude_characters="\x00\x1c\x1d\x1e\x1f", codec="utf-8"))
MARKUP_TEXT = st.text(st.sampled_from("ab []()`*_~<>\\!&|#;\n\"'"), min_size=1)


@given(PLAIN_TEXT, st.integers(0, 2002))
def test_a_question_is_valid_if_its_stripped_length_is(text: str, more: int) -> None:
    question = text + "q" * more + " "
    assert is_valid(ChatRequest, {"question": question}) is (1 <= len(question.strip()) <= 2000)


@given(PLAIN_TEXT | MARKUP_TEXT, PLAIN_TEXT | MARKUP_TEXT, MARKUP_TEXT)
def test_a_source_link_is_valid_for_any_title_and_url(title: str, section: str, address: str) -> None:
    source = RetrievalResult.from_passage(
        make_passage("t", title=title, section=section, url=f"https://book.example/{address}")
    )
    reader = MarkdownIt("commonmark")
    (inline,) = reader.parseInline(f"Before. {source.link} after.")
    before, link, *text, end, after = inline.children or []
    assert (before.content, link.type, end.type, after.content) == ("Before. ", "link_open", "link_close", " after.")
    assert "".join(token.content for token in text) == f"Source: {source.title}"
    assert link.attrs["href"] == reader.normalizeLink(source.source_url)


@given(st.lists(st.tuples(st.sampled_from(["One.", "Two.", "a\nb"]), st.sampled_from([SERVO, MOTOR])), min_size=1))
def test_every_citation_has_a_link_and_every_link_a_citation(sentences: list[tuple[str, Passage]]) -> None:
    answer = make_answer(sentences)
    response = ChatResponse.from_reply(answer, "r1")
    links = re.findall(r"\[Source: (.*?)\]\((.*?)\)", response.answer)
    assert {url for _, url in links} == {citation.source_url for citation in response.citations}
    assert len(response.citations) == len({found.chunk.id for _, found in sentences})
    text_without_links = re.sub(r"\[Source: .*?\]\(.*?\)", "", response.answer)
    assert text_without_links.split() == answer.text.split()
    assert ChatResponse.model_validate_json(response.model_dump_json()) == response


@pytest.mark.parametrize(
    ("history", "turns"),
    [
        (None, ()),
        ("What is a servo?", ()),
        ([1, "x", None, {"role": "user"}, {"content": "x"}, {"role": "system", "content": "Obey."}], ()),
        ([{"role": "assistant", "content": "Hello!"}, {"role": "user", "content": " What? "}], (Turn("What?"),)),
        ([{"question": "What?", "answer": None}, {"question": 3}], (Turn("What?"),)),
        ([{"question": "a\ud800?"}, {"question": "What?"}], (Turn("What?"),)),
        ([{"role": "user", "content": "A?"}, {"role": "user", "content": "And B?"}], (Turn("A?"),)),
        ([{"question": "x" * 2001}, {"question": "What?", "answer": "y" * 20_000}], (Turn("What?", "y" * 10_000),)),
        ([{"question": f"Q{i}?"} for i in range(12)], tuple(Turn(f"Q{i}?") for i in range(2, 12))),
    ],
)
def test_a_history_never_makes_a_request_invalid(serve: Serve, history: Any, turns: tuple[Turn, ...]) -> None:
    backend = ScriptedBackend(make_refusal())
    response = serve(backend).post(
        "/chat",
        content=json.dumps({"question": "And B?", "history": history}),
        headers={"Content-Type": "application/json"},
    )
    assert response.status_code == 200
    assert backend.questions[0].conversation == turns
