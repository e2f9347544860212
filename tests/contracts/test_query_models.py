"""Tests every rule of every entity of contract 003 on both sides of its limit."""

from __future__ import annotations

import math
from typing import Any
from uuid import UUID

import pytest
from pydantic import ValidationError

from bookbound.contracts.query_models import (
    REFUSAL_MESSAGES,
    Citation,
    ErrorCode,
    ErrorDetail,
    FrozenModel,
    GroundedAnswer,
    PlannedWorkflow,
    QueryEmbedding,
    QueryRequest,
    QueryResponse,
    RefusalMessage,
    RefusalType,
    ResponseMetadata,
    RetrievedChunk,
)

SESSION = "550e8400-e29b-41d4-a716-446655440000"
URL = "https://shumailaaijaz.github.io/physical-ai-textbook/docs/02-ros2-fundamentals"
SENTENCE = "ROS 2 is the nervous system of modern robots"
BOOK = "The provided book content does not contain sufficient information to answer this question"
SELECTION = "The selected text does not contain this information"

QUERY = {"query": "How does ROS 2 work?"}
STANDARD = {"mode": "standard_rag", "query": "How does ROS 2 work?", "top_k": 10, "selected_text": None}
VECTOR = [0.123, -0.456] * 512
EMBEDDING = {"vector": VECTOR, "model": "embed-multilingual-v3.0", "input_type": "search_query"}
CHUNK = {
    "chunk_id": "abc123",
    "text": f"{SENTENCE}...",
    "chapter": "Chapter 2: ROS 2 Fundamentals",
    "section": "Learning Objectives",
    "source_url": URL,
    "similarity_score": 0.672,
}
CITATION = {
    "chapter": "Chapter 2: ROS 2 Fundamentals",
    "section": "Learning Objectives",
    "source_url": URL,
    "referenced_text": SENTENCE,
}
ANSWER = {"text": f"{SENTENCE}, connecting sensors...", "citations": [CITATION, CITATION], "mode": "standard_rag"}
REFUSAL = {"reason": BOOK, "refusal_type": "empty_retrieval"}
ERROR = {
    "code": "QDRANT_TIMEOUT",
    "message": "The search service is temporarily unavailable. Please try again.",
    "details": "Qdrant connection timeout after 5s",
    "retry_after": None,
}
METADATA = {"chunks_retrieved": 5, "processing_time_ms": 1234, "session_id": SESSION, "request_id": SESSION}
RESPONSE = {"status": "success", "answer": ANSWER, "refusal": None, "error": None, "metadata": METADATA}


def list_errors(entity: type[FrozenModel], value: object) -> list[str]:
    """The error messages about a value."""
    try:
        entity.model_validate(value)
    except ValidationError as failure:
        return [str(error["msg"]) for error in failure.errors()]
    return []


@pytest.mark.parametrize(
    ("entity", "value"),
    [
        (
            QueryRequest,
            QUERY | {"selected_text": "Nodes in ROS 2 communicate via topics", "top_k": 10, "session_id": SESSION},
        ),
        (PlannedWorkflow, STANDARD),
        (QueryEmbedding, EMBEDDING),
        (RetrievedChunk, CHUNK),
        (Citation, CITATION),
        (GroundedAnswer, ANSWER),
        (RefusalMessage, REFUSAL),
        (QueryResponse, RESPONSE),
        (ResponseMetadata, METADATA),
        (ErrorDetail, ERROR),
    ],
)
def test_the_examples_of_the_contract_are_valid(entity: type[FrozenModel], value: dict[str, Any]) -> None:
    assert entity.model_validate(value).model_dump(mode="json") == value


def test_a_request_has_the_defaults_of_the_contract() -> None:
    plain = QueryRequest.model_validate(QUERY)
    assert (plain.selected_text, plain.top_k, plain.session_id) == (None, 5, None)


