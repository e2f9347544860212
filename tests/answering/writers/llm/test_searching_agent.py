"""A language model searches the book by itself, within limits, and answers from what it found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.answering.writers.llm.conftest import (
    APIS,
    BOTH,
    DRAFT,
    GAP,
    NARROWS,
    PASSAGES,
    QUESTION,
    collect,
    list_sentences,
    with_model,
)

from bookbound.answering.writers.llm.reply_reader import MAX_DRAFT_SENTENCES
from bookbound.answering.writers.llm.searching_agent import LanguageModelAgent
from bookbound.domain.chunk import Passage
from bookbound.domain.errors import IndexNotFoundError, ServiceResponseError, ServiceTimeoutError
from bookbound.domain.ports import BookSearch
from bookbound.domain.question import Question, Retrieval
from bookbound.domain.reply import SEARCH_TOOL_NAME, MissingPart, WriterEvent
from bookbound.domain.trace import TokenUsage
from bookbound.testing.scripted_services import ScriptedServices, ToolCall

ONE = f"{GAP[:-1]} [1]."


class ScriptedSearch:
    """A search that returns scripted passages and keeps the queries."""

    def __init__(self, *found: Sequence[Passage] | Exception) -> None:
        self._found = list(found)
        self.queries: list[tuple[str, int]] = []

    async def search(self, query: str, k: int) -> tuple[Retrieval, Sequence[str]]:
        self.queries.append((query, k))
        found = self._found.pop(0)
        if isinstance(found, Exception):
            raise found
        return Retrieval(tuple(found)), [f"[Source: {p.chunk.place.url}]\n{p.chunk.text}" for p in found]


def run_agent(
    services: ScriptedServices,
    search: BookSearch,
    api: str = "chat",
    question: Question = QUESTION,
    must_search: bool = True,
) -> list[WriterEvent]:
    return with_model(
        services,
        lambda model: collect(LanguageModelAgent(model).converse(question, search, must_search=must_search)),
        api,
    )


def call(query: str = "reality gap", k: Any = 5) -> ToolCall:
    return ToolCall(SEARCH_TOOL_NAME, {"query": query, "k": k})


@pytest.mark.parametrize(
    "written",
    [
        ONE,
        f"<think>Hm.</think>{ONE}",
        json.dumps({"answer": ONE, "missing": ""}),
        f"```json\n{json.dumps({'answer': ONE})}\n```",
    ],
)
def test_an_agent_is_heard_in_every_form(services: ScriptedServices, written: str) -> None:
    services.reply_with(call(), written)
    assert list_sentences(run_agent(services, ScriptedSearch(PASSAGES).search)) == BOTH[:1]
    assert len(services.requests) == 2


@pytest.mark.parametrize("written", ["NO ANSWER", "The passages do not mention it.", '{"answer": "", "missing": "x"}'])
def test_an_agent_that_finds_no_answer_says_so_once(services: ScriptedServices, written: str) -> None:
    services.reply_with(call(), written)
    assert run_agent(services, ScriptedSearch(PASSAGES).search) == [MissingPart(), TokenUsage(2, 200, 40)]


def test_a_missing_part_follows_the_sentences_of_an_agent(services: ScriptedServices) -> None:
    services.reply_with(call(), f"{ONE}\nMISSING: its cost.")
    events = run_agent(services, ScriptedSearch(PASSAGES).search)
    assert (list_sentences(events), events[1]) == (BOTH[:1], MissingPart())


def test_an_agent_writes_so_many_sentences_at_most_and_repeats_only_steps(services: ScriptedServices) -> None:
    many = " ".join(f"The reality gap {number} is a difference." for number in range(60))
    services.reply_with(call(), many, call(), f"{ONE} {ONE}\n\n1. Stop.\n2. Wait.\n3. Stop.")
    *sentences, missing, _ = run_agent(services, ScriptedSearch(PASSAGES).search)
    assert (len(sentences), missing) == (MAX_DRAFT_SENTENCES, MissingPart())
    pieces = run_agent(services, ScriptedSearch(PASSAGES).search)
    assert [text for text, _ in list_sentences(pieces)] == [GAP, "Stop.", "Wait.", "Stop."]


@pytest.mark.parametrize("api", APIS)
def test_an_agent_searches_and_then_answers(services: ScriptedServices, api: str) -> None:
    services.reply_with(call("the gap"), DRAFT)
    library = ScriptedSearch(PASSAGES)
    pieces = run_agent(services, library.search, api)
    assert list_sentences(pieces) == BOTH
    assert pieces[-1] == TokenUsage(2, 200, 40)
    assert library.queries == [("the gap", 5)]


@pytest.mark.parametrize("api", APIS)
def test_only_the_first_call_must_use_the_tool(services: ScriptedServices, api: str) -> None:
    services.reply_with(call(), ONE)
    run_agent(services, ScriptedSearch(PASSAGES).search, api)
    first, second = (asked.json for asked in services.requests)
    tool = first["tools"][0].get("function") or first["tools"][0]
    assert (tool["name"], sorted(tool["parameters"]["properties"])) == (SEARCH_TOOL_NAME, ["k", "query"])
    assert first["tool_choice"] == "required"
    assert second.get("tool_choice", "auto") == "auto"


@pytest.mark.parametrize("api", APIS)
def test_an_agent_may_decide_whether_to_search(services: ScriptedServices, api: str) -> None:
    services.reply_with(ONE, call(), ONE)
    assert list_sentences(run_agent(services, ScriptedSearch().search, api, must_search=False)) == []
    assert list_sentences(run_agent(services, ScriptedSearch(PASSAGES).search, api, must_search=False)) == BOTH[:1]
    assert {asked.json.get("tool_choice", "auto") for asked in services.requests} == {"auto"}


@pytest.mark.parametrize(
    ("most", "asked", "given"),
    [
        *((8, 0, 3), (8, -4, 3), (8, 3, 3), (8, 5, 5), (8, 8, 8), (8, 500, 8), (8, None, 8)),
        *((5, 8, 5), (5, 4, 4), (5, None, 5), (3, 8, 3), (1, 8, 3), (20, 20, 8)),
    ],
)
def test_a_search_gives_three_to_eight_passages(
    services: ScriptedServices, most: int, asked: int | None, given: int
) -> None:
    services.reply_with(call(k=asked), ONE)
    library = ScriptedSearch(PASSAGES)
    run_agent(services, library.search, question=replace(QUESTION, k=most))
    assert [k for _, k in library.queries] == [given]
    tool = services.requests[0].json["tools"][0]["function"]
    assert f"from 3 to {min(max(most, 3), 8)};" in tool["parameters"]["properties"]["k"]["description"]


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        ({"query": "gap"}, ("gap", 5)),
        ({"query": "  ", "k": 5}, (QUESTION.text, 5)),
        ({"query": "a\u0000b" + "c" * 5000, "k": 5}, ("ab" + "c" * 1998, 5)),
    ],
)
def test_the_query_of_an_agent_is_cleaned(
    services: ScriptedServices, arguments: dict[str, Any], asked: tuple[str, int]
) -> None:
    services.reply_with(ToolCall(SEARCH_TOOL_NAME, arguments), ONE)
    library = ScriptedSearch(PASSAGES)
    run_agent(services, library.search)
    assert library.queries == [asked]


def test_a_quoted_number_of_passages_is_accepted(services: ScriptedServices) -> None:
    services.reply_with(call(k="4"), ONE)
    library = ScriptedSearch(PASSAGES)
    assert list_sentences(run_agent(services, library.search)) == BOTH[:1]
    assert [k for _, k in library.queries] == [4]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("calls", [[[ToolCall("rm", {"a": 1}), call()]], [[ToolCall("rm", {"a": 1})], [call()]]])
def test_an_unknown_tool_is_reported_to_the_model(
    services: ScriptedServices, api: str, calls: list[list[ToolCall]]
) -> None:
    services.reply_with(*calls, ONE)
    library = ScriptedSearch(PASSAGES)
    assert list_sentences(run_agent(services, library.search, api)) == BOTH[:1]
    assert len(library.queries) == 1
    assert len(services.requests) == len(calls) + 1


@pytest.mark.parametrize("api", APIS)
def test_the_model_is_not_called_again_if_the_search_finds_nothing(services: ScriptedServices, api: str) -> None:
    services.reply_with(call())
    assert run_agent(services, ScriptedSearch([]).search, api) == [TokenUsage(1, 100, 20)]
    assert len(services.requests) == 1


@pytest.mark.parametrize("api", APIS)
def test_passage_numbers_continue_over_several_searches(services: ScriptedServices, api: str) -> None:
    services.reply_with(call("gap"), call("randomization"), f"{GAP[:-1]} [1]. {NARROWS[:-1]} [3].")
    library = ScriptedSearch([PASSAGES[0], PASSAGES[2]], [PASSAGES[0], PASSAGES[1]])
    pieces = run_agent(services, library.search, api)
    assert list_sentences(pieces) == BOTH
    request = json.dumps(services.requests[-1].json, ensure_ascii=False)
    assert request.count(PASSAGES[0].chunk.text) == 1
    assert "passage 3⟧\\n[Source: /b]" in request


def test_a_later_empty_search_does_not_end_the_conversation(services: ScriptedServices) -> None:
    services.reply_with(call(), call("cost"), ONE)
    assert list_sentences(run_agent(services, ScriptedSearch(PASSAGES, []).search)) == BOTH[:1]


@pytest.mark.parametrize("api", APIS)
def test_after_three_searches_the_agent_must_answer(services: ScriptedServices, api: str) -> None:
    services.reply_with(call("one"), call("two"), call("three"), ONE)
    library = ScriptedSearch(PASSAGES, PASSAGES, PASSAGES)
    assert list_sentences(run_agent(services, library.search, api)) == BOTH[:1]
    assert len(library.queries) == 3
    assert not services.requests[-1].json.get("tools")


def test_parallel_searches_are_limited_to_three(services: ScriptedServices) -> None:
    services.reply_with([call("one"), call("two"), call("three"), call("four"), call("five")], ONE)
    library = ScriptedSearch(PASSAGES, [], [])
    assert list_sentences(run_agent(services, library.search)) == BOTH[:1]
    assert len(library.queries) == 3


def test_an_answer_without_a_search_is_dropped(services: ScriptedServices) -> None:
    services.reply_with(ONE)
    assert run_agent(services, ScriptedSearch().search) == [TokenUsage(1, 100, 20)]


@pytest.mark.parametrize(
    "error", [IndexNotFoundError("nothing is indexed"), ServiceTimeoutError("late", service="qdrant"), KeyError("a")]
)
def test_an_error_of_the_search_is_raised_without_another_call(services: ScriptedServices, error: Exception) -> None:
    services.reply_with(call(), always=True)
    with pytest.raises(type(error)) as caught:
        run_agent(services, ScriptedSearch(error).search)
    assert caught.value is error
    assert len(services.requests) == 1


@pytest.mark.parametrize(
    "tool",
    [
        ToolCall(SEARCH_TOOL_NAME, '{"query": "ga'),
        ToolCall(SEARCH_TOOL_NAME, {"query": 3, "k": 5}),
        ToolCall("rm", {"a": 1}),
    ],
)
def test_a_malformed_tool_call_is_an_unusable_reply(services: ScriptedServices, tool: ToolCall) -> None:
    services.reply_with(tool, always=True)
    with pytest.raises(ServiceResponseError):
        run_agent(services, ScriptedSearch().search)
