"""Tests contract 002, the retrieval agent."""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
import subprocess
import sys
from dataclasses import asdict, astuple, fields, replace
from pathlib import Path
from typing import Any, cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contracts.helpers import open_scripted_book

import bookbound
from bookbound import bootstrap
from bookbound.answering.pipeline import Pipeline
from bookbound.contracts import agent
from bookbound.contracts.agent import ErrorType
from bookbound.domain import errors
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import RefusalReason
from bookbound.domain.question import Question, Retrieval
from bookbound.domain.reply import NOT_IN_BOOK_MESSAGE, Reply
from bookbound.domain.trace import StageClock
from bookbound.library import Book
from bookbound.settings import Settings
from bookbound.testing import ScriptedPipeline, make_answer, make_passage, make_refusal

NODES = make_passage(
    "ROS 2 nodes communicate through topics.",
    "chunk_7",
    0.87,
    chapter="module-1-ros2",
    title="ROS 2 Fundamentals",
    section="Nodes",
    url="https://book.example/docs/module-1-ros2",
    anchor="nodes",
)
TOPICS = make_passage(
    "A topic is a named bus.", "chunk_9", 0.61, chapter="module-1-ros2", section="Topics", url="/topics"
)
RESULT = agent.SearchResult(0.5, "Words.", "https://book.example/a", "S", "c1", "C", "P", 0, "hash")
RESPONSE = agent.AgentResponse("Words.", [agent.SourceCitation("C", "S", "/a", 0.5)], True, 0.0, 0.0, 0.0)


def ask_scripted(script: Reply | Exception, query: Any = "What is a node?") -> agent.AgentResponse | agent.AgentError:
    with open_scripted_book(script) as (book, _):
        return agent.ask(query, book=book)


def test_the_constants_are_those_of_the_contract() -> None:
    assert (agent.DEFAULT_TOP_K, agent.DEFAULT_RELEVANCE_THRESHOLD) == (5, 0.5)
    assert (agent.MAX_TOP_K, agent.MAX_QUERY_LENGTH) == (20, 2000)
    assert agent.COLLECTION_NAME == "physical-ai-textbook"


def test_the_states_are_those_of_the_contract() -> None:
    assert " ".join(agent.QueryState) == "RECEIVED VALIDATING RETRIEVING GENERATING COMPLETE ERROR"