@pytest.mark.parametrize(
    ("entity", "fields", "change"),
    [
        (QueryRequest, QUERY, {"query": "q"}),
        (QueryRequest, QUERY, {"query": "q" * 500}),
        (QueryRequest, QUERY, {"query": "  " + "q" * 500 + "\n"}),
        (QueryRequest, QUERY, {"selected_text": "s" * 10}),
        (QueryRequest, QUERY, {"selected_text": "s" * 5000}),
        (QueryRequest, QUERY, {"selected_text": "\t" + "s" * 5000 + "\t"}),
        (QueryRequest, QUERY, {"selected_text": None}),
        (QueryRequest, QUERY, {"selected_text": ""}),
        (QueryRequest, QUERY, {"selected_text": " \n\x1f" * 20}),
        (QueryRequest, QUERY, {"top_k": 1}),
        (QueryRequest, QUERY, {"top_k": 20}),
        (QueryRequest, QUERY, {"session_id": None}),
        (QueryRequest, QUERY, {"session_id": SESSION.upper()}),
        (QueryRequest, QUERY, {"session_id": UUID(SESSION)}),
        (QueryRequest, QUERY, {"of_no_meaning": "\ud800"}),
        (PlannedWorkflow, STANDARD, {"mode": "selected_text_only", "selected_text": "some words"}),
        (QueryEmbedding, EMBEDDING, {"vector": [1.0, -1.0] * 512}),
        (RetrievedChunk, CHUNK, {"text": "t" * 10_000}),
        (RetrievedChunk, CHUNK, {"similarity_score": 0.0}),
        (RetrievedChunk, CHUNK, {"similarity_score": 1.0}),
        (RetrievedChunk, CHUNK, {"chapter": None, "section": None, "source_url": None}),
        (Citation, CITATION, {"section": None, "source_url": None}),
        (Citation, CITATION, {"chapter": None, "source_url": None}),
        (Citation, CITATION, {"chapter": None, "section": None}),
        (Citation, CITATION, {"referenced_text": None}),
        (Citation, CITATION, {"referenced_text": "r" * 500}),
        (GroundedAnswer, ANSWER, {"text": "t"}),
        (GroundedAnswer, ANSWER, {"text": "t" * 2000}),
        (GroundedAnswer, ANSWER, {"citations": [CITATION], "mode": "selected_text_only"}),
        (ErrorDetail, ERROR, {"message": "m"}),
        (ErrorDetail, ERROR, {"message": "m" * 200}),
        (ErrorDetail, ERROR, {"details": None}),
        (ErrorDetail, ERROR, {"details": "d" * 500}),
        (ErrorDetail, ERROR, {"retry_after": 0}),
        (ResponseMetadata, METADATA, {"session_id": None}),
        (QueryResponse, RESPONSE, {"status": "refused", "answer": None, "refusal": REFUSAL}),
        (QueryResponse, RESPONSE, {"status": "error", "answer": None, "error": ERROR}),
    ],
)
def test_a_value_within_its_rule_is_valid(
    entity: type[FrozenModel], fields: dict[str, Any], change: dict[str, Any]
) -> None:
    assert list_errors(entity, fields | change) == []


