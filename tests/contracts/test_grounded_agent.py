"""Tests contract 004, the grounded agent."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contracts.helpers import open_scripted_book

import bookbound
from bookbound import bootstrap
from bookbound.contracts import grounded_agent
from bookbound.domain.chunk import Passage
from bookbound.domain.errors import (
    BookNotFoundError,
    InvalidInputError,
    ServiceAuthenticationError,
    ServiceUnreachableError,
)
from bookbound.domain.judgement import RefusalReason
from bookbound.domain.reply import Reply
from bookbound.library import Book
from bookbound.settings import Settings
from bookbound.testing import make_answer, make_passage, make_refusal
from bookbound.testing.scripted_services import Fault, ScriptedServices, ToolCall

GEAR = make_passage(
    "A strain wave gear has three parts.",
    "chunk_3",
    0.823,
    chapter="Actuators",
    title="Drives",
    section="Strain wave gears",
    url="https://book.example/docs/drives",
    anchor="gears",
)
OTHER = make_passage("Gears wear.", "chunk_4", 0.41, chapter="Actuators", section="Wear", url="/wear")
CHUNK = grounded_agent.RetrievedChunk("Words.", 0.5, "/a", 2, "c1", "C", "S", "T")
ENTITIES = "AgentConfig GroundingContext Citation AgentResponse RetrievedChunk RetrievalResult AssembledContext".split()

scores = st.floats(0, 1)
words = st.text(max_size=20)
chunks = st.builds(grounded_agent.RetrievedChunk, words, scores, words, st.integers(0, 99), words, words, words, words)
results = st.builds(grounded_agent.RetrievalResult, words, st.lists(chunks, max_size=5))
configs = st.builds(
    grounded_agent.AgentConfig,
    temperature=st.just(0.0),
    k=st.integers(-1, 10),
    score_threshold=st.floats(-1, 2),
    tool_choice=st.sampled_from(["required", "auto", "none", "", "any"]),
)


def ask_scripted(
    script: Reply | Exception, config: grounded_agent.AgentConfig | None = None
) -> grounded_agent.AgentResponse:
    with open_scripted_book(script) as (book, _):
        return grounded_agent.ask("What is a strain wave gear?", book, config)


@pytest.fixture(scope="module")
def published(shared: Path) -> dict[str, Any]:
    """What the code blocks of the published contract define."""
    text = (shared / "contracts" / "004-grounded-agent.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {
        "dataclass": dataclass,
        "field": field,
        "Optional": Optional,
        "format_chunks_for_agent": grounded_agent.format_chunks_for_agent,
    }
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    exec("from __future__ import annotations\n" + code, names)
    return names


def test_every_entity_has_the_fields_and_defaults_of_the_published_contract(published: dict[str, Any]) -> None:
    for name in ENTITIES:
        ours = [(each.name, each.default, each.default_factory) for each in fields(getattr(grounded_agent, name))]
        theirs = [(each.name, each.default, each.default_factory) for each in fields(published[name])]
        assert ours == theirs, name


def test_every_constant_is_that_of_the_published_contract(published: dict[str, Any]) -> None:
    constants = {name: value for name, value in published.items() if re.fullmatch(r"[A-Z][A-Z_]+", name)}
    assert len(constants) == 10
    assert {name: getattr(grounded_agent, name) for name in constants} == constants


@given(config=configs)
def test_a_configuration_is_judged_as_by_the_published_contract(
    published: dict[str, Any], config: grounded_agent.AgentConfig
) -> None:
    assert grounded_agent.validate_config(config) == published["validate_config"](config)


@given(result=results, threshold=scores)
def test_grounding_is_decided_as_by_the_published_contract(
    published: dict[str, Any], result: grounded_agent.RetrievalResult, threshold: float
) -> None:
    assert asdict(grounded_agent.decide_grounding(result, threshold)) == asdict(
        published["decide_grounding"](result, threshold)
    )


@given(chunk=chunks)
def test_a_citation_is_written_as_by_the_published_contract(
    published: dict[str, Any], chunk: grounded_agent.RetrievedChunk
) -> None:
    parts = (chunk.source_url, chunk.chapter, chunk.section, chunk.score, chunk.chunk_index)
    assert grounded_agent.Citation(*parts).format() == published["Citation"](*parts).format()


def test_the_constants_have_their_published_values() -> None:
    assert (grounded_agent.DEFAULT_SCORE_THRESHOLD, grounded_agent.MIN_CHUNKS_FOR_ANSWER) == (0.3, 1)
    assert (
        grounded_agent.DEFAULT_K,
        grounded_agent.MIN_K,
        grounded_agent.MAX_K,
        grounded_agent.MAX_ANSWER_LENGTH,
        grounded_agent.MAX_CITATIONS,
    ) == (5, 3, 8, 2000, 5)


def test_a_configuration_has_the_defaults_of_the_contract() -> None:
    assert asdict(grounded_agent.AgentConfig()) == {
        "model": "gpt-4o-mini",
        "temperature": 0.0,
        "k": 5,
        "score_threshold": 0.3,
        "tool_choice": "required",
        "collection_name": "textbook_chunks",
    }


@pytest.mark.parametrize(
    "valid_fields",
    [
        {},
        {"k": 3},
        {"k": 8},
        {"score_threshold": 0.0},
        {"score_threshold": 1.0},
        {"score_threshold": 1},
        {"tool_choice": "auto"},
        {"tool_choice": "none"},
        {"temperature": 0.0},
        {"temperature": 2.0},
    ],
)
def test_a_configuration_at_the_limits_is_valid(valid_fields: dict[str, Any]) -> None:
    config = grounded_agent.AgentConfig(**valid_fields)
    assert grounded_agent.validate_config(config) == (config, None)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"k": 2}, "K must be 3-8, got 2"),
        ({"k": 9}, "K must be 3-8, got 9"),
        ({"k": 5.0}, "K must be 3-8, got 5.0"),
        ({"score_threshold": -0.1}, "Score threshold must be 0.0-1.0, got -0.1"),
        ({"score_threshold": 1.1}, "Score threshold must be 0.0-1.0, got 1.1"),
        ({"score_threshold": math.nan}, "Score threshold must be 0.0-1.0, got nan"),
        ({"score_threshold": "0.5"}, "Score threshold must be 0.0-1.0, got 0.5"),
        ({"tool_choice": "never"}, "Invalid tool_choice: never"),
        ({"temperature": -0.1}, "Temperature must be 0.0-2.0, got -0.1"),
        ({"temperature": 2.1}, "Temperature must be 0.0-2.0, got 2.1"),
    ],
)
def test_a_configuration_beyond_the_limits_is_invalid_input(broken: dict[str, Any], message: str) -> None:
    config = grounded_agent.AgentConfig(**broken)
    assert grounded_agent.validate_config(config) == (config, message)
    with (
        open_scripted_book(make_refusal()) as (book, pipeline),
        pytest.raises(InvalidInputError, match=re.escape(message)),
    ):
        grounded_agent.ask("Why?", book, config)
    assert pipeline.questions == []


def test_an_empty_retrieval_is_refused_with_its_reason() -> None:
    assert grounded_agent.decide_grounding(
        grounded_agent.RetrievalResult("Why?"), 0.3
    ) == grounded_agent.GroundingContext(
        chunks=[],
        formatted_text="",
        should_refuse=True,
        refusal_reason="No content retrieved from knowledge base",
        query="Why?",
    )


def test_scores_below_the_threshold_are_refused_with_the_best_score() -> None:
    found = [replace(CHUNK, score=0.1), replace(CHUNK, score=0.2999)]
    assert grounded_agent.decide_grounding(
        grounded_agent.RetrievalResult("Why?", found), 0.3
    ) == grounded_agent.GroundingContext(
        chunks=found,
        formatted_text="",
        should_refuse=True,
        refusal_reason="All retrieved content has low relevance (max score: 0.30 < threshold: 0.3)",
        max_score=0.2999,
        query="Why?",
    )


def test_a_score_at_the_threshold_is_approved() -> None:
    found = [replace(CHUNK, score=0.3)]
    context = grounded_agent.decide_grounding(grounded_agent.RetrievalResult("Why?", found), 0.3)
    assert (context.should_refuse, context.refusal_reason, context.has_context) == (False, "", True)
    assert context.formatted_text == grounded_agent.format_chunks_for_agent(found)


@given(result=results, threshold=scores)
def test_a_decision_is_consistent(result: grounded_agent.RetrievalResult, threshold: float) -> None:
    context = grounded_agent.decide_grounding(result, threshold)
    assert context.should_refuse == (not any(chunk.score >= threshold for chunk in result.chunks))
    assert context.has_context == (not context.should_refuse)
    assert bool(context.refusal_reason) == context.should_refuse
    assert bool(context.formatted_text) == context.has_context
    assert (context.chunks, context.query) == (result.chunks, result.query)
    assert context.source_count == len({chunk.source_url for chunk in result.chunks}) <= result.count
    assert context.max_score == max((chunk.score for chunk in result.chunks), default=0.0)


def test_a_citation_is_written_as_the_contract_says() -> None:
    citation = grounded_agent.Citation("https://book.example/a", "Actuators", "Gears", 0.827, 4)
    assert citation.format() == ("[Source: https://book.example/a | Chapter: Actuators | Section: Gears | Score: 0.83]")


def test_chunks_for_the_agent_are_citations_with_their_text_below() -> None:
    other = replace(CHUNK, text="More.", score=0.25, source_url="/b")
    text = (
        "[Source: /a | Chapter: C | Section: S | Score: 0.50]\nWords.\n\n"
        "[Source: /b | Chapter: C | Section: S | Score: 0.25]\nMore."
    )
    assert grounded_agent.format_chunks_for_agent([CHUNK, other]) == text
    assert grounded_agent.assemble_context(
        grounded_agent.RetrievalResult("Why?", [CHUNK, other, CHUNK])
    ) == grounded_agent.AssembledContext(
        f"{text}\n\n{grounded_agent.format_chunks_for_agent([CHUNK])}", 3, len(text) + 2 + 59, ["/a", "/b"]
    )


@given(results)
def test_an_assembled_context_counts_its_chunks_and_characters(result: grounded_agent.RetrievalResult) -> None:
    context = grounded_agent.assemble_context(result)
    assert (context.chunk_count, context.total_chars) == (result.count, len(context.formatted_text))
    assert len(context.sources) == len(set(context.sources))
    assert set(context.sources) == {chunk.source_url for chunk in result.chunks}
    assert all(chunk.text in context.formatted_text for chunk in result.chunks)


def test_a_search_returns_chunks_with_their_addresses() -> None:
    with open_scripted_book(make_answer([("Gears.", GEAR)], retrieved=[GEAR, OTHER])) as (book, pipeline):
        found = grounded_agent.search_knowledge_base(" gears ", 3, book)
    assert (pipeline.questions[0].text, pipeline.questions[0].k) == ("gears", 3)
    assert (found.query, found.count, found.collection) == ("gears", 2, "textbook_chunks")
    assert asdict(found.chunks[0]) == {
        "text": "A strain wave gear has three parts.",
        "score": 0.823,
        "source_url": "https://book.example/docs/drives#gears",
        "chunk_index": 0,
        "chunk_id": "chunk_3",
        "chapter": "Actuators",
        "section": "Strain wave gears",
        "title": "Drives",
    }


@pytest.mark.parametrize("k", [2, 9])
def test_a_search_returns_3_to_8_chunks(k: int) -> None:
    with (
        open_scripted_book(make_refusal()) as (book, _),
        pytest.raises(InvalidInputError, match=f"K must be 3-8, got {k}"),
    ):
        grounded_agent.search_knowledge_base("gears", k, book)


def test_an_answer_is_grounded_and_cites_what_it_used() -> None:
    reply = ask_scripted(make_answer([("It has three parts.", GEAR), ("They mesh.", GEAR)], retrieved=[GEAR, OTHER]))
    assert asdict(reply) == {
        "answer": "It has three parts. They mesh.",
        "citations": [
            {
                "source_url": "https://book.example/docs/drives#gears",
                "chapter": "Actuators",
                "section": "Strain wave gears",
                "score": 0.823,
                "chunk_index": 0,
            }
        ],
        "query": "What is a strain wave gear?",
        "grounded": True,
        "refused": False,
        "retrieval_time_ms": 3.0,
        "generation_time_ms": 3.0,
        "tool_calls": ["search_textbook"],
    }
    assert reply.total_time_ms == 6.0


NO_CONTEXT = "I cannot answer this question based on the textbook content. No relevant information was found."
LOW_SCORE = "I cannot answer this question with confidence. The retrieved content has low relevance to your question."
OFF_TOPIC = "This question appears to be outside the scope of the A Book textbook."


@pytest.mark.parametrize(
    ("retrieved", "threshold", "message"),
    [
        ([], 0.3, NO_CONTEXT),
        ([replace(GEAR, score=0.2999)], 0.3, OFF_TOPIC),
        ([replace(GEAR, score=0.2999)], 0.0, OFF_TOPIC),
        ([replace(GEAR, score=0.4)], 0.5, LOW_SCORE),
        ([replace(GEAR, score=0.3)], 0.3, NO_CONTEXT),
    ],
)
def test_a_refusal_has_the_message_of_its_reason_and_names_this_book_only_if_nothing_in_it_is_near(
    retrieved: list[Passage], threshold: float, message: str
) -> None:
    config = grounded_agent.AgentConfig(score_threshold=threshold)
    reply = ask_scripted(make_refusal(RefusalReason.LOW_RELEVANCE, retrieved), config)
    assert (reply.answer, reply.citations, reply.grounded, reply.refused) == (message, [], False, True)
    assert reply.tool_calls == ["search_textbook"]


def test_an_agent_that_must_not_search_has_no_context() -> None:
    with open_scripted_book(make_answer([("Gears.", GEAR)])) as (book, pipeline):
        reply = grounded_agent.ask("Why?", book, grounded_agent.AgentConfig(tool_choice="none"))
    assert (reply.answer, reply.refused, reply.tool_calls, pipeline.questions) == (
        grounded_agent.REFUSAL_NO_CONTEXT,
        True,
        [],
        [],
    )


@pytest.mark.parametrize("question", [" ", "x" * 2001])
@pytest.mark.parametrize("tool_choice", ["required", "none"])
def test_a_question_that_breaks_a_rule_is_invalid_input(question: str, tool_choice: str) -> None:
    with open_scripted_book(make_refusal()) as (book, _), pytest.raises(InvalidInputError):
        grounded_agent.ask(question, book, grounded_agent.AgentConfig(tool_choice=tool_choice))


def test_an_error_of_a_service_is_raised() -> None:
    with pytest.raises(ServiceUnreachableError):
        ask_scripted(ServiceUnreachableError("Gone.", service="qdrant"))


def make_long_answer(lengths: list[int], sources: list[int]) -> Reply:
    """An answer of sentences with these lengths, each citing the passage with this number."""
    passages = [make_passage(f"Passage {i}.", f"chunk_{i}", section=f"S{i}") for i in range(8)]
    pairs = zip(lengths, sources, strict=True)
    return make_answer([("x" * (length - 1) + ".", passages[source]) for length, source in pairs])


@pytest.mark.parametrize(("second", "sentence_count"), [(999, 2), (1000, 1)])
def test_an_answer_ends_after_the_last_sentence_that_fits(second: int, sentence_count: int) -> None:
    reply = ask_scripted(make_long_answer([1000, second], [0, 1]))
    assert len(reply.answer) == (2000 if sentence_count == 2 else 1000)
    assert [citation.section for citation in reply.citations] == ["S0", "S1"][:sentence_count]


def test_a_single_sentence_that_is_too_long_is_truncated_between_words() -> None:
    reply = ask_scripted(make_answer([("words " * 400 + "end.", GEAR)]))
    assert reply.answer.endswith("words...")
    assert 1990 <= len(reply.answer) <= 2000
    assert len(ask_scripted(make_answer([("x" * 2001, GEAR)])).answer) == 2000
    assert ask_scripted(make_answer([("x" * 2000, GEAR)])).answer == "x" * 2000


def test_an_answer_ends_before_the_sentence_that_would_need_a_sixth_citation() -> None:
    reply = ask_scripted(make_long_answer([5] * 8, [0, 1, 2, 3, 4, 0, 5, 1]))
    assert reply.answer == " ".join(["xxxx."] * 6)
    assert [citation.section for citation in reply.citations] == ["S0", "S1", "S2", "S3", "S4"]


@given(st.lists(st.tuples(st.integers(2, 2500), st.integers(0, 7)), min_size=1, max_size=10))
def test_an_answer_keeps_both_limits_and_is_never_empty(sentences: list[tuple[int, int]]) -> None:
    reply = ask_scripted(make_long_answer([length for length, _ in sentences], [source for _, source in sentences]))
    assert 1 <= len(reply.answer) <= grounded_agent.MAX_ANSWER_LENGTH
    assert 1 <= len(reply.citations) <= grounded_agent.MAX_CITATIONS
    assert (reply.grounded, reply.refused) == (True, False)
    assert reply.citations[0].section == f"S{sentences[0][1]}"


def test_a_real_book_answers_refuses_and_searches(tmp_path: Path) -> None:
    (source := tmp_path / "source").mkdir()
    words = "The wick of the lamp is trimmed every 12 hours."
    (source / "lamps.md").write_text(f"# Lamps\n\n## The wick\n\n{words}\n", encoding="utf-8")
    bookbound.index(source, tmp_path / "index")
    with bootstrap.open_book(Settings(index=tmp_path / "index", answer_threshold=0.0)) as book:
        reply = grounded_agent.ask("How often is the wick of the lamp trimmed?", book)
        unrelated = grounded_agent.ask("Which airline flies to Reykjavik on Sundays?", book)
        found = grounded_agent.search_knowledge_base("wick", 3, book)
    assert (reply.answer, reply.grounded, reply.citations[0].source_url) == (words, True, "/lamps#the-wick")
    off_topic = "This question appears to be outside the scope of the Source textbook."
    assert (unrelated.refused, unrelated.answer) == (True, off_topic)
    assert found.chunks[0].text.endswith(words)


LAMPS = "# Lamps\n\n## The wick\n\nThe wick of the lamp is trimmed every 12 hours.\n\n## The lens\n\nThe lens is old.\n"
OTHER_PAGES = ("oil", "burner", "chimney", "gallery", "clockwork", "fog horn", "mirror", "staircase")
WICK = "How often is the wick of the lamp trimmed?"
TRIMMED = "The wick of the lamp is trimmed every 12 hours."
MODEL_REPLY = {"sentences": [{"text": TRIMMED, "passages": [1]}], "missing": ""}
SEARCH_CALL = ToolCall("search_textbook", {"query": "wick trimmed hours", "k": 3})


@pytest.fixture(scope="module")
def lamps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lamps")
    (folder / "source").mkdir()
    (folder / "source" / "lamps.md").write_text(LAMPS, encoding="utf-8")
    for name in OTHER_PAGES:
        page = f"# The {name}\n\nThe {name} of the lighthouse is looked after by the keeper.\n"
        (folder / "source" / f"{name.replace(' ', '-')}.md").write_text(page, encoding="utf-8")
    bookbound.index(folder / "source", folder / "index")
    return folder / "index"


@pytest.fixture(params=["chat", "responses"])
def book_with_model(request: pytest.FixtureRequest, lamps: Path) -> Iterator[tuple[Book, ScriptedServices]]:
    """A book with a open_scripted_book language model, over each of the two APIs for one."""
    with ScriptedServices() as services:
        settings = Settings(
            index=lamps,
            llm_model="m-1",
            llm_url=services.openai_url,
            llm_api=request.param,
            answer_threshold=0.0,
        )
        with bootstrap.open_book(settings) as book:
            yield book, services


def test_a_language_model_searches_the_book_and_answers_from_the_results(
    book_with_model: tuple[Book, ScriptedServices],
) -> None:
    book, services = book_with_model
    services.reply_with(SEARCH_CALL, MODEL_REPLY)
    reply = grounded_agent.ask(WICK, book)
    assert (reply.answer, reply.grounded, reply.tool_calls) == (TRIMMED, True, ["search_textbook"])
    assert [citation.section for citation in reply.citations] == ["The wick"]
    first, second = (request.json for request in services.requests)
    assert (first["model"], first["tool_choice"]) == ("m-1", "required")
    prompt = json.dumps(second, ensure_ascii=False)
    assert "[Source: /lamps#the-wick | Chapter: " in prompt
    assert TRIMMED in prompt


@pytest.mark.parametrize(
    ("k", "requested", "returned"), [(3, 8, 3), (5, 8, 5), (8, 8, 8), (8, 4, 4), (6, None, 6)], ids=str
)
def test_a_search_of_a_language_model_returns_at_most_k_chunks(
    book_with_model: tuple[Book, ScriptedServices], k: int, requested: int | None, returned: int
) -> None:
    book, services = book_with_model
    services.reply_with(ToolCall("search_textbook", {"query": "wick trimmed hours", "k": requested}), MODEL_REPLY)
    assert grounded_agent.ask(WICK, book, grounded_agent.AgentConfig(k=k)).grounded
    prompt = json.dumps(services.requests[1].json, ensure_ascii=False)
    assert prompt.count("[Source: ") == returned


def test_the_configuration_decides_k_and_the_threshold_of_searches(lamps: Path) -> None:
    with bootstrap.open_book(Settings(index=lamps, answer_threshold=0.0)) as book:
        reply = grounded_agent.ask(f" {WICK} ", book)
        assert (reply.grounded, reply.query, reply.tool_calls) == (True, WICK, ["search_textbook"])
        score = reply.citations[0].score
        assert grounded_agent.ask(WICK, book, grounded_agent.AgentConfig(score_threshold=score)).grounded
        higher = grounded_agent.AgentConfig(score_threshold=(score + 1) / 2)
        assert grounded_agent.ask(WICK, book, higher).answer == grounded_agent.REFUSAL_LOW_SCORE
        assert [grounded_agent.search_knowledge_base(WICK, k, book).count for k in (3, 8)] == [3, 8]


def test_a_query_that_copies_the_book_does_not_pass_the_threshold(
    book_with_model: tuple[Book, ScriptedServices],
) -> None:
    book, services = book_with_model
    question = "How often is the light maintained?"
    nearest = max(chunk.score for chunk in grounded_agent.search_knowledge_base(question, 8, book).chunks)
    copied = ToolCall("search_textbook", {"query": f"Lamps > The wick {TRIMMED}", "k": 5})
    config = grounded_agent.AgentConfig(score_threshold=nearest + 0.01)
    assert max(chunk.score for chunk in grounded_agent.search_knowledge_base(TRIMMED, 3, book).chunks) > nearest + 0.01
    services.reply_with(copied, MODEL_REPLY)
    reply = grounded_agent.ask(question, book, config)
    assert (reply.answer, reply.refused) == (grounded_agent.REFUSAL_LOW_SCORE, True)
    assert TRIMMED not in json.dumps(services.requests[0].json)


def test_an_answer_without_a_search_is_not_accepted(
    book_with_model: tuple[Book, ScriptedServices],
) -> None:
    book, services = book_with_model
    config = grounded_agent.AgentConfig(tool_choice="auto")
    services.reply_with(MODEL_REPLY, SEARCH_CALL, MODEL_REPLY)
    reply = grounded_agent.ask(WICK, book, config)
    assert (reply.answer, reply.refused, reply.tool_calls) == (grounded_agent.REFUSAL_NO_CONTEXT, True, [])
    reply = grounded_agent.ask(WICK, book, config)
    assert (reply.grounded, reply.tool_calls) == (True, ["search_textbook"])
    assert {request.json.get("tool_choice", "auto") for request in services.requests} == {"auto"}


def test_the_answer_says_that_something_is_missing_if_the_model_says_so(
    book_with_model: tuple[Book, ScriptedServices],
) -> None:
    book, services = book_with_model
    services.reply_with(SEARCH_CALL, MODEL_REPLY | {"missing": "Who trims it."})
    reply = grounded_agent.ask(WICK, book)
    assert reply.answer == f"{TRIMMED} Only part of this is in the book."


def test_every_search_of_a_language_model_is_recorded(book_with_model: tuple[Book, ScriptedServices]) -> None:
    book, services = book_with_model
    services.reply_with([SEARCH_CALL, ToolCall("search_textbook", {"query": "lens", "k": 3})], MODEL_REPLY)
    assert grounded_agent.ask(WICK, book).tool_calls == ["search_textbook"] * 2


def test_a_language_model_reads_nothing_below_the_threshold_and_is_not_called_again(
    book_with_model: tuple[Book, ScriptedServices],
) -> None:
    book, services = book_with_model
    services.reply_with(SEARCH_CALL, MODEL_REPLY)
    reply = grounded_agent.ask(WICK, book, grounded_agent.AgentConfig(score_threshold=1.0))
    assert (reply.answer, reply.refused, reply.tool_calls) == (
        grounded_agent.REFUSAL_LOW_SCORE,
        True,
        ["search_textbook"],
    )
    assert len(services.requests) == 1
    assert TRIMMED not in json.dumps([request.json for request in services.requests])


def test_a_language_model_cannot_make_the_book_answer_what_it_does_not(
    book_with_model: tuple[Book, ScriptedServices],
) -> None:
    book, services = book_with_model
    services.reply_with(SEARCH_CALL, MODEL_REPLY)
    reply = grounded_agent.ask("Which airline flies to Reykjavik on Sundays?", book)
    assert (reply.refused, reply.citations, len(services.requests)) == (True, [], 1)


def test_unsupported_sentences_of_a_language_model_are_dropped(book_with_model: tuple[Book, ScriptedServices]) -> None:
    book, services = book_with_model
    more = {"text": "Whale oil burns for 40 days without a wick.", "passages": [1]}
    services.reply_with(SEARCH_CALL, {"sentences": [*MODEL_REPLY["sentences"], more], "missing": ""})
    assert grounded_agent.ask(WICK, book).answer == TRIMMED


def test_a_language_model_that_fails_is_an_error(book_with_model: tuple[Book, ScriptedServices]) -> None:
    book, services = book_with_model
    services.fail_with(Fault.UNAUTHORIZED, always=True)
    with pytest.raises(ServiceAuthenticationError) as error:
        grounded_agent.ask(WICK, book)
    assert error.value.service == "language model"


def test_a_call_uses_the_model_and_temperature_of_its_configuration(
    book_with_model: tuple[Book, ScriptedServices],
) -> None:
    book, services = book_with_model
    choices: list[tuple[dict[str, Any], str, float]] = [
        ({}, "m-1", 0.0),
        ({"model": "m-1"}, "m-1", 0.0),
        ({"model": "m-2"}, "m-2", 0.0),
        ({"temperature": 0.7}, "m-1", 0.7),
        ({"model": "m-2", "temperature": 1.2}, "m-2", 1.2),
        ({"model": "m-2"}, "m-2", 0.0),
        ({}, "m-1", 0.0),
    ]
    for chosen, model, temperature in choices:
        before = len(services.requests)
        services.reply_with(SEARCH_CALL, MODEL_REPLY)
        assert grounded_agent.ask(WICK, book, grounded_agent.AgentConfig(**chosen)).grounded
        sent = [request.json for request in services.requests[before:]]
        assert {(each["model"], each["temperature"]) for each in sent} == {(model, temperature)}


def test_without_a_configuration_the_temperature_is_that_of_the_settings(lamps: Path) -> None:
    with ScriptedServices() as services:
        model: dict[str, Any] = {"llm_model": "m-1", "llm_url": services.openai_url, "llm_temperature": 0.7}
        with bootstrap.open_book(Settings(index=lamps, answer_threshold=0.0, **model)) as book:
            services.reply_with(SEARCH_CALL, MODEL_REPLY, SEARCH_CALL, MODEL_REPLY)
            assert grounded_agent.ask(WICK, book).grounded
            assert grounded_agent.ask(WICK, book, grounded_agent.AgentConfig()).grounded
        assert [request.json["temperature"] for request in services.requests] == [0.7, 0.7, 0.0, 0.0]


def test_a_call_searches_the_collection_of_its_configuration(tmp_path: Path) -> None:
    (source := tmp_path / "source").mkdir()
    settings = Settings(index=tmp_path / "index", answer_threshold=0.0)
    for book, edition, hours in ((None, None, 12), ("lamps", "1.0", 24), ("lamps", "2.0", 48)):
        (source / "lamps.md").write_text(f"# Lamps\n\nThe wick of the lamp is trimmed every {hours} hours.\n")
        bootstrap.index_book(source, replace(settings, book=book, edition=edition))
    names = {"textbook_chunks": 12, "bookbound": 12, "lamps@1.0": 24, "lamps": 48, "bookbound.lamps@1.0": 24}
    with bootstrap.open_book(settings) as opened:
        for name, hours in names.items():
            reply = grounded_agent.ask(WICK, opened, grounded_agent.AgentConfig(collection_name=name))
            assert f"every {hours} hours" in reply.answer
        with pytest.raises(BookNotFoundError, match=r"--book lamps --edition 2\.0"):
            grounded_agent.ask(WICK, opened, grounded_agent.AgentConfig(collection_name="bees"))
        with pytest.raises(InvalidInputError, match="letters, digits"):
            grounded_agent.ask(WICK, opened, grounded_agent.AgentConfig(collection_name="no name"))


@pytest.mark.parametrize("chosen", [{"model": "m-2"}, {"temperature": 0.7}])
def test_without_a_language_model_a_configuration_cannot_choose_one(chosen: dict[str, Any]) -> None:
    with (
        open_scripted_book(make_refusal()) as (book, pipeline),
        pytest.raises(InvalidInputError, match="There is no language model"),
    ):
        grounded_agent.ask("Why?", book, grounded_agent.AgentConfig(**chosen))
    assert pipeline.questions == []
