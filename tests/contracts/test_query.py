"""Tests contract 003, `POST /api/query`: answers, refusals, errors and invariants."""

from __future__ import annotations

import json
from collections.abc import Callable, MutableMapping
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from bookbound.contracts.http_contract import (
    DEFAULT_RETRY_AFTER_SECONDS,
    INTERNAL_ERROR_MESSAGE,
    FieldProblem,
    Problem,
    ProblemKind,
    problem_from_status,
)
from bookbound.contracts.query import (
    CONTRACT,
    SERVICE_CODES,
    build_error_body,
    build_question,
    build_response,
    list_retrieved_chunks,
    plan_workflow,
)
from bookbound.contracts.query_models import (
    REFUSAL_MESSAGES,
    QueryRequest,
    QueryResponse,
    RefusalType,
    ResponseStatus,
    WorkflowMode,
)
from bookbound.contracts.request_context import RequestContext, RequestRecord
from bookbound.contracts.serialization import fit_answer
from bookbound.domain.chunk import Passage, Place
from bookbound.domain.errors import (
    IndexLockedError,
    IndexNotFoundError,
    InvalidInputError,
    OverloadedError,
    ServiceAuthenticationError,
    ServiceRateLimitError,
    ServiceResponseError,
    ServiceTimeoutError,
    ServiceUnreachableError,
)
from bookbound.domain.judgement import Claim, Evidence, RefusalReason
from bookbound.domain.language_model import LANGUAGE_MODEL_SERVICE
from bookbound.domain.question import SELECTION_CHUNK_ID, AnswerScope, Question
from bookbound.domain.reply import Answer, AnswerSentence, Reply, SentenceForm
from bookbound.domain.trace import Requester
from bookbound.indexing.embed import openai_embedder as embeddings
from bookbound.indexing.store import qdrant_client
from bookbound.models import cohere
from bookbound.server.app import create_app
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_answer, make_passage, make_refusal

Serve = Callable[[ScriptedBackend], TestClient]
PATH = "/api/query"
SESSION = "550e8400-e29b-41d4-a716-446655440000"
REQUEST_ID = "0f8fad5b-d9cb-469f-a165-70867728950e"
CONTEXT = RequestContext(RequestRecord(REQUEST_ID))
PAGE_URL = "https://shumailaaijaz.github.io/physical-ai-textbook/docs/02-ros2-fundamentals"
CHAPTER = "Chapter 2: ROS 2 Fundamentals"
SENTENCE = "ROS 2 is the nervous system of modern robots."
SELECTED = "Nodes in ROS 2 communicate via topics"
ASKED = {"query": "How does ROS 2 work?"}


def make_ros_passage(text: str, chunk_id: str, score: float) -> Passage:
    return make_passage(text, chunk_id, score, chapter=CHAPTER, section="Learning Objectives", url=PAGE_URL)


def respond_from_book(reply: Reply) -> QueryResponse:
    return build_response(reply, plan_workflow(QueryRequest(query="How does ROS 2 work?")), CONTEXT)


def respond_from_selection(reply: Reply) -> QueryResponse:
    return build_response(reply, plan_workflow(QueryRequest(query="What are topics?", selected_text=SELECTED)), CONTEXT)


def test_the_standard_example_of_the_contract(serve: Serve) -> None:
    found = [make_ros_passage(SENTENCE, "abc123", 0.7)] + [
        make_ros_passage(f"Passage {i}.", f"c{i}", 0.7 - i / 10) for i in range(4)
    ]
    backend = ScriptedBackend(make_answer([(SENTENCE, found[0])], retrieved=found))
    response = serve(backend).post(
        PATH,
        json={"query": "How does ROS 2 work?", "selected_text": None, "session_id": SESSION},
        headers={"X-Request-ID": REQUEST_ID},
    )
    assert response.status_code == 200
    assert response.json() == {
        "status": "success",
        "answer": {
            "text": SENTENCE,
            "citations": [
                {
                    "chapter": CHAPTER,
                    "section": "Learning Objectives",
                    "source_url": PAGE_URL,
                    "referenced_text": SENTENCE,
                }
            ],
            "mode": "standard_rag",
        },
        "refusal": None,
        "error": None,
        "metadata": {
            "chunks_retrieved": 5,
            "processing_time_ms": 6,
            "session_id": SESSION,
            "request_id": REQUEST_ID,
        },
    }
    assert backend.questions == [Question("How does ROS 2 work?", k=5, threshold=0.4, hides_unverified=True)]