@pytest.mark.parametrize(
    ("entity", "fields", "change"),
    [
        (QueryRequest, QUERY, {"query": ""}),
        (QueryRequest, QUERY, {"query": " \n\t\x1f"}),
        (QueryRequest, QUERY, {"query": "q" * 501}),
        (QueryRequest, QUERY, {"query": None}),
        (QueryRequest, QUERY, {"query": 5}),
        (QueryRequest, QUERY, {"query": ["q"]}),
        (QueryRequest, QUERY, {"query": "\ud800"}),
        (QueryRequest, QUERY, {"selected_text": "s" * 9}),
        (QueryRequest, QUERY, {"selected_text": "s" * 9 + " "}),
        (QueryRequest, QUERY, {"selected_text": "s" * 5001}),
        (QueryRequest, QUERY, {"selected_text": 1234567890}),
        (QueryRequest, QUERY, {"selected_text": "some words \udfff"}),
        (QueryRequest, QUERY, {"top_k": 0}),
        (QueryRequest, QUERY, {"top_k": 21}),
        (QueryRequest, QUERY, {"top_k": "five"}),
        (QueryRequest, QUERY, {"top_k": 5.5}),
        (QueryRequest, QUERY, {"top_k": None}),
        (QueryRequest, QUERY, {"session_id": "550e8400-e29b-11d4-a716-446655440000"}),
        (QueryRequest, QUERY, {"session_id": UUID("550e8400-e29b-11d4-a716-446655440000")}),
        (QueryRequest, QUERY, {"session_id": "550e8400-e29b-41d4-c716-446655440000"}),
        (QueryRequest, QUERY, {"session_id": "550e8400"}),
        (QueryRequest, QUERY, {"session_id": SESSION + "\n"}),
        (QueryRequest, QUERY, {"session_id": ""}),
        (QueryRequest, QUERY, {"session_id": 4}),
        (PlannedWorkflow, STANDARD, {"selected_text": "some words"}),
        (PlannedWorkflow, STANDARD, {"mode": "selected_text_only"}),
        (PlannedWorkflow, STANDARD, {"mode": "another"}),
        (QueryEmbedding, EMBEDDING, {"vector": VECTOR[:-1]}),
        (QueryEmbedding, EMBEDDING, {"vector": [*VECTOR, 0.0]}),
        (QueryEmbedding, EMBEDDING, {"vector": [1.0001, *VECTOR[1:]]}),
        (QueryEmbedding, EMBEDDING, {"vector": [-1.0001, *VECTOR[1:]]}),
        (QueryEmbedding, EMBEDDING, {"vector": [math.nan, *VECTOR[1:]]}),
        (QueryEmbedding, EMBEDDING, {"model": "embed-english-v3.0"}),
        (QueryEmbedding, EMBEDDING, {"input_type": "search_document"}),
        (RetrievedChunk, CHUNK, {"chunk_id": ""}),
        (RetrievedChunk, CHUNK, {"text": ""}),
        (RetrievedChunk, CHUNK, {"text": "t" * 10_001}),
        (RetrievedChunk, CHUNK, {"source_url": "docs/02-ros2-fundamentals"}),
        (RetrievedChunk, CHUNK, {"similarity_score": -0.001}),
        (RetrievedChunk, CHUNK, {"similarity_score": 1.001}),
        (RetrievedChunk, CHUNK, {"similarity_score": math.nan}),
        (Citation, CITATION, {"chapter": None, "section": None, "source_url": None}),
        (Citation, CITATION, {"chapter": "", "section": "", "source_url": None}),
        (Citation, CITATION, {"source_url": "/docs/02-ros2-fundamentals"}),
        (Citation, CITATION, {"referenced_text": "r" * 501}),
        (GroundedAnswer, ANSWER, {"text": ""}),
        (GroundedAnswer, ANSWER, {"text": "t" * 2001}),
        (GroundedAnswer, ANSWER, {"citations": []}),
        (GroundedAnswer, ANSWER, {"mode": None}),
        (RefusalMessage, REFUSAL, {"reason": "I do not know"}),
        (RefusalMessage, REFUSAL, {"reason": f"{BOOK}."}),
        (RefusalMessage, REFUSAL, {"reason": SELECTION}),
        (RefusalMessage, REFUSAL, {"refusal_type": "selected_text_missing"}),
        (RefusalMessage, REFUSAL, {"refusal_type": "bored"}),
        (ErrorDetail, ERROR, {"code": "TIMEOUT"}),
        (ErrorDetail, ERROR, {"message": ""}),
        (ErrorDetail, ERROR, {"message": "m" * 201}),
        (ErrorDetail, ERROR, {"details": "d" * 501}),
        (ErrorDetail, ERROR, {"retry_after": -1}),
        (ResponseMetadata, METADATA, {"request_id": None}),
        (ResponseMetadata, METADATA, {"request_id": "request-1"}),
        (QueryResponse, RESPONSE, {"metadata": None}),
        (QueryResponse, RESPONSE, {"answer": None}),
        (QueryResponse, RESPONSE, {"refusal": REFUSAL}),
        (QueryResponse, RESPONSE, {"error": ERROR}),
        (QueryResponse, RESPONSE, {"status": "refused"}),
        (QueryResponse, RESPONSE, {"status": "error"}),
        (QueryResponse, RESPONSE, {"status": "refused", "refusal": REFUSAL}),
        (QueryResponse, RESPONSE, {"status": "success", "answer": None, "refusal": REFUSAL}),
        (QueryResponse, RESPONSE, {"status": "done"}),
    ],
)
def test_a_value_that_breaks_its_rule_is_an_error(
    entity: type[FrozenModel], fields: dict[str, Any], change: dict[str, Any]
) -> None:
    assert len(list_errors(entity, fields | change)) == 1