def test_the_entities_have_the_fields_of_the_published_contract_in_its_order(shared: Path) -> None:
    text = (shared / "contracts" / "002-agent.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL))
    for kind in (agent.SearchResult, agent.ResultSet, agent.AgentQuery, agent.SourceCitation, agent.AgentResponse):
        assert [each.name for each in fields(kind)] == re.findall(r"^\| `(\w+)`", sections[kind.__name__], re.MULTILINE)
    error = sections["AgentError"]
    assert [each.name for each in fields(agent.AgentError)] == re.findall(r"^\| `(\w+)`", error, re.MULTILINE)
    assert list(get_args(ErrorType)) == re.findall(r"^- `(\w+)`:", error, re.MULTILINE)
    constants = re.findall(r"^\| `([A-Z_]+)` \| (\S+) \|", text, re.MULTILINE)
    assert len(constants) == 5
    assert {name: str(getattr(agent, name)) for name, _ in constants} == {n: value.strip('"') for n, value in constants}


def test_a_search_result_has_nine_fields_and_the_set_three_timings() -> None:
    with open_scripted_book(make_answer([("Nodes.", NODES)], retrieved=[NODES, TOPICS])) as (book, pipeline):
        found = agent.semantic_search(" nodes ", book, top_k=2)
    assert (pipeline.questions[0].text, pipeline.questions[0].k) == ("nodes", 2)
    assert asdict(found.results[0]) == {
        "score": 0.87,
        "content": "ROS 2 nodes communicate through topics.",
        "source_url": "https://book.example/docs/module-1-ros2#nodes",
        "section_title": "Nodes",
        "chunk_id": "chunk_7",
        "chapter": "module-1-ros2",
        "page_title": "ROS 2 Fundamentals",
        "position": 0,
        "content_hash": "a02432e7375230a831f96f88e3d082af",
    }
    assert (found.query, found.total_count, [each.chunk_id for each in found.results]) == (
        "nodes",
        2,
        ["chunk_7", "chunk_9"],
    )
    assert (found.query_time_ms, found.search_time_ms) == (1.0, 2.0)


def test_the_total_time_of_a_search_is_the_whole_time_and_not_the_sum_of_two_stages() -> None:
    class SlowPipeline(ScriptedPipeline):
        async def search(self, question: Question, clock: StageClock | None = None) -> Retrieval:
            await asyncio.sleep(0.05)  # between the stages
            return await super().search(question, clock)

    pipeline = SlowPipeline(make_answer([("Nodes.", NODES)]))
    with asyncio.Runner() as runner:
        found = agent.semantic_search("nodes", Book(cast(Pipeline, pipeline), runner))
    assert found.total_time_ms >= 50 > found.query_time_ms + found.search_time_ms


@pytest.mark.parametrize("top_k", [0, 21])
def test_a_search_validates_its_query(top_k: int) -> None:
    with open_scripted_book(make_refusal()) as (book, pipeline), pytest.raises(errors.InvalidInputError):
        agent.semantic_search("nodes", book, top_k)
    assert pipeline.questions == []


def test_the_file_replaces_a_link_that_is_not_a_url() -> None:
    place = replace(NODES.chunk.place, url="book.example/a b", file="part 1/nodes.md")
    passage = Passage(replace(NODES.chunk, place=place), 0.9)
    with open_scripted_book(make_answer([("Nodes.", passage)])) as (book, _):
        assert agent.semantic_search("nodes", book).results[0].source_url == "/part%201/nodes.md#nodes"


def test_a_link_into_a_pdf_begins_at_the_root_and_keeps_its_page() -> None:
    place = replace(NODES.chunk.place, url="a%20book.pdf", anchor="page=8", file="a book.pdf#page=3")
    passage = Passage(replace(NODES.chunk, place=place), 0.9)
    with open_scripted_book(make_answer([("Nodes.", passage)])) as (book, _):
        assert agent.semantic_search("nodes", book).results[0].source_url == "/a%20book.pdf#page=8"


def test_context_is_numbered_blocks_of_address_and_text() -> None:
    with open_scripted_book(make_answer([("Nodes.", NODES)], retrieved=[NODES, TOPICS])) as (book, _):
        results = agent.semantic_search("nodes", book).results
    assert agent.format_context(results) == (
        "[1] module-1-ros2 > Nodes (https://book.example/docs/module-1-ros2#nodes)\n"
        "ROS 2 nodes communicate through topics.\n\n"
        "[2] module-1-ros2 > Topics (/topics)\n"
        "A topic is a named bus."
    )
    assert agent.format_context([]) == ""


@given(st.lists(st.text(min_size=1), max_size=5))
def test_context_contains_every_result_in_order(contents: list[str]) -> None:
    text = agent.format_context([replace(RESULT, content=content) for content in contents])
    at = 0
    for number, content in enumerate(contents, 1):
        block = f"[{number}] C > S (https://book.example/a)\n{content}"
        at = text.index(block, at) + len(block)
    assert at == len(text)


@pytest.mark.parametrize(
    "valid_fields",
    [
        {"score": 0.0},
        {"score": 1.0},
        {"content": "x"},
        {"source_url": "/docs/x#y"},
        {"source_url": "/"},
        {"source_url": "http://book.example"},
        {"source_url": "HTTPS://book.example:8000/a?b#c"},
        {"chunk_id": "c"},
    ],
)
def test_a_search_result_at_the_limits_is_valid(valid_fields: dict[str, Any]) -> None:
    assert valid_fields.items() <= asdict(replace(RESULT, **valid_fields)).items()


@pytest.mark.parametrize(
    "broken",
    [
        {"score": -0.01},
        {"score": 1.01},
        {"score": math.nan},
        {"content": ""},
        {"source_url": ""},
        {"source_url": "docs/x"},
        {"source_url": "//book.example/a"},
        {"source_url": "https://"},
        {"source_url": "https:///a"},
        {"source_url": "ftp://book.example/a"},
        {"source_url": "javascript:alert(1)"},
        {"source_url": "https://book.example/a b"},
        {"chunk_id": ""},
    ],
)
def test_a_search_result_beyond_the_limits_is_an_error(broken: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        replace(RESULT, **broken)


def test_a_query_has_the_defaults_of_the_contract_and_no_outer_white_space() -> None:
    assert asdict(agent.AgentQuery("  Why? \n")) == {"text": "Why?", "top_k": 5, "relevance_threshold": 0.5}


@pytest.mark.parametrize(
    "valid_fields",
    [("x",), ("x" * 2000,), (" " + "x" * 2000,), ("x", 1), ("x", 20), ("x", 5, 0.0), ("x", 5, 1.0), ("x", 5, 0)],
)
def test_a_query_at_the_limits_is_valid(valid_fields: tuple[Any, ...]) -> None:
    assert astuple(agent.AgentQuery(*valid_fields))[: len(valid_fields)] == (valid_fields[0].strip(), *valid_fields[1:])


BROKEN = [
    ("",),
    (" \n\t",),
    ("x" * 2001,),
    ("lone \ud800",),
    (5,),
    (None,),
    ("x", 0),
    ("x", 21),
    ("x", True),
    ("x", 5.0),
    ("x", "5"),
    ("x", 5, -0.01),
    ("x", 5, 1.01),
    ("x", 5, math.nan),
    ("x", 5, True),
    ("x", 5, "0.5"),
]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_query_beyond_the_limits_is_invalid_input(broken: tuple[Any, ...]) -> None:
    with pytest.raises(errors.InvalidInputError):
        agent.AgentQuery(*broken)


@pytest.mark.parametrize("text", [broken[0] for broken in BROKEN if len(broken) == 1])
def test_an_invalid_query_is_a_validation_error_and_reaches_no_book(text: Any) -> None:
    with open_scripted_book(make_refusal()) as (book, pipeline):
        reply = agent.ask(text, book)
    assert isinstance(reply, agent.AgentError)
    assert (reply.error_type, pipeline.questions) == ("validation", [])
    assert not (isinstance(text, str) and text.strip() and text in reply.message)


def test_a_response_has_each_cited_place_once_with_its_best_score() -> None:
    again = Passage(replace(NODES.chunk, id="chunk_8", text="Nodes again."), 0.93)
    reply = ask_scripted(
        make_answer([("Nodes talk.", NODES), ("On a bus.", TOPICS), ("Again.", again)], retrieved=[NODES])
    )
    assert isinstance(reply, agent.AgentResponse)
    assert asdict(reply) == {
        "answer": "Nodes talk. On a bus. Again.",
        "sources": [
            {
                "chapter": "module-1-ros2",
                "section": "Nodes",
                "url": "https://book.example/docs/module-1-ros2#nodes",
                "relevance_score": 0.93,
            },
            {"chapter": "module-1-ros2", "section": "Topics", "url": "/topics", "relevance_score": 0.61},
        ],
        "has_relevant_context": True,
        "retrieval_time_ms": 3.0,
        "generation_time_ms": 2.0,
        "total_time_ms": 6.0,
    }


def test_a_retrieved_source_that_the_answer_does_not_use_is_not_cited() -> None:
    reply = ask_scripted(make_answer([("Nodes talk.", NODES)], retrieved=[NODES, TOPICS]))
    assert isinstance(reply, agent.AgentResponse)
    assert [source.section for source in reply.sources] == ["Nodes"]


def test_a_query_passes_its_top_k_and_threshold_to_the_book() -> None:
    with open_scripted_book(make_answer([("Nodes talk.", NODES)])) as (book, pipeline):
        agent.ask("Why?", book)
        agent.ask(agent.AgentQuery("How?", top_k=20, relevance_threshold=0.7), book)
    assert [(each.text, each.k, each.threshold) for each in pipeline.questions] == [("Why?", 5, 0.5), ("How?", 20, 0.7)]


@pytest.mark.parametrize("retrieved", [[], [replace(NODES, score=0.4999)]])
def test_no_passage_above_the_threshold_is_no_context(retrieved: list[Passage]) -> None:
    reply = ask_scripted(make_refusal(RefusalReason.LOW_RELEVANCE, retrieved))
    assert isinstance(reply, agent.AgentError)
    assert (reply.error_type, reply.message) == ("no_context", NOT_IN_BOOK_MESSAGE)


def test_a_refusal_despite_similar_passages_is_a_response_without_relevant_context() -> None:
    reply = ask_scripted(make_refusal(RefusalReason.INSUFFICIENT_GROUNDING, [replace(NODES, score=0.5)]))
    assert isinstance(reply, agent.AgentResponse)
    assert (reply.answer, reply.sources, reply.has_relevant_context) == (NOT_IN_BOOK_MESSAGE, [], False)


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (errors.InvalidInputError("Ask less."), "validation"),
        (errors.ConfigError("Set the key."), "validation"),
        (errors.ServiceUnreachableError("Qdrant is gone.", service="qdrant"), "retrieval"),
        (errors.ServiceRateLimitError("Cohere asks to wait.", service="cohere"), "retrieval"),
        (errors.ServiceTimeoutError("The embeddings are slow.", service="embeddings"), "retrieval"),
        (errors.CorruptIndexError("Index again."), "retrieval"),
        (errors.IndexNotFoundError("Index first."), "retrieval"),
        (errors.ServiceUnreachableError("The model is gone.", service="language model"), "generation"),
        (errors.ServiceTimeoutError("The model is slow.", service="language model"), "generation"),
    ],
)
def test_each_failure_has_its_type_and_says_what_to_do(failure: errors.BookboundError, kind: str) -> None:
    reply = ask_scripted(failure)
    assert isinstance(reply, agent.AgentError)
    assert (reply.error_type, reply.message) == (kind, str(failure))
    assert reply.details is not None
    assert reply.details not in str(reply) + repr(reply)