def test_the_selected_text_example_of_the_contract(serve: Serve) -> None:
    selection = make_passage(SELECTED, SELECTION_CHUNK_ID, 1.0, chapter="", title="", section="", url="")
    backend = ScriptedBackend(make_answer([("Topics are how nodes communicate.", selection)]))
    response = serve(backend).post(PATH, json={"query": "What are topics?", "selected_text": SELECTED, "top_k": 3})
    assert response.json()["answer"] == {
        "text": "Topics are how nodes communicate.",
        "citations": [{"chapter": None, "section": "Selected text", "source_url": None, "referenced_text": SELECTED}],
        "mode": "selected_text_only",
    }
    assert response.json()["metadata"]["chunks_retrieved"] == 1
    assert response.json()["metadata"]["session_id"] is None
    assert backend.questions == [
        Question("What are topics?", SELECTED, AnswerScope.SELECTION, 3, hides_unverified=True)
    ]


def test_a_selection_that_does_not_answer_has_its_own_refusal_sentence(serve: Serve) -> None:
    backend = ScriptedBackend(
        make_refusal(RefusalReason.SELECTED_TEXT_MISSING, [make_passage(SELECTED, SELECTION_CHUNK_ID, 1.0)])
    )
    response = serve(backend).post(PATH, json={"query": "Who wrote it?", "selected_text": SELECTED})
    assert response.status_code == 200
    assert response.json()["refusal"] == {
        "reason": "The selected text does not contain this information",
        "refusal_type": "selected_text_missing",
    }


def test_the_refusal_example_of_the_contract(serve: Serve) -> None:
    response = serve(ScriptedBackend(make_refusal(RefusalReason.EMPTY_RETRIEVAL))).post(
        PATH, json={"query": "How do I train GPT-4?"}, headers={"X-Request-ID": REQUEST_ID}
    )
    assert response.status_code == 200
    assert response.json() == {
        "status": "refused",
        "answer": None,
        "refusal": {
            "reason": "The provided book content does not contain sufficient information to answer this question",
            "refusal_type": "empty_retrieval",
        },
        "error": None,
        "metadata": {"chunks_retrieved": 0, "processing_time_ms": 6, "session_id": None, "request_id": REQUEST_ID},
    }


def test_both_paths_give_the_same_answer(serve: Serve) -> None:
    client = serve(ScriptedBackend(make_answer([(SENTENCE, make_ros_passage(SENTENCE, "abc123", 0.7))])))
    first, second = (client.post(path, json=ASKED, headers={"X-Request-ID": "x"}) for path in CONTRACT.paths)
    assert CONTRACT.paths == ("/api/query", "/v1/query")
    assert first.json() == second.json()


def test_the_planner_routes_by_the_selection_alone() -> None:
    book = plan_workflow(QueryRequest(query="q", selected_text="  ", top_k=7))
    selection = plan_workflow(QueryRequest(query="q", selected_text=SELECTED))
    assert (book.mode, book.selected_text, book.top_k) == (WorkflowMode.STANDARD_RAG, None, 7)
    assert (selection.mode, selection.selected_text) == (WorkflowMode.SELECTED_TEXT_ONLY, SELECTED)
    assert build_question(book) == Question("q", k=7, threshold=0.4, hides_unverified=True)
    assert build_question(selection) == Question("q", SELECTED, AnswerScope.SELECTION, hides_unverified=True)


def test_a_retrieved_chunk_has_its_place_and_score() -> None:
    (chunk,) = list_retrieved_chunks(make_refusal(retrieved=[make_ros_passage(SENTENCE, "abc123", 0.672)]))
    assert chunk.model_dump(mode="json") == {
        "chunk_id": "abc123",
        "text": SENTENCE,
        "chapter": CHAPTER,
        "section": "Learning Objectives",
        "source_url": PAGE_URL,
        "similarity_score": 0.672,
    }