@pytest.mark.parametrize(
    ("entity", "value", "message"),
    [
        (QueryRequest, {"query": " "}, "Query cannot be empty"),
        (
            PlannedWorkflow,
            STANDARD | {"mode": "selected_text_only"},
            "selected_text required for selected_text_only mode",
        ),
        (PlannedWorkflow, STANDARD | {"selected_text": "words"}, "selected_text must be null for standard_rag mode"),
        (QueryEmbedding, EMBEDDING | {"vector": [2.0] * 1024}, "All vector values must be in range [-1.0, 1.0]"),
        (Citation, {}, "Citation must have at least one of: chapter, section, source_url"),
        (RefusalMessage, REFUSAL | {"reason": "No"}, f'Refusal message must be: "{BOOK}"'),
        (QueryResponse, RESPONSE | {"answer": None}, "answer required when status=success"),
        (QueryResponse, RESPONSE | {"status": "refused"}, "refusal required when status=refused"),
        (QueryResponse, RESPONSE | {"status": "error"}, "error required when status=error"),
        (QueryResponse, RESPONSE | {"error": ERROR}, "Exactly one of answer, refusal, error must be present"),
    ],
)
def test_error_messages_are_those_of_the_contract(
    entity: type[FrozenModel], value: dict[str, Any], message: str
) -> None:
    assert list_errors(entity, value) == [f"Value error, {message}"]


def test_outer_white_space_is_stripped_and_a_blank_selection_is_none() -> None:
    assert QueryRequest(query=" q\n", selected_text="\t some words \n").model_dump() == {
        "query": "q",
        "selected_text": "some words",
        "top_k": 5,
        "session_id": None,
    }
    assert QueryRequest(query="q", selected_text=" \n ").selected_text is None


def test_the_error_about_a_session_does_not_repeat_it() -> None:
    assert list_errors(QueryRequest, QUERY | {"session_id": "secret-words"}) == [
        "Value error, must be a UUID of version 4"
    ]


def test_each_type_of_refusal_has_its_fixed_sentence() -> None:
    assert {kind.value: reason for kind, reason in REFUSAL_MESSAGES.items()} == {
        "empty_retrieval": BOOK,
        "low_relevance": BOOK,
        "insufficient_grounding": BOOK,
        "selected_text_missing": SELECTION,
    }
    for kind in RefusalType:
        assert RefusalMessage(reason=REFUSAL_MESSAGES[kind], refusal_type=kind)


def test_the_error_codes_are_those_of_the_contract() -> None:
    assert {code.value for code in ErrorCode} == {
        "QDRANT_TIMEOUT",
        "COHERE_FAILURE",
        "OPENROUTER_TIMEOUT",
        "VALIDATION_FAILED",
        "RATE_LIMIT_EXCEEDED",
    }


def test_entities_are_immutable() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        setattr(QueryRequest(query="q"), "query", "another")  # noqa: B010