def test_details_name_state_error_service_and_cause_but_no_messages() -> None:
    failure = errors.ServiceUnreachableError("Qdrant is gone.", service="qdrant")
    failure.__cause__ = ConnectionError("https://user:password@host")
    assert (
        agent.error_from_exception(failure).details
        == "RETRIEVING: ServiceUnreachableError of qdrant from ConnectionError"
    )
    assert agent.error_from_exception(errors.InvalidInputError("x")).details == "VALIDATING: InvalidInputError"


def test_a_defect_is_raised_and_not_an_error_of_the_contract() -> None:
    with pytest.raises(KeyError):
        ask_scripted(KeyError("a defect"))


def test_an_unexpected_error_shows_only_its_type() -> None:
    response = agent.error_from_exception(KeyError("a reader's secret"))
    assert response.error_type == "generation"
    assert "secret" not in f"{response.message} {response.details}"
    assert agent.error_from_exception(PermissionError(13, "Permission denied", "/index")).error_type == "retrieval"


@pytest.mark.parametrize(
    "valid_fields", [{"sources": [], "has_relevant_context": False}, {"total_time_ms": 0.0}, {"answer": "x"}]
)
def test_a_response_at_the_limits_is_valid(valid_fields: dict[str, Any]) -> None:
    response = replace(RESPONSE, **valid_fields)
    assert all(getattr(response, name) == value for name, value in valid_fields.items())