def test_a_selection_is_a_chunk_without_a_place() -> None:
    (chunk,) = list_retrieved_chunks(make_refusal(retrieved=[make_passage(SELECTED, SELECTION_CHUNK_ID, 1.0)]))
    assert chunk.model_dump() == {
        "chunk_id": "selected_text",
        "text": SELECTED,
        "chapter": None,
        "section": None,
        "source_url": None,
        "similarity_score": 1.0,
    }


def test_a_citation_of_a_selection_has_its_place_in_the_book() -> None:
    place = Place("2.md", PAGE_URL, CHAPTER, "ROS 2", ("Topics",), "topics", 10, 40)
    response = respond_from_selection(
        make_answer([("Via topics.", make_passage(SELECTED, SELECTION_CHUNK_ID, 1.0, url=""))], selection=place)
    )
    assert response.answer is not None
    (citation,) = response.answer.citations
    assert (citation.chapter, citation.section, str(citation.source_url)) == (CHAPTER, "Topics", f"{PAGE_URL}#topics")


@pytest.mark.parametrize("url", ["", "docs/intro.md", "/docs/intro", "../intro", "https://", "x" * 3000])
def test_a_link_that_is_not_a_url_is_null(url: str) -> None:
    reply = make_answer([("One.", make_passage("One.", url=url, anchor="a"))])
    response = respond_from_book(reply)
    assert response.answer is not None
    assert response.answer.citations[0].source_url is None
    assert list_retrieved_chunks(reply)[0].source_url is None


def test_a_link_that_is_too_long_with_its_anchor_is_that_of_the_page() -> None:
    reply = make_answer([("One.", make_passage("One.", url="https://book.example/a", anchor="b" * 3000))])
    response = respond_from_book(reply)
    assert response.answer is not None
    assert str(response.answer.citations[0].source_url) == "https://book.example/a"


def test_a_place_without_names_is_cited_by_its_file() -> None:
    response = respond_from_book(
        make_answer([("One.", make_passage("One.", chapter="", title="", section="", url=""))])
    )
    assert response.answer is not None
    assert response.answer.citations[0].section == "chapter-1.md"


def test_a_quote_of_two_sentences_is_cited_once() -> None:
    same = make_ros_passage(SENTENCE, "abc123", 0.7)
    response = respond_from_book(
        make_answer([("One.", same), ("Two.", same), ("Three.", make_ros_passage("Else.", "c2", 0.6))])
    )
    assert response.answer is not None
    assert [citation.referenced_text for citation in response.answer.citations] == [SENTENCE, "Else."]


def test_the_same_quote_of_the_same_section_is_cited_once() -> None:
    response = respond_from_book(
        make_answer([("One.", make_ros_passage(SENTENCE, "c1", 0.7)), ("Two.", make_ros_passage(SENTENCE, "c2", 0.6))])
    )
    assert response.answer is not None
    assert len(response.answer.citations) == 1


def test_a_long_answer_ends_after_the_last_sentence_that_fits_and_cites_no_further() -> None:
    sentences = [(f"{i}" + "x" * 398 + ".", make_passage(f"Words {i}.", f"c{i}")) for i in range(6)]
    response = respond_from_book(make_answer(sentences))
    assert response.answer is not None
    assert response.answer.text == " ".join(text for text, _ in sentences[:4])
    assert [citation.referenced_text for citation in response.answer.citations] == [f"Words {i}." for i in range(4)]


@pytest.mark.parametrize(("length", "expected"), [(1990, ["Steps", "w"]), (1999, ["w"])])
def test_a_long_answer_does_not_end_with_what_introduces_more(length: int, expected: list[str]) -> None:
    answer = make_answer([("x", make_passage("Words."))])
    evidence = answer.sentences[0].evidence
    heading = AnswerSentence("Steps", evidence, form=SentenceForm("heading"))
    item = AnswerSentence("w" * length, evidence, form=SentenceForm("item"), claim=Claim("w"))
    answer = replace(answer, sentences=(heading, item, heading, item))
    text, shown = fit_answer(answer, 2010)
    assert [sentence.text[:5].rstrip("w") or "w" for sentence in shown.sentences] == expected
    assert len(text) <= 2010


