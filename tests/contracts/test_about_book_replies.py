"""Questions about the book and small talk in every interface, from the real application."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from bookbound import bootstrap
from bookbound.bootstrap.web_app import create_web_app
from bookbound.contracts import agent, grounded_agent
from bookbound.contracts.v1_models import ReplyModel
from bookbound.domain.reply import NOT_IN_BOOK_MESSAGE
from bookbound.library import Book
from bookbound.settings import Settings

CONTENTS, GREETING, LAST_CHAPTER = "list the chapters", "hello", "Glossary"


@pytest.fixture(scope="module")
def settings(example_index: Path) -> Settings:
    return Settings(index=example_index, rate_limits="off", query_log="off", reader="fast")


@pytest.fixture(scope="module")
def client(settings: Settings) -> Iterator[TestClient]:
    with TestClient(create_web_app(settings)) as client:
        yield client


@pytest.fixture(scope="module")
def book(settings: Settings) -> Iterator[Book]:
    with bootstrap.open_book(settings) as book:
        yield book


def test_every_http_contract_answers_with_the_table_of_contents_and_its_mark(client: TestClient) -> None:
    ask = client.post("/ask", json={"question": CONTENTS}).json()
    chat = client.post("/chat", json={"question": CONTENTS}).json()
    query = client.post("/api/query", json={"query": CONTENTS}).json()
    own = client.post("/v1/answers", json={"question": CONTENTS}).json()
    ReplyModel.model_validate(own)
    for text in (ask["answer"], chat["answer"], query["answer"]["text"], own["answer"]):
        assert text.startswith("From the table of contents, 8 chapters:")
        assert LAST_CHAPTER in text
    assert ask["grounded"]
    assert len(ask["sources"]) == len(chat["citations"]) == len(query["answer"]["citations"]) == 8
    assert (own["status"], own["note"]) == ("answered", "From the table of contents, 8 chapters:")


def test_every_http_contract_refuses_a_greeting_in_its_own_words(client: TestClient) -> None:
    assert client.post("/ask", json={"question": GREETING}).json()["answer"] == NOT_IN_BOOK_MESSAGE
    assert client.post("/chat", json={"question": GREETING}).json()["answer"] == NOT_IN_BOOK_MESSAGE
    query = client.post("/api/query", json={"query": GREETING}).json()
    assert (query["status"], query["refusal"]["refusal_type"]) == ("refused", "low_relevance")
    own = client.post("/v1/answers", json={"question": GREETING}).json()
    ReplyModel.model_validate(own)
    assert (own["status"], own["refusal"]["message"]) == ("refused", NOT_IN_BOOK_MESSAGE)
    assert own["note"].startswith("Hello! Ask me anything that Physical AI")


def test_the_agents_answer_with_the_table_of_contents_and_refuse_a_greeting(book: Book) -> None:
    answered = agent.ask_or_raise(agent.AgentQuery(CONTENTS), book)
    assert isinstance(answered, agent.AgentResponse)
    assert answered.has_relevant_context
    assert LAST_CHAPTER in answered.answer
    grounded = grounded_agent.ask(CONTENTS, book)
    assert grounded.grounded
    assert grounded.answer.startswith("From the table of contents")
    assert grounded_agent.ask(GREETING, book).refused
    refused = agent.ask_or_raise(agent.AgentQuery(GREETING), book)
    assert not (isinstance(refused, agent.AgentResponse) and refused.has_relevant_context)
