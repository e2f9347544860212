"""Tests that the default thresholds of the contracts tell questions about a book from off-topic ones."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from bookbound import bootstrap
from bookbound.bootstrap.web_app import create_web_app
from bookbound.contracts import agent, grounded_agent
from bookbound.contracts.query import RELEVANCE_THRESHOLD
from bookbound.domain.question import AnswerScope, Question
from bookbound.library import Book
from bookbound.settings import Settings

THRESHOLDS = (grounded_agent.DEFAULT_SCORE_THRESHOLD, RELEVANCE_THRESHOLD, agent.DEFAULT_RELEVANCE_THRESHOLD)
# Chosen because their scores are far from the thresholds, so this says nothing about shares: some off-topic questions,
# such as one about today's weather, do find a passage above 0.3. Decision 28 has the shares.
ABOUT_THE_BOOK = [
    "What are the three parts of a strain wave gear?",
    "What is a service in ROS 2?",
    "What is the reality gap?",
    "How many joints does one CAN bus serve at 1 kHz?",
    "How does domain randomisation help a policy?",
    "How does an IMU measure orientation?",
    "What is the difference between a topic and an action?",
    "why does a humanoid need a real-time computer",
]
OFF_TOPIC = [
    "What is the capital of France?",
    "How do I bake sourdough bread?",
    "Who won the 2022 football world cup?",
    "Thanks, have a nice day!",
    "How do I get a divorce?",
    "Which vaccines does a baby need?",
    "what is the best stock to buy now",
    "Write me a poem about the sea.",
]


@pytest.fixture(scope="module")
def settings(example_index: Path) -> Settings:
    """Settings with which only the thresholds of the contracts refuse a question about the book."""
    return Settings(index=example_index, reader="fast", answer_threshold=0.0, rate_limits="off", query_log="off")


@pytest.fixture(scope="module")
def book(settings: Settings) -> Iterator[Book]:
    with bootstrap.open_book(settings) as book:
        yield book


@pytest.fixture(scope="module")
def best_scores(settings: Settings) -> dict[str, float]:
    """The best score that the search gives each question."""

    async def search() -> dict[str, float]:
        pipeline = await bootstrap.open_pipeline(settings)
        try:
            return {
                text: max(passage.score for passage in (await pipeline.candidates(Question(text))).passages)
                for text in (*ABOUT_THE_BOOK, *OFF_TOPIC)
            }
        finally:
            await pipeline.close()

    return asyncio.run(search())


def test_the_default_thresholds_are_those_of_the_contracts() -> None:
    assert THRESHOLDS == (0.3, 0.4, 0.5)


@pytest.mark.parametrize("text", ABOUT_THE_BOOK)
def test_a_question_about_the_book_is_above_every_threshold(best_scores: dict[str, float], text: str) -> None:
    assert best_scores[text] > max(THRESHOLDS)


@pytest.mark.parametrize("text", OFF_TOPIC)
def test_an_off_topic_question_is_below_every_threshold(best_scores: dict[str, float], text: str) -> None:
    assert best_scores[text] < min(THRESHOLDS)


def test_a_selection_scores_its_similarity_to_the_question(settings: Settings) -> None:
    selection = "A strain wave gear has three parts: a wave generator, a flexspline and a circular spline."

    async def score(text: str) -> float:
        pipeline = await bootstrap.open_pipeline(settings)
        try:
            found = await pipeline.candidates(Question(text, selection, AnswerScope.SELECTION))
            return found.passages[0].score
        finally:
            await pipeline.close()

    assert max(THRESHOLDS) < asyncio.run(score(ABOUT_THE_BOOK[0])) < 1
    assert asyncio.run(score(OFF_TOPIC[0])) < min(THRESHOLDS)


def test_the_agent_has_no_context_for_an_off_topic_question_only(book: Book) -> None:
    found = [agent.ask_or_raise(agent.AgentQuery(text), book) for text in (ABOUT_THE_BOOK[0], OFF_TOPIC[0])]
    answer, error = found
    assert isinstance(answer, agent.AgentResponse)
    assert answer.has_relevant_context
    assert isinstance(error, agent.AgentError)
    assert error.error_type == "no_context"


def test_the_grounded_agent_says_that_only_an_off_topic_question_is_off_topic(book: Book) -> None:
    answer, refusal = (grounded_agent.ask(text, book) for text in (ABOUT_THE_BOOK[0], OFF_TOPIC[0]))
    assert (answer.refused, refusal.refused) == (False, True)
    assert refusal.answer.startswith("This question appears to be outside the scope of the ")


def test_the_query_contract_finds_only_an_off_topic_question_of_low_relevance(settings: Settings) -> None:
    with TestClient(create_web_app(settings)) as client:
        answer, refusal = (
            client.post("/api/query", json={"query": text}).json() for text in (ABOUT_THE_BOOK[0], OFF_TOPIC[0])
        )
    assert answer["status"] == "success"
    assert refusal["status"] == "refused"
    assert refusal["refusal"]["refusal_type"] == "low_relevance"