def test_an_answer_of_2000_characters_is_complete() -> None:
    sentences = [("x" * 999 + ".", make_passage("One.")), ("y" * 998 + ".", make_passage("Two.", "c2"))]
    response = respond_from_book(make_answer(sentences))
    assert response.answer is not None
    assert len(response.answer.text) == 2000
    assert len(response.answer.citations) == 2


@pytest.mark.parametrize("text", ["word " * 500, "w" * 2001, " " * 2001 + "w", "line\n" * 500, "w" * 1996 + " ab cd"])
def test_a_first_sentence_that_is_too_long_is_truncated_at_a_word(text: str) -> None:
    response = respond_from_book(
        make_answer([(text, make_passage("Words.")), ("Second.", make_passage("Others.", "c2"))])
    )
    assert response.answer is not None
    shown = response.answer.text
    assert len(shown) <= 2000
    assert shown.endswith("...")
    kept = shown.removesuffix("...")
    assert text.startswith(kept)
    assert text[len(kept)].isspace() or " " not in kept
    assert [citation.referenced_text for citation in response.answer.citations] == ["Words."]


@pytest.mark.parametrize(
    ("quote", "shown"),
    [
        ("w" * 500, "w" * 500),
        ("w" * 501, "w" * 497 + "..."),
        ("w" * 497 + " and more", "w" * 497 + "..."),
        ("some words " + "w" * 500, "some words..."),
        ("some words   \n" + "w" * 500, "some words..."),
        ("line\n" * 101, "line\n" * 98 + "line..."),
    ],
)
def test_a_long_quote_is_truncated_at_a_word(quote: str, shown: str) -> None:
    response = respond_from_book(make_answer([("One.", make_passage(quote))]))
    assert response.answer is not None
    assert response.answer.citations[0].referenced_text == shown


def test_a_chunk_beyond_the_limit_is_truncated() -> None:
    (chunk,) = list_retrieved_chunks(make_refusal(retrieved=[make_passage("word " * 3000)]))
    assert len(chunk.text) <= 10_000
    assert chunk.text.endswith("word...")


@pytest.mark.parametrize("kind", RefusalReason)
def test_each_reason_for_a_refusal_has_its_own_name(kind: RefusalReason) -> None:
    response = respond_from_book(make_refusal(kind))
    assert response.refusal is not None
    assert response.refusal.refusal_type.value == kind.value
    assert response.refusal.reason == REFUSAL_MESSAGES[RefusalType(kind.value)]


def test_a_request_id_that_is_not_a_uuid_always_gives_the_same_uuid() -> None:
    reply = make_refusal()
    workflow = plan_workflow(QueryRequest(query="q"))
    ids = [
        build_response(reply, workflow, RequestContext(RequestRecord(request_id))).metadata.request_id
        for request_id in ("mine", "mine", "yours", REQUEST_ID)
    ]
    assert ids[0] == ids[1] != ids[2]
    assert ids[0].version == 5
    assert ids[3] == UUID(REQUEST_ID)


# Errors

INVALID: list[Any] = [
    {},
    {"query": ""},
    {"query": "   "},
    {"query": "q" * 501},
    {"query": 5},
    {"query": "q", "selected_text": "too short"},
    {"query": "q", "selected_text": "s" * 5001},
    {"query": "q", "top_k": 0},
    {"query": "q", "top_k": 21},
    {"query": "q", "top_k": "five"},
    {"query": "q", "session_id": "not-a-session"},
    {"query": "\ud800"},
    {"query": "q", "selected_text": "some words \ud800"},
    [],
    "q",
    5,
    None,
]


@pytest.mark.parametrize("body", [json.dumps(value) for value in INVALID] + ["", "{", "{'query': 'q'}", '{"query": q}'])
def test_invalid_input_is_a_400_with_the_envelope(serve: Serve, body: str) -> None:
    backend = ScriptedBackend(make_refusal())
    headers = {"Content-Type": "application/json", "X-Request-ID": REQUEST_ID}
    response = serve(backend).post(PATH, content=body, headers=headers)
    assert response.status_code == 400
    envelope = QueryResponse.model_validate(response.json())
    assert envelope.error is not None
    assert (envelope.error.code, envelope.error.retry_after) == ("VALIDATION_FAILED", None)
    assert (envelope.metadata.chunks_retrieved, envelope.metadata.request_id) == (0, UUID(REQUEST_ID))
    assert backend.questions == []


