"""The contract of `POST /chat` and `POST /api/v1/chat`."""

from __future__ import annotations

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
from pydantic import ValidationError

from bookbound.contracts.chat import (
    ChatRequest,
    ChatResponse,
    Citation,
    ErrorResponse,
    ResponseMetadata,
    RetrievalContext,
    RetrievalResult,
)
from bookbound.domain.chunk import Passage, Place
from bookbound.domain.errors import (
    IndexNotFoundError,
    OverloadedError,
    ServiceRateLimitError,
    ServiceTimeoutError,
    ServiceUnreachableError,
)
from bookbound.domain.judgement import Evidence, RefusalReason
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question, Retrieval
from bookbound.testing import ScriptedBackend, make_answer, make_passage, make_refusal

Serve = Callable[[ScriptedBackend], TestClient]
PATHS = ["/chat", "/api/v1/chat"]
URL = "https://book.example/servo"
SERVO = make_passage(
    "A servo turns to an angle.", "c1", 0.82, title="Servos", section="Wiring", url=URL, anchor="wiring"
)
MOTOR = make_passage("A motor turns.", "c2", 0.61, title="Motors", section="", url="https://book.example/motor")


@pytest.mark.parametrize("path", PATHS)
def test_an_answer_comes_with_marks_citations_and_metadata(serve: Serve, path: str) -> None:
    spare = make_passage("Not used.", "c3")
    desk = ScriptedBackend(
        make_answer([("A servo turns to an angle.", SERVO), ("A motor turns.", MOTOR)], retrieved=[SERVO, MOTOR, spare])
    )
    sent = serve(desk).post(path, json={"question": " What turns? ", "top_k": 3}, headers={"X-Request-ID": "r1"})
    assert sent.status_code == 200
    assert sent.json() == {
        "answer": "A servo turns to an angle. [Source: Servos › Wiring](https://book.example/servo#wiring) "
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
    assert desk.asked == [Question("What turns?", k=3)]


@pytest.mark.parametrize("kind", list(RefusalReason))
def test_a_refusal_is_200_with_the_plain_sentence_and_no_citation(serve: Serve, kind: RefusalReason) -> None:
    refused = make_refusal(kind, [SERVO])
    sent = serve(ScriptedBackend(refused)).post("/chat", json={"question": "What is the price?"})
    assert (sent.status_code, sent.json()["answer"], sent.json()["citations"]) == (200, refused.text, [])
    assert sent.json()["metadata"]["retrieval_count"] == 1


def test_a_selection_comes_first_and_the_book_after_it(serve: Serve) -> None:
    desk = ScriptedBackend(make_refusal())
    serve(desk).post("/chat", json={"question": "Why?", "selected_text": " Chosen. "})
    assert desk.asked == [Question("Why?", "Chosen.", AnswerScope.SELECTION_THEN_BOOK, 5)]


def test_a_selection_is_cited_at_its_place_and_not_counted_as_retrieved() -> None:
    chosen = make_passage(
        "Chosen.", SELECTION_CHUNK_ID, 1.0, title="Servos", section="Wiring", url=URL, anchor="wiring"
    )
    told = ChatResponse.of(make_answer([("Chosen.", chosen), ("A motor turns.", MOTOR)]), "r1")
    assert told.citations[0] == Citation(
        source_url=f"{URL}#wiring", title="Servos › Wiring", chunk_id="selected_text", relevance_score=1.0
    )
    assert (len(told.citations), told.metadata.retrieval_count) == (2, 1)


def test_a_selection_that_is_not_from_the_book_is_cited_as_selected_text() -> None:
    chosen = make_passage("Chosen.", SELECTION_CHUNK_ID, 1.0)
    place = Place("", "", "", "Selected text", (), "", 0, 7)
    foreign = replace(chosen, chunk=replace(chosen.chunk, place=place))
    told = ChatResponse.of(make_answer([("Chosen.", foreign)]), "r1")
    assert told.answer == "Chosen. [Source: Selected text]()"
    assert told.citations == [
        Citation(source_url="", title="Selected text", chunk_id="selected_text", relevance_score=1)
    ]


def test_a_run_of_sentences_on_one_source_has_one_mark() -> None:
    told = ChatResponse.of(make_answer([("One.", SERVO), ("Two.", SERVO), ("Three.", MOTOR), ("Four.", SERVO)]), "r1")
    servo, motor = RetrievalResult.of(SERVO).mark, RetrievalResult.of(MOTOR).mark
    assert told.answer == f"One. Two. {servo} Three. {motor} Four. {servo}"
    assert [citation.chunk_id for citation in told.citations] == ["c1", "c2"]


def test_a_sentence_on_two_sources_has_the_marks_of_both() -> None:
    made = make_answer([("Both turn.", SERVO), ("Both turn.", MOTOR)])
    both = replace(made.sentences[0], evidence=tuple(Evidence.of(one, 0, 1, 0.9) for one in (MOTOR, SERVO, MOTOR)))
    told = ChatResponse.of(replace(made, sentences=(both,)), "r1")
    assert told.answer == f"Both turn. {RetrievalResult.of(MOTOR).mark} {RetrievalResult.of(SERVO).mark}"


def test_a_mark_never_joins_a_line_of_code() -> None:
    told = ChatResponse.of(make_answer([("Run it:", SERVO), ("a = 1\nb = 2", SERVO), ("Done.", MOTOR)]), "r1")
    servo, motor = RetrievalResult.of(SERVO).mark, RetrievalResult.of(MOTOR).mark
    assert told.answer == f"Run it:\n\na = 1\nb = 2\n\n{servo} Done. {motor}"


@pytest.mark.parametrize("question", ["?", "q" * 2000, f"  {'q' * 2000}\n"])
def test_a_question_of_1_to_2000_characters_is_taken_without_its_outer_white_space(question: str) -> None:
    assert ChatRequest(question=question).asked() == Question(question.strip())


@pytest.mark.parametrize("selection", [None, "", " \n", "s", "s" * 5000, f" {'s' * 5000}\t"])
def test_a_selection_of_up_to_5000_characters_is_taken_and_white_space_is_none(selection: str | None) -> None:
    asked = ChatRequest(question="Why?", selected_text=selection).asked()
    stripped = (selection or "").strip() or None
    assert (asked.selection, asked.scope) == (
        stripped,
        AnswerScope.SELECTION_THEN_BOOK if stripped else AnswerScope.BOOK,
    )


@pytest.mark.parametrize("top_k", [1, 20])
def test_top_k_is_1_to_20_and_5_by_itself(top_k: int) -> None:
    assert ChatRequest(question="Why?", top_k=top_k).asked().k == top_k
    assert ChatRequest(question="Why?").asked().k == 5


EMPTY = "Question cannot be empty or whitespace-only"
WHY = {"question": "Why?"}


@pytest.mark.parametrize(
    ("sent", "details"),
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
        (WHY | {"top_k": "5"}, {"top_k": "Input should be a valid integer"}),
        (WHY | {"top_k": True}, {"top_k": "Input should be a valid integer"}),
        (WHY | {"top_k": 5.0}, {"top_k": "Input should be a valid integer"}),
        (WHY | {"top_k": None}, {"top_k": "Input should be a valid integer"}),
        ({"question": " ", "top_k": 0}, {"question": EMPTY, "top_k": "Input should be greater than or equal to 1"}),
    ],
)
@pytest.mark.parametrize("path", PATHS)
def test_what_breaks_a_rule_is_422_with_the_rule_of_each_field(
    serve: Serve, path: str, sent: dict[str, Any], details: dict[str, str]
) -> None:
    desk = ScriptedBackend(make_refusal())
    got = serve(desk).post(path, json=sent)
    field, rule = next(iter(details.items()))
    assert (got.status_code, got.json()) == (
        422,
        {"error": "validation_error", "message": f"{field}: {rule}", "details": details, "retry_after": None},
    )
    assert desk.asked == []


