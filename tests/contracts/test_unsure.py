"""Tests that an unsure reply is a refusal in the published contracts, and its own kind of reply in our API."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.contracts.helpers import open_scripted_book

from bookbound.contracts import agent, grounded_agent
from bookbound.contracts.v1_models import ReplyModel
from bookbound.domain.judgement import RefusalReason
from bookbound.domain.reply import (
    NOT_IN_BOOK_MESSAGE,
    NOT_IN_SELECTION_MESSAGE,
    UNSURE_MESSAGE,
    UNSURE_SELECTION_MESSAGE,
    Reply,
)
from bookbound.testing import ScriptedBackend, make_passage, make_refusal, make_unsure

Serve = Callable[[ScriptedBackend], TestClient]
PASSAGE = make_passage("The tower is 9 m high.", score=0.9)
UNSURE = make_unsure([PASSAGE])
REFUSAL = make_refusal(RefusalReason.INSUFFICIENT_GROUNDING, [PASSAGE])
CLOSEST_TEXT = "9 m high"
TIMES = {"request_id", "session_id", "timestamp", "processing_time_ms"}


def remove_request_values(body: Any) -> Any:
    if isinstance(body, dict):
        return {name: remove_request_values(value) for name, value in body.items() if name not in TIMES}
    return body


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/ask", {"question": "How high?"}),
        ("/chat", {"question": "How high?"}),
        ("/api/v1/chat", {"question": "How high?", "selected_text": "A tower of stone."}),
        ("/api/query", {"query": "How high?"}),
        ("/v1/query", {"query": "How high?", "selected_text": "A tower of stone."}),
    ],
)
def test_a_published_contract_returns_an_unsure_reply_as_its_refusal(
    serve: Serve, path: str, body: dict[str, str]
) -> None:
    unsure, refused = (serve(ScriptedBackend(reply)).post(path, json=body) for reply in (UNSURE, REFUSAL))
    assert unsure.status_code == refused.status_code == 200
    expected = remove_request_values(refused.json())
    if path == "/ask":
        expected["retrieval_quality"] = UNSURE.judgement.quality
    assert remove_request_values(unsure.json()) == expected
    assert CLOSEST_TEXT not in unsure.text
    assert "not sure" not in unsure.text


def test_an_unsure_selection_is_refused_in_the_words_for_a_selection(serve: Serve) -> None:
    client = serve(ScriptedBackend(make_unsure([PASSAGE], RefusalReason.SELECTED_TEXT_MISSING)))
    selected = {"selected_text": "A tower of stone."}
    response = client.post("/api/query", json={"query": "How high?", **selected}).json()
    assert (response["status"], response["refusal"]["refusal_type"]) == ("refused", "selected_text_missing")
    assert client.post("/ask", json={"question": "How high?", **selected}).json()["answer"] == NOT_IN_BOOK_MESSAGE
    assert client.post("/chat", json={"question": "How?", **selected}).json()["answer"] == NOT_IN_SELECTION_MESSAGE


def test_the_agents_refuse_if_the_reply_is_unsure() -> None:
    with open_scripted_book(UNSURE) as (book, _):
        response = agent.ask("How high?", book)
        grounded = grounded_agent.ask("How high?", book)
    assert isinstance(response, agent.AgentResponse)
    assert (response.answer, response.sources, response.has_relevant_context) == (NOT_IN_BOOK_MESSAGE, [], False)
    assert (grounded.answer, grounded.citations) == (grounded_agent.REFUSAL_NO_CONTEXT, [])
    assert (grounded.grounded, grounded.refused) == (False, True)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (UNSURE, UNSURE_MESSAGE),
        (make_unsure([PASSAGE], RefusalReason.SELECTED_TEXT_MISSING), UNSURE_SELECTION_MESSAGE),
    ],
)
def test_our_own_api_shows_the_closest_passages(serve: Serve, reply: Reply, message: str) -> None:
    body = serve(ScriptedBackend(reply)).post("/v1/answers", json={"question": "How high?"}).json()
    ReplyModel.model_validate(body)
    assert (body["status"], body["sure"], body["answer"], body["refusal"]) == ("unsure", False, None, None)
    assert body["unsure"]["message"] == message
    assert (body["judgement"]["unsure"], body["judgement"]["answer_present"]) == (True, False)
    assert (body["sentences"], body["citations"], body["reservation"]) == ([], [], None)
    (closest,) = body["closest"]
    assert (closest["quote"], closest["url"]) == ("The tower is 9 m high.", PASSAGE.chunk.place.link)
    assert CLOSEST_TEXT.split()[-1] in closest["link"]


def test_a_refusal_of_our_own_api_has_the_places_of_the_closest_sections(serve: Serve) -> None:
    body = serve(ScriptedBackend(REFUSAL)).post("/v1/answers", json={"question": "How high?"}).json()
    ReplyModel.model_validate(body)
    assert (body["status"], body["unsure"], body["closest"]) == ("refused", None, [])
    assert [section["url"] for section in body["refusal"]["sections"]] == [PASSAGE.chunk.place.link]
    assert "quote" not in body["refusal"]["sections"][0]


def test_a_stream_ends_with_the_unsure_reply_and_has_no_sentences(serve: Serve) -> None:
    response = serve(ScriptedBackend(UNSURE)).post(
        "/v1/answers", json={"question": "How high?"}, headers={"Accept": "text/event-stream"}
    )
    events = [event.split("\n", 1) for event in response.text.strip().split("\n\n")]
    assert [name for name, _ in events] == ["event: retrieval", "event: judgement", "event: reply"]
    last = json.loads(events[-1][1].removeprefix("data: "))
    assert (last["status"], last["closest"][0]["quote"]) == ("unsure", "The tower is 9 m high.")