def test_every_broken_rule_is_named_and_no_text_of_the_request(serve: Serve) -> None:
    secret = "hunter2" * 100
    response = serve(ScriptedBackend(make_refusal())).post(
        PATH, json={"query": secret, "selected_text": ["hunter2"], "top_k": "hunter2", "session_id": "hunter2"}
    )
    error = response.json()["error"]
    assert [rule.partition(":")[0] for rule in error["details"].split("; ")] == [
        "query",
        "selected_text",
        "top_k",
        "session_id",
    ]
    assert error["message"].startswith("query: ")
    assert "hunter" not in response.text


@pytest.mark.parametrize(
    ("failure", "status", "code", "wait"),
    [
        (InvalidInputError("A question has 1 to 2000 characters."), 400, "VALIDATION_FAILED", None),
        (ServiceRateLimitError("x", service="bookbound", retry_after=12.2), 429, "RATE_LIMIT_EXCEEDED", 13),
        (ServiceRateLimitError("x", service="cohere"), 429, "RATE_LIMIT_EXCEEDED", DEFAULT_RETRY_AFTER_SECONDS),
        (OverloadedError("x", retry_after=1.0), 503, "RATE_LIMIT_EXCEEDED", 1),
        (ServiceUnreachableError("x", service="qdrant"), 503, "QDRANT_TIMEOUT", None),
        (ServiceTimeoutError("x", service="qdrant"), 504, "QDRANT_TIMEOUT", None),
        (IndexNotFoundError("x"), 503, "QDRANT_TIMEOUT", None),
        (IndexLockedError("x"), 503, "QDRANT_TIMEOUT", None),
        (ServiceUnreachableError("x", service="cohere"), 503, "COHERE_FAILURE", None),
        (ServiceTimeoutError("x", service="cohere"), 504, "COHERE_FAILURE", None),
        (ServiceUnreachableError("x", service="embeddings"), 503, "COHERE_FAILURE", None),
        (ServiceResponseError("x", service="cohere"), 503, "COHERE_FAILURE", None),
        (ServiceAuthenticationError("x", service="qdrant"), 503, "QDRANT_TIMEOUT", None),
        (ServiceUnreachableError("x", service="language model"), 503, "OPENROUTER_TIMEOUT", None),
        (ServiceTimeoutError("x", service="language model"), 504, "OPENROUTER_TIMEOUT", None),
        (ServiceAuthenticationError("x", service="language model"), 503, "OPENROUTER_TIMEOUT", None),
        (ServiceResponseError("x", service="language model"), 503, "OPENROUTER_TIMEOUT", None),
        (ServiceRateLimitError("x", service="language model", retry_after=3), 429, "RATE_LIMIT_EXCEEDED", 3),
        (RuntimeError("x"), 500, "OPENROUTER_TIMEOUT", None),
    ],
)
def test_an_error_has_the_status_and_code_of_what_failed(
    serve: Serve, failure: Exception, status: int, code: str, wait: int | None
) -> None:
    response = serve(ScriptedBackend(failure)).post(PATH, json=ASKED)
    envelope = QueryResponse.model_validate(response.json())
    assert response.status_code == status
    assert envelope.status is ResponseStatus.ERROR
    assert envelope.error is not None
    assert (envelope.error.code, envelope.error.retry_after) == (code, wait)
    assert response.headers.get("Retry-After") == (None if wait is None else str(wait))


@pytest.mark.parametrize("failure", [RuntimeError("x"), ServiceTimeoutError("x", service="another")], ids=repr)
def test_a_defect_of_ours_is_not_blamed_on_a_service(serve: Serve, failure: Exception) -> None:
    error = serve(ScriptedBackend(failure)).post(PATH, json=ASKED).json()["error"]
    assert (error["code"], error["message"]) == ("OPENROUTER_TIMEOUT", INTERNAL_ERROR_MESSAGE)
    assert "our side" in INTERNAL_ERROR_MESSAGE
    assert "service" not in f"{error['message']} {error['details']}"


def test_every_service_that_can_fail_has_its_code() -> None:
    assert {cohere.SERVICE_NAME, embeddings.SERVICE, LANGUAGE_MODEL_SERVICE, qdrant_client.SERVICE} == set(
        SERVICE_CODES
    )


