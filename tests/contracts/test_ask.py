"""Tests contract 000, `POST /ask`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.contracts.helpers import is_valid

from bookbound.contracts.ask import (
    AgentContext,
    AskRequest,
    AskResponse,
    ChunkReference,
    ValidationResult,
    build_error_body,
)
from bookbound.contracts.http_contract import problem_from_validation_errors
from bookbound.contracts.request_context import RequestContext
from bookbound.domain.chunk import Passage
from bookbound.domain.errors import (
    IndexNotFoundError,
    ServiceRateLimitError,
    ServiceTimeoutError,
    ServiceUnreachableError,
)
from bookbound.domain.judgement import Evidence, Judgement, RefusalReason, SupportLabel
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question
from bookbound.domain.reply import Answer
from bookbound.testing import ScriptedBackend, make_answer, make_passage, make_refusal

Serve = Callable[[ScriptedBackend], TestClient]
REFUSAL_TEXT = "This information is not available in the book."
SELECTED = "The author describes the process of photosynthesis in detail..."


def make_chapter_3_passage(text: str, chunk_id: str, page: int, section: str) -> Passage:
    return make_passage(text, chunk_id, chapter="Chapter 3", section=section, page=page)


def make_one_sentence_answer(text: str, *passages: Passage) -> Answer:
    """An answer of one sentence that cites several passages."""
    answer = make_answer([(text, passage) for passage in passages])
    evidence = tuple(Evidence.from_chunk(passage.chunk, 0, 1, 0.9) for passage in passages)
    return replace(answer, sentences=(replace(answer.sentences[0], evidence=evidence),))


def test_a_question_to_the_book_is_answered_as_in_the_contract(serve: Serve) -> None:
    rising = make_chapter_3_passage(
        "The protagonist faces significant challenges in Chapter 3...", "chunk_123", 45, "Rising Action"
    )
    climax = make_chapter_3_passage(
        "Despite setbacks, the character demonstrates remarkable resilience...", "chunk_124", 47, "Climax"
    )
    text = "Chapter 3 explores the theme of resilience through the protagonist's journey of overcoming adversity."
    backend = ScriptedBackend(make_one_sentence_answer(text, rising, climax))
    body = {"question": "What is the main theme of Chapter 3?", "selected_text": None}
    response = serve(backend).post("/ask", json=body)
    assert response.status_code == 200
    assert response.json() == {
        "answer": text,
        "sources": ["chunk_123", "chunk_124"],
        "matched_chunks": [
            {
                "chunk_id": "chunk_123",
                "text": "The protagonist faces significant challenges in Chapter 3...",
                "page": 45,
                "chapter": "Chapter 3",
                "section": "Rising Action",
            },
            {
                "chunk_id": "chunk_124",
                "text": "Despite setbacks, the character demonstrates remarkable resilience...",
                "page": 47,
                "chapter": "Chapter 3",
                "section": "Climax",
            },
        ],
        "grounded": True,
        "retrieval_quality": "Good",
    }
    (asked,) = backend.questions
    assert (asked.text, asked.selection, asked.scope) == (body["question"], None, AnswerScope.BOOK)


def test_a_question_to_a_selection_is_answered_as_in_the_contract(serve: Serve) -> None:
    text = (
        "This passage describes photosynthesis as the process by which plants convert light energy "
        "into chemical energy."
    )
    backend = ScriptedBackend(make_answer([(text, make_passage(SELECTED, SELECTION_CHUNK_ID, 1.0, page=3))]))
    response = serve(backend).post("/ask", json={"question": "Explain this passage", "selected_text": SELECTED})
    assert response.json() == {
        "answer": text,
        "sources": ["selected_text"],
        "matched_chunks": [
            {"chunk_id": "selected_text", "text": SELECTED, "page": None, "chapter": None, "section": None}
        ],
        "grounded": True,
        "retrieval_quality": None,
    }
    (asked,) = backend.questions
    assert (asked.text, asked.selection, asked.scope) == ("Explain this passage", SELECTED, AnswerScope.SELECTION)


def test_a_language_model_writes_at_most_five_sentences_and_all_are_verified() -> None:
    asked = AskRequest(question="Why?").to_question()
    assert (asked.max_sentences, asked.hides_unverified) == (5, True)


def test_a_question_that_the_book_does_not_answer_is_refused_as_in_the_contract(serve: Serve) -> None:
    response = serve(ScriptedBackend(make_refusal())).post("/ask", json={"question": "What is the price?"})
    assert response.status_code == 200
    assert response.json() == {
        "answer": REFUSAL_TEXT,
        "sources": [],
        "matched_chunks": [],
        "grounded": False,
        "retrieval_quality": "Poor",
    }


@pytest.mark.parametrize("kind", list(RefusalReason))
def test_a_selection_is_refused_with_the_same_sentence_and_no_quality(serve: Serve, kind: RefusalReason) -> None:
    response = serve(ScriptedBackend(make_refusal(kind))).post(
        "/ask", json={"question": "Why?", "selected_text": SELECTED}
    )
    assert (response.json()["answer"], response.json()["grounded"]) == (REFUSAL_TEXT, False)
    assert response.json()["retrieval_quality"] is None


def test_a_refusal_has_the_retrieval_quality_of_the_judgement(serve: Serve) -> None:
    refusal = make_refusal(RefusalReason.INSUFFICIENT_GROUNDING)
    partial = replace(refusal, judgement=replace(refusal.judgement, quality="Partial"))
    response = serve(ScriptedBackend(partial)).post("/ask", json={"question": "Why?"})
    assert response.json()["retrieval_quality"] == "Partial"


def test_a_chunk_has_the_fields_of_the_contract() -> None:
    text = "The scientific method involves observation, hypothesis formation, experimentation, and analysis."
    found = make_passage(text, "chunk_456", chapter="Chapter 5: Scientific Inquiry", section="Methodology", page=78)
    assert ChunkReference.from_passage(found).model_dump() == {
        "chunk_id": "chunk_456",
        "text": text,
        "page": 78,
        "chapter": "Chapter 5: Scientific Inquiry",
        "section": "Methodology",
    }


def test_an_answer_with_an_unverified_sentence_is_not_grounded() -> None:
    answer = make_answer([("One.", make_passage("One.")), ("Two.", make_passage("Two.", "chunk_2"))])
    first, second = answer.sentences
    for label, grounded in ((SupportLabel.UNVERIFIED, False), (SupportLabel.SUPPORTED, True)):
        reply = replace(answer, sentences=(first, replace(second, label=label)))
        assert AskResponse.from_reply(Question("Why?"), reply).grounded is grounded


def test_only_chunks_that_the_answer_used_are_sources() -> None:
    used, other = make_passage("Used.", "used"), make_passage("Other.", "other")
    response = AskResponse.from_reply(Question("Why?"), make_answer([("Used.", used)], retrieved=[other, used]))
    assert response.sources == [chunk.chunk_id for chunk in response.matched_chunks] == ["used"]


@pytest.mark.parametrize("question", ["?", "q" * 1000, f"  {'q' * 1000}\n"])
def test_a_question_has_1_to_1000_characters_without_outer_white_space(question: str) -> None:
    assert AskRequest(question=question).to_question().text == question.strip()


@pytest.mark.parametrize("selection", [None, "", " \n", "s", "s" * 10000, f" {'s' * 10000}\t"])
def test_a_selection_has_up_to_10000_characters_and_white_space_is_none(selection: str | None) -> None:
    stripped = (selection or "").strip() or None
    request = AskRequest(question="Why?", selected_text=selection).to_question()
    assert (request.selection, request.scope) == (stripped, AnswerScope.SELECTION if stripped else AnswerScope.BOOK)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "question"),
        ({"question": None}, "question"),
        ({"question": ""}, "question"),
        ({"question": " \n\t"}, "question"),
        ({"question": "q" * 1001}, "question"),
        ({"question": 5}, "question"),
        ({"question": True}, "question"),
        ({"question": ["Why?"]}, "question"),
        ({"question": "Why?", "selected_text": "s" * 10001}, "selected_text"),
        ({"question": "Why?", "selected_text": 5}, "selected_text"),
        ({"question": "Why?", "selected_text": {}}, "selected_text"),
    ],
)
def test_a_broken_rule_is_400_with_error_and_detail(serve: Serve, body: dict[str, Any], field: str) -> None:
    backend = ScriptedBackend(make_refusal())
    response = serve(backend).post("/ask", json=body)
    assert (response.status_code, list(response.json())) == (400, ["error", "detail"])
    assert response.json()["error"] == "invalid_input"
    assert response.json()["detail"].startswith(f"{field}: ")
    assert backend.questions == []


@pytest.mark.parametrize(
    "body", ["{", "", "[]", '"Why?"', "null", '{"question": "\\ud800"}', '{"question": "\\u001c"}', b"\xff\xfe"]
)
def test_an_invalid_body_is_400_with_error_and_detail(serve: Serve, body: str | bytes) -> None:
    response = serve(ScriptedBackend(make_refusal())).post(
        "/ask", content=body, headers={"Content-Type": "application/json"}
    )
    assert (response.status_code, list(response.json())) == (400, ["error", "detail"])
    assert all(response.json().values())


def test_every_broken_rule_is_named_and_no_text_of_the_reader() -> None:
    with pytest.raises(ValidationError) as broken:
        AskRequest.model_validate({"question": "secret " * 200, "selected_text": "secret " * 2000})
    problem = problem_from_validation_errors([dict(error) for error in broken.value.errors()], 400)
    error = build_error_body(problem, RequestContext())
    assert error.detail.count(": ") == 2
    assert "secret" not in error.detail


def test_unknown_fields_are_ignored(serve: Serve) -> None:
    backend = ScriptedBackend(make_refusal())
    assert serve(backend).post("/ask", json={"question": "Why?", "top_k": "many"}).status_code == 200


@pytest.mark.parametrize(
    ("failure", "status", "error"),
    [
        (ServiceRateLimitError("Wait.", service="model", retry_after=2.5), 429, "limit_reached"),
        (ServiceUnreachableError("Start it.", service="qdrant"), 503, "unreachable"),
        (IndexNotFoundError("Index the book first."), 503, "index_unavailable"),
        (ServiceTimeoutError("Try again.", service="model"), 504, "timed_out"),
        (KeyError("a reader's words"), 500, "internal_error"),
    ],
)
def test_an_error_has_error_and_detail(serve: Serve, failure: Exception, status: int, error: str) -> None:
    response = serve(ScriptedBackend(failure)).post("/ask", json={"question": "Why?"})
    assert (response.status_code, list(response.json()), response.json()["error"]) == (
        status,
        ["error", "detail"],
        error,
    )
    assert "reader" not in response.text
    assert response.headers.get("Retry-After") == ("3" if status == 429 else None)


@pytest.mark.parametrize(("length", "shown_length"), [(1, 1), (1999, 1999), (2000, 2000), (2001, 2000), (9000, 2000)])
def test_a_text_over_2000_characters_is_truncated_and_ends_in_dots(length: int, shown_length: int) -> None:
    text = ChunkReference(chunk_id="c", text="t" * length).text
    assert len(text) == shown_length
    assert text.endswith("t..." if length > 2000 else "t")
    assert text.rstrip(".") == "t" * (1997 if length > 2000 else length)


@pytest.mark.parametrize(("page", "valid"), [(None, True), (1, True), (0, False), (-1, False)])
def test_a_page_is_positive(page: int | None, valid: bool) -> None:
    assert is_valid(ChunkReference, {"chunk_id": "c", "text": "t", "page": page}) is valid


@pytest.mark.parametrize("field", ["chunk_id", "text"])
def test_a_chunk_has_an_id_and_a_text(field: str) -> None:
    assert is_valid(ChunkReference, {"chunk_id": "c", "text": "t"})
    assert not is_valid(ChunkReference, {"chunk_id": "c", "text": "t", field: ""})


def test_missing_names_of_a_place_are_null() -> None:
    chunk = ChunkReference.from_passage(make_passage("t", chapter="", title="", section=""))
    assert (chunk.page, chunk.chapter, chunk.section) == (None, None, None)


GOOD = {
    "answer": "Yes.",
    "sources": ["a"],
    "matched_chunks": [{"chunk_id": "a", "text": "t"}],
    "grounded": True,
    "retrieval_quality": "Good",
}
REFUSED = {"answer": REFUSAL_TEXT, "sources": [], "matched_chunks": [], "grounded": False, "retrieval_quality": "Poor"}


@pytest.mark.parametrize(
    ("value", "valid"),
    [
        (GOOD, True),
        (GOOD | {"retrieval_quality": None}, True),
        (GOOD | {"retrieval_quality": "Fair"}, False),
        (GOOD | {"answer": ""}, False),
        (GOOD | {"sources": [], "matched_chunks": []}, False),
        (GOOD | {"sources": ["a", "b"]}, False),
        (GOOD | {"sources": ["b"]}, False),
        (GOOD | {"matched_chunks": []}, False),
        (
            GOOD | {"sources": [SELECTION_CHUNK_ID], "matched_chunks": [{"chunk_id": SELECTION_CHUNK_ID, "text": "t"}]},
            False,
        ),
        (REFUSED, True),
        (REFUSED | {"grounded": True}, False),
        (REFUSED | {"answer": "No."}, False),
    ],
)
def test_a_response_names_its_sources_or_is_the_refusal(value: dict[str, Any], valid: bool) -> None:
    assert is_valid(AskResponse, value) is valid


def test_a_validation_result_contains_the_judgement() -> None:
    found = make_passage("First words.", "c1")
    judgement = Judgement(0.7, ("c1",), (Evidence.from_chunk(found.chunk, 0, 5, 0.9),), "Partial")
    assert ValidationResult.from_judgement(judgement).model_dump() == {
        "relevant_chunks": ["c1"],
        "answer_present": True,
        "evidence": ["First"],
        "retrieval_quality": "Partial",
    }


def test_the_context_of_a_question_contains_every_passage_and_the_validation_result() -> None:
    found = [make_passage("One.", "c1", page=4), make_passage("Two.", "c2")]
    judgement = Judgement(0.7, ("c1",), (), "Partial")
    context = AgentContext.from_passages(Question("Why?"), found, judgement)
    assert context.context_type == "retrieval"
    assert context.context_text == "[c1] Chapter 1 > Section 1\nOne.\n\n[c2] Chapter 1 > Section 1\nTwo."
    assert context.validation_result == ValidationResult.from_judgement(judgement)
    assert context.source_metadata[0] == {"chunk_id": "c1", "page": 4, "chapter": "Chapter 1", "section": "Section 1"}


def test_the_context_of_a_selection_is_the_selection() -> None:
    question = Question("Why?", "Selected.", AnswerScope.SELECTION)
    selection = make_passage("Selected.", SELECTION_CHUNK_ID, 1.0)
    context = AgentContext.from_passages(question, [selection], Judgement(0.7, (), (), "Partial"))
    assert context.model_dump() == {
        "context_text": "Selected.",
        "context_type": "selected_text",
        "validation_result": None,
        "source_metadata": [{"chunk_id": "selected_text", "page": None, "chapter": None, "section": None}],
    }


FOUND = {"relevant_chunks": [], "answer_present": True, "evidence": [], "retrieval_quality": "Good"}
CONTEXT = {
    "context_text": "t",
    "context_type": "retrieval",
    "validation_result": FOUND,
    "source_metadata": [{"chunk_id": "a"}, {"chunk_id": "b"}],
}
SELECTION = {
    "context_text": "t",
    "context_type": "selected_text",
    "validation_result": None,
    "source_metadata": [{"chunk_id": SELECTION_CHUNK_ID}],
}


@pytest.mark.parametrize(
    ("value", "valid"),
    [
        (CONTEXT, True),
        (CONTEXT | {"context_text": ""}, False),
        (CONTEXT | {"context_text": " \n"}, False),
        (CONTEXT | {"validation_result": None}, False),
        (CONTEXT | {"source_metadata": []}, False),
        (CONTEXT | {"source_metadata": [{"page": 1}]}, False),
        (CONTEXT | {"source_metadata": [{"chunk_id": SELECTION_CHUNK_ID}]}, False),
        (CONTEXT | {"source_metadata": [{"chunk_id": "a"}, {"chunk_id": SELECTION_CHUNK_ID}]}, False),
        (CONTEXT | {"context_type": "web"}, False),
        (SELECTION, True),
        (SELECTION | {"validation_result": FOUND}, False),
        (SELECTION | {"source_metadata": [{"chunk_id": "a"}]}, False),
        (SELECTION | {"source_metadata": [{"chunk_id": SELECTION_CHUNK_ID}] * 2}, False),
        (SELECTION | {"source_metadata": []}, False),
    ],
)
def test_a_context_has_text_and_sources_of_its_type(value: dict[str, Any], valid: bool) -> None:
    assert is_valid(AgentContext, value) is valid


def test_every_status_is_documented_with_its_body(serve: Serve) -> None:
    document = serve(ScriptedBackend(make_refusal())).get("/openapi.json").json()
    responses = document["paths"]["/ask"]["post"]["responses"]
    for status in ("400", "413", "415", "429", "500", "503", "504"):
        assert responses[status]["content"]["application/json"]["schema"]["$ref"].endswith("/AskError")
    assert responses["200"]["content"]["application/json"]["schema"]["$ref"].endswith("/AskResponse")


# Python strips four separators that Unicode does not count as white space; a question of them alone is tested above.
@given(st.text(st.characters(exclude_characters="\x1c\x1d\x1e\x1f", codec="utf-8")), st.integers(0, 1002))
def test_a_question_is_valid_if_its_stripped_length_is(text: str, more: int) -> None:
    question = text + "q" * more + " "
    assert is_valid(AskRequest, {"question": question}) is (1 <= len(question.strip()) <= 1000)


@given(
    st.lists(
        st.builds(make_passage, st.text(min_size=1, max_size=2500), st.text(min_size=1, max_size=9), st.floats(0, 1)),
        min_size=1,
        max_size=5,
        unique_by=lambda found: found.chunk.id,
    )
)
def test_sources_and_matched_chunks_always_agree(found: list[Passage]) -> None:
    response = AskResponse.from_reply(Question("Why?"), make_answer([("Yes.", one) for one in found]))
    assert response.sources == [one.chunk.id for one in found] == [chunk.chunk_id for chunk in response.matched_chunks]
    assert all(1 <= len(chunk.text) <= 2000 for chunk in response.matched_chunks)
    assert AskResponse.model_validate_json(response.model_dump_json()) == response