@pytest.mark.parametrize(
    "sent", ["{", "", "[]", "null", '{"question": "\\ud800"}', '{"question": "\\u001c"}', b"\xff\xfe"]
)
def test_a_body_that_is_no_question_is_422_of_the_same_shape(serve: Serve, sent: str | bytes) -> None:
    got = serve(ScriptedBackend(make_refusal())).post(
        "/chat", content=sent, headers={"Content-Type": "application/json"}
    )
    assert (got.status_code, list(got.json())) == (422, ["error", "message", "details", "retry_after"])
    assert got.json()["error"] == "validation_error"


@pytest.mark.parametrize(
    ("trouble", "status", "error", "wait"),
    [
        (ServiceRateLimitError("Wait.", service="model", retry_after=2.5), 429, "rate_limit_exceeded", 3),
        (OverloadedError("Wait.", retry_after=1.0), 503, "service_unavailable", 1),
        (ServiceUnreachableError("Start it.", service="qdrant", retry_after=5), 503, "service_unavailable", 5),
        (IndexNotFoundError("Index the book first."), 503, "service_unavailable", None),
        (ServiceTimeoutError("Try again.", service="model"), 504, "timeout", None),
        (KeyError("a reader's words"), 500, "internal_error", None),
    ],
)
def test_trouble_is_told_by_its_code_with_the_time_to_wait(
    serve: Serve, trouble: Exception, status: int, error: str, wait: int | None
) -> None:
    got = serve(ScriptedBackend(trouble)).post("/chat", json=WHY)
    told = ErrorResponse.model_validate(got.json())
    assert (got.status_code, told.error, told.details, told.retry_after) == (status, error, None, wait)
    assert got.headers.get("Retry-After") == (None if wait is None else str(wait))
    assert "reader" not in got.text