def test_a_body_that_arrives_too_late_is_a_validation_failure() -> None:
    error = build_error_body(problem_from_status(408, 400), CONTEXT).error
    assert error is not None
    assert error.code == "VALIDATION_FAILED"
    assert (error.message, error.details) == ("The body of the request did not arrive in time.", None)


def test_messages_of_services_are_not_passed_on(serve: Serve) -> None:
    message = "http://user:key@10.0.0.1:6333 broke at /var/lib/index on hunter2"
    for failure in (
        IndexNotFoundError(message),
        ServiceUnreachableError(message, service="qdrant"),
        ServiceTimeoutError(message, service="language model"),
        KeyError(message),
    ):
        response = serve(ScriptedBackend(failure)).post(PATH, json=ASKED).text
        assert not any(word in response for word in ("10.0.0.1", "key", "hunter2", "/var"))


def test_a_wrong_method_or_type_still_gets_the_envelope(serve: Serve) -> None:
    client = serve(ScriptedBackend(make_refusal()))
    large = json.dumps({"query": "q" * 200_000})
    for response, status in (
        (client.get(PATH), 405),
        (client.post(PATH, content="query=q", headers={"Content-Type": "text/plain"}), 415),
        (client.post(PATH, content=large, headers={"Content-Type": "application/json"}), 413),
    ):
        error = QueryResponse.model_validate(response.json()).error
        assert response.status_code == status
        assert error is not None
        assert error.code == "VALIDATION_FAILED"


def test_long_messages_are_truncated() -> None:
    rules = tuple(FieldProblem("query", "has a rule " * 20) for _ in range(3))
    error = build_error_body(Problem(ProblemKind.INVALID, 400, "broken " * 50, fields=rules), CONTEXT).error
    assert error is not None
    assert error.message == "broken " * 27 + "broken..."
    assert error.details is not None
    assert len(error.details) <= 500
    assert error.details.endswith("...")


def test_exactly_the_possible_statuses_are_documented() -> None:
    paths = create_app(ScriptedBackend(make_refusal()), Settings()).openapi()["paths"]
    for path in CONTRACT.paths:
        documented = paths[path]["post"]["responses"]
        assert set(documented) == {"200", "400", "401", "403", "413", "415", "429", "4XX", "500", "503", "504"}
        schemas = {response["content"]["application/json"]["schema"]["$ref"] for response in documented.values()}
        assert schemas == {"#/components/schemas/QueryResponse"}


def test_an_error_of_a_known_session_names_it() -> None:
    problem, named = Problem(ProblemKind.INTERNAL, 500, "x"), replace(CONTEXT, requester=Requester(UUID(SESSION)))
    assert build_error_body(problem, named).metadata.session_id == UUID(SESSION)
    assert build_error_body(problem, CONTEXT).metadata.session_id is None