@pytest.mark.parametrize(
    "broken",
    [
        {"answer": ""},
        {"answer": " "},
        {"sources": []},
        {"retrieval_time_ms": -0.1},
        {"generation_time_ms": -0.1},
        {"total_time_ms": -0.1},
        {"total_time_ms": math.nan},
    ],
)
def test_a_response_beyond_the_limits_is_an_error(broken: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must not|has sources"):
        replace(RESPONSE, **broken)


@pytest.mark.parametrize("kind", get_args(ErrorType))
def test_an_error_has_one_of_four_types_and_a_message(kind: ErrorType) -> None:
    assert agent.AgentError(kind, "Words.").details is None
    with pytest.raises(ValueError, match="message"):
        agent.AgentError(kind, "")
    with pytest.raises(ValueError, match="four"):
        agent.AgentError(cast(ErrorType, f"{kind}s"), "Words.")


@given(
    st.lists(st.floats(0, 1), max_size=6),
    st.floats(0, 1),
    st.sampled_from([RefusalReason.EMPTY_RETRIEVAL, RefusalReason.LOW_RELEVANCE, RefusalReason.INSUFFICIENT_GROUNDING]),
)
def test_a_refusal_is_no_context_only_if_no_score_reaches_the_threshold(
    scores: list[float], threshold: float, kind: RefusalReason
) -> None:
    script = make_refusal(kind, [replace(NODES, score=score) for score in scores])
    reply = ask_scripted(script, agent.AgentQuery("Why?", relevance_threshold=threshold))
    reached = any(score >= threshold for score in scores)
    assert isinstance(reply, agent.AgentResponse) == reached
    if isinstance(reply, agent.AgentError):
        assert reply.error_type == "no_context"


def test_a_real_book_answers_refuses_and_searches(tmp_path: Path) -> None:
    (source := tmp_path / "source").mkdir()
    words = "The wick of the lamp is trimmed every 12 hours."
    (source / "lamps.md").write_text(f"# Lamps\n\n## The wick\n\n{words}\n", encoding="utf-8")
    bookbound.index(source, tmp_path / "index")
    with bootstrap.open_book(Settings(index=tmp_path / "index", answer_threshold=0.0)) as book:
        reply = agent.ask("How often is the wick of the lamp trimmed?", book)
        unrelated = agent.ask("Which airline flies to Reykjavik on Sundays?", book)
        found = agent.semantic_search("wick", book, top_k=1)
    assert isinstance(reply, agent.AgentResponse)
    assert (reply.answer, reply.sources[0].url) == (words, "/lamps#the-wick")
    assert reply.total_time_ms >= reply.retrieval_time_ms + reply.generation_time_ms > 0
    assert isinstance(unrelated, agent.AgentError)
    assert unrelated.error_type == "no_context"
    first = found.results[0]
    assert first.content_hash == hashlib.md5(first.content.encode(), usedforsecurity=False).hexdigest()
    assert found.total_time_ms > found.query_time_ms + found.search_time_ms > 0


@pytest.mark.parametrize("module", ["agent", "grounded_agent"])
def test_importing_the_contract_loads_no_model_and_no_web_framework(module: str) -> None:
    heavy = ("onnxruntime", "numpy", "tokenizers", "qdrant_edge", "qdrant_client", "fastapi", "pydantic", "typer")
    script = f"import sys, bookbound.contracts.{module}; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