@pytest.mark.parametrize("path", PATHS)
def test_other_requests_to_its_paths_are_told_in_its_words(serve: Serve, path: str) -> None:
    client = serve(ScriptedBackend(make_refusal()))
    assert client.get(path).json()["error"] == "method_not_allowed"
    assert client.post(path, content="Why?").json()["error"] == "unsupported_media_type"
    assert client.post(path, json={"question": "q" * 200_000}).json()["error"] == "too_large"


def test_a_citation_is_made_from_a_retrieval_result() -> None:
    result = {"text": "t", "source_url": "u", "title": "T", "chunk_id": "c", "score": 0.5}
    made = Citation.from_retrieval_result(result)
    assert made.model_dump() == {"source_url": "u", "title": "T", "chunk_id": "c", "relevance_score": 0.5}


@pytest.mark.parametrize(("score", "holds"), [(0.0, True), (1.0, True), (-0.01, False), (1.01, False)])
def test_a_relevance_score_is_0_to_1(score: float, holds: bool) -> None:
    made = {"source_url": "u", "title": "T", "chunk_id": "c", "relevance_score": score}
    assert _valid(Citation, made) is holds


@pytest.mark.parametrize("field", ["processing_time_ms", "retrieval_count"])
def test_figures_are_not_negative(field: str) -> None:
    made = {"processing_time_ms": 0, "retrieval_count": 0, "model_used": "quotes"}
    assert _valid(ResponseMetadata, made)
    assert not _valid(ResponseMetadata, made | {field: -1})


def test_metadata_has_an_id_of_its_own_where_none_is_given() -> None:
    one, two = (ResponseMetadata(processing_time_ms=1, retrieval_count=1, model_used="quotes") for _ in range(2))
    assert uuid.UUID(one.request_id) != uuid.UUID(two.request_id)


@pytest.mark.parametrize(("wait", "holds"), [(None, True), (0, True), (-1, False)])
def test_the_time_to_wait_is_not_negative(wait: int | None, holds: bool) -> None:
    assert _valid(ErrorResponse, {"error": "timeout", "message": "m", "retry_after": wait}) is holds


def test_a_context_holds_what_was_found_apart_from_the_selection() -> None:
    question = Question("Why?", "Chosen.", AnswerScope.SELECTION_THEN_BOOK)
    context = RetrievalContext.of(question, Retrieval((make_passage("Chosen.", SELECTION_CHUNK_ID, 1.0), SERVO)))
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
    told = serve(ScriptedBackend(make_refusal())).get("/openapi.json").json()["paths"][path]["post"]["responses"]
    assert set(told) == {"200", "401", "403", "413", "415", "422", "429", "500", "503", "504"}
    for status in set(told) - {"200"}:
        assert told[status]["content"]["application/json"]["schema"]["$ref"].endswith("/ErrorResponse")


Words = st.text(st.characters(exclude_characters="\x00\x1c\x1d\x1e\x1f", codec="utf-8"))
Active = st.text(st.sampled_from("ab []()`*_~<>\\!&|#;\n\"'"), min_size=1)


@given(Words, st.integers(0, 2002))
def test_a_question_is_taken_where_its_stripped_length_allows(text: str, more: int) -> None:
    asked = text + "q" * more + " "
    assert _valid(ChatRequest, {"question": asked}) is (1 <= len(asked.strip()) <= 2000)


@given(Words | Active, Words | Active, Active)
def test_a_mark_is_one_link_to_its_source_whatever_its_title_and_address_hold(
    title: str, section: str, address: str
) -> None:
    source = RetrievalResult.of(make_passage("t", title=title, section=section, url=f"https://book.example/{address}"))
    reader = MarkdownIt("commonmark")
    (inline,) = reader.parseInline(f"Before. {source.mark} after.")
    before, link, *text, end, after = inline.children or []
    assert (before.content, link.type, end.type, after.content) == ("Before. ", "link_open", "link_close", " after.")
    assert "".join(token.content for token in text) == f"Source: {source.title}"
    assert link.attrs["href"] == reader.normalizeLink(source.source_url)


@given(st.lists(st.tuples(st.sampled_from(["One.", "Two.", "a\nb"]), st.sampled_from([SERVO, MOTOR])), min_size=1))
def test_every_citation_is_marked_and_every_mark_is_cited(sentences: list[tuple[str, Passage]]) -> None:
    made = make_answer(sentences)
    told = ChatResponse.of(made, "r1")
    marked = re.findall(r"\[Source: (.*?)\]\((.*?)\)", told.answer)
    assert {url for _, url in marked} == {citation.source_url for citation in told.citations}
    assert len(told.citations) == len({found.chunk.id for _, found in sentences})
    bare = re.sub(r"\[Source: .*?\]\(.*?\)", "", told.answer)
    assert bare.split() == made.text.split()
    assert ChatResponse.model_validate_json(told.model_dump_json()) == told


def _valid(model: type[Any], made: dict[str, Any]) -> bool:
    try:
        model.model_validate(made)
    except ValidationError:
        return False
    return True