@pytest.mark.parametrize(
    ("body", "session"),
    [
        (json.dumps({"query": "q", "session_id": SESSION}), UUID(SESSION)),
        (json.dumps({"query": "", "top_k": "5", "session_id": SESSION}), UUID(SESSION)),
        (json.dumps({"query": "q", "session_id": "mine"}), None),
        (json.dumps({"query": "q"}), None),
        ("[]", None),
        ("{", None),
        ("", None),
    ],
)
def test_the_session_of_a_request_is_known_even_if_the_rest_is_invalid(body: str, session: UUID | None) -> None:
    app, state = create_app(ScriptedBackend(OverloadedError("x", retry_after=1)), Settings()), dict[str, Any]()

    async def app_with_state(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        await app({**scope, "state": state}, receive, send)

    TestClient(app_with_state).post(PATH, content=body, headers={"Content-Type": "application/json"})
    assert state["context"].requester.session == session


@given(
    st.builds(
        Problem,
        st.sampled_from(ProblemKind),
        st.integers(400, 599),
        st.text(max_size=700),
        st.text(max_size=700),
        st.lists(st.builds(FieldProblem, st.text(), st.text(max_size=700)), max_size=3).map(tuple),
        st.none() | st.integers(),
    ),
    st.text(st.characters(exclude_categories=["Cs"])),
)
def test_every_problem_has_an_error_body(problem: Problem, request_id: str) -> None:
    response = build_error_body(problem, RequestContext(RequestRecord(request_id)))
    assert response.status is ResponseStatus.ERROR
    assert response.error is not None


# Invariants

TEXTS = (st.text(min_size=1, max_size=60) | st.text("ab* \n.", min_size=1, max_size=3000)).filter(str.strip)
NAMES = st.text(max_size=8)
URLS = st.sampled_from(["", "intro.md", "https://book.example/intro", "http://[", "//host"]) | NAMES
PASSAGES = st.builds(
    make_passage,
    TEXTS,
    st.sampled_from([SELECTION_CHUNK_ID, "c1", "c2"]),
    st.floats(0, 1),
    chapter=NAMES,
    title=NAMES,
    section=NAMES,
    url=URLS,
    anchor=NAMES,
)
PLACES = st.builds(
    Place, NAMES, URLS, NAMES, NAMES, st.lists(NAMES, max_size=2).map(tuple), NAMES, st.just(0), st.just(1)
)
ANSWERS = st.builds(
    lambda sentences, selection: make_answer(sentences, selection=selection),
    st.lists(st.tuples(TEXTS, PASSAGES), min_size=1, max_size=5),
    st.none() | PLACES,
)
REFUSALS = st.builds(make_refusal, st.sampled_from(RefusalReason), st.lists(PASSAGES, max_size=5))
REQUESTS = st.builds(QueryRequest, query=st.just("q"), selected_text=st.none() | st.just(SELECTED))


@given(ANSWERS | REFUSALS, REQUESTS)
def test_every_reply_keeps_the_invariants_of_the_contract(reply: Reply, request: QueryRequest) -> None:
    workflow = plan_workflow(request)
    response = build_response(reply, workflow, CONTEXT)
    parts = [part for part in (response.answer, response.refusal, response.error) if part is not None]
    assert len(parts) == 1
    assert (workflow.selected_text is not None) == (workflow.mode is WorkflowMode.SELECTED_TEXT_ONLY)
    assert all(0.0 <= chunk.similarity_score <= 1.0 for chunk in list_retrieved_chunks(reply))
    assert response.metadata.chunks_retrieved == len(reply.trace.retrieval.passages)
    if response.answer:
        assert isinstance(reply, Answer)
        assert response.answer.citations
        assert response.answer.mode is workflow.mode
        assert len(response.answer.text) <= 2000
    if response.refusal:
        assert response.refusal.reason == REFUSAL_MESSAGES[response.refusal.refusal_type]
    assert QueryResponse.model_validate_json(response.model_dump_json()) == response


@given(ANSWERS)
def test_an_answer_contains_only_its_first_sentences_and_their_citations(reply: Answer) -> None:
    response = respond_from_book(reply)
    assert response.answer is not None
    assert reply.text.startswith(response.answer.text.removesuffix("...")) or reply.text.startswith(
        response.answer.text
    )
    quotes = [evidence.text for evidence in reply.citations]
    for citation in response.answer.citations:
        shown = citation.referenced_text or ""
        assert any(quote.startswith((shown, shown.removesuffix("..."))) for quote in quotes)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
BODIES = JSON | st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("query", "selected_text", "top_k", "session_id"), JSON)
)


@given(BODIES)
def test_any_json_is_a_request_or_invalid_and_never_a_crash(value: object) -> None:
    try:
        request = QueryRequest.model_validate(value)
    except ValidationError:
        return
    question = build_question(plan_workflow(request))
    assert (question.text, question.selection) == (request.query, request.selected_text)


def test_a_sentence_may_cite_several_places() -> None:
    first, second = make_ros_passage("One.", "c1", 0.7), make_ros_passage("Two.", "c2", 0.6)
    answer = make_answer([("Both.", first), ("Both.", second)])
    sentence = AnswerSentence(
        "Both.", tuple(Evidence.from_chunk(each.chunk, 0, 4, 0.9) for each in (first, second)), 1.0
    )
    shown = respond_from_book(replace(answer, sentences=(sentence,))).answer
    assert shown is not None
    assert [citation.referenced_text for citation in shown.citations] == ["One.", "Two."]
