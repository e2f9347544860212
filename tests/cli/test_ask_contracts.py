"""Asking by the rules and in the words of each contract."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest
from tests.cli.conftest import Run
from typer.testing import CliRunner

from bookbound import bootstrap
from bookbound.answering.pipeline import Pipeline
from bookbound.cli import app
from bookbound.cli.ask_command import AskArguments, ContractName, ContractReply, ask_by_contract
from bookbound.contracts import agent, grounded_agent
from bookbound.domain import errors
from bookbound.domain.judgement import RefusalReason
from bookbound.domain.reply import NOT_IN_BOOK_MESSAGE, Reply
from bookbound.library import Book
from bookbound.testing import ScriptedPipeline, make_answer, make_passage, make_refusal, make_unsure

PARTS = "What does a harmonic drive consist of?"
FOREIGN = "Which composer wrote the opera about a flying Dutchman?"
STATES = "It consists of a wave generator, a flexspline and a circular spline."
GEAR = make_passage("A gear has teeth.", score=0.825, chapter="Drives", section="Gears", url="/drives", anchor="gears")
GROUNDED_KEYS = {field.name for field in fields(grounded_agent.AgentResponse)} | {"total_time_ms"}
OFF_TOPIC = "This question appears to be outside the scope of the My book textbook."


def reply_to(
    contract: ContractName, script: Reply, *, threshold: float | None = None, verbose: bool = False
) -> ContractReply:
    with asyncio.Runner() as runner:
        book = Book(cast(Pipeline, ScriptedPipeline(script)), runner)
        return ask_by_contract(contract, AskArguments("Why?", threshold=threshold, verbose=verbose), lambda: book)


def lines(reply: ContractReply) -> list[str]:
    return [line.text for line in reply.lines]


def test_an_answer_of_the_agent_contract(answering: Run, little_index: Path) -> None:
    done = answering("ask", PARTS, "--contract", "agent", "--format", "json", "--index", str(little_index))
    reply = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(reply) == {field.name for field in fields(agent.AgentResponse)}
    assert STATES in reply["answer"]
    assert reply["has_relevant_context"] is True
    assert any(source["url"].endswith("#harmonic-drive") for source in reply["sources"])


def test_an_answer_of_the_grounded_agent_contract(answering: Run, little_index: Path) -> None:
    done = answering("ask", PARTS, "--contract", "grounded-agent", "--json", "--index", str(little_index))
    reply = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(reply) == GROUNDED_KEYS
    assert STATES in reply["answer"]
    assert (reply["grounded"], reply["refused"], reply["tool_calls"]) == (True, False, ["search_textbook"])
    assert reply["total_time_ms"] == reply["retrieval_time_ms"] + reply["generation_time_ms"]


def test_no_context_in_the_agent_contract_is_a_refusal_in_its_shape(bookbound: Run, little_index: Path) -> None:
    done = bookbound("ask", FOREIGN, "--contract", "agent", "--json", "--index", str(little_index))
    assert (done.returncode, done.stderr) == (1, "")
    assert json.loads(done.stdout) == {"error_type": "no_context", "message": NOT_IN_BOOK_MESSAGE, "details": None}


def test_a_refusal_of_the_grounded_agent_contract_is_in_its_shape(bookbound: Run, little_index: Path) -> None:
    done = bookbound("ask", FOREIGN, "--contract", "grounded-agent", "--json", "--index", str(little_index))
    reply = json.loads(done.stdout)
    assert (done.returncode, set(reply)) == (1, GROUNDED_KEYS)
    assert (reply["refused"], reply["citations"], reply["answer"]) == (True, [], OFF_TOPIC)


@pytest.mark.parametrize(
    ("contract", "shown"),
    [
        ("agent", r"\[1\] Drives › Harmonic drive  similarity [01]\.\d\d\n"),
        ("grounded-agent", r"\| Section: Harmonic drive \| Score: [01]\.\d\d\]"),
    ],
)
def test_a_contract_in_text_shows_the_answer_and_its_source(
    answering: Run, little_index: Path, contract: str, shown: str
) -> None:
    done = answering("ask", PARTS, "--contract", contract, "--index", str(little_index))
    assert done.returncode == 0
    assert STATES in done.stdout
    assert re.search(shown, done.stdout)


def test_format_json_and_json_are_the_same(answering: Run, little_index: Path) -> None:
    long = answering("ask", PARTS, "--format", "json", "--index", str(little_index))
    short = answering("ask", PARTS, "--json", "--index", str(little_index))
    text = answering("ask", PARTS, "--format", "text", "--index", str(little_index))
    assert json.loads(long.stdout)["citations"] == json.loads(short.stdout)["citations"]
    assert text.stdout.startswith(("The ", "A ", "It "))


def test_only_our_own_contract_shows_an_unsure_reply() -> None:
    unsure = make_unsure([GEAR])
    reply = reply_to(ContractName.CANONICAL, unsure)
    assert (reply.is_answered, reply.json["status"]) == (False, "unsure")
    first, *rest = lines(reply)
    assert first == "I am not sure the book answers this. The closest passages:"
    assert {"[1] Drives › Chapter 1 › Gears", "    /drives#gears", "A gear has teeth."} <= set(rest)
    for contract in (ContractName.AGENT, ContractName.GROUNDED_AGENT):
        refused = reply_to(contract, unsure)
        assert not refused.is_answered
        assert lines(refused) == lines(reply_to(contract, make_refusal(RefusalReason.INSUFFICIENT_GROUNDING, [GEAR])))


def test_the_default_threshold_is_that_of_the_contract() -> None:
    near = make_refusal(RefusalReason.INSUFFICIENT_GROUNDING, [make_passage("Words.", score=0.4)])
    assert reply_to(ContractName.CANONICAL, near).json["refusal"]["kind"] == "insufficient_grounding"
    assert reply_to(ContractName.AGENT, near).json["error_type"] == "no_context"
    assert reply_to(ContractName.AGENT, near, threshold=0.4).json["answer"] == NOT_IN_BOOK_MESSAGE
    assert reply_to(ContractName.GROUNDED_AGENT, near).json["answer"] == grounded_agent.REFUSAL_NO_CONTEXT
    assert reply_to(ContractName.GROUNDED_AGENT, near, threshold=0.5).json["answer"] == grounded_agent.REFUSAL_LOW_SCORE


@pytest.mark.parametrize("contract", ContractName)
def test_every_contract_says_whether_it_answered(contract: ContractName) -> None:
    assert reply_to(contract, make_answer([("It has teeth.", GEAR)])).is_answered
    for retrieved in ([], [GEAR]):
        assert not reply_to(contract, make_refusal(RefusalReason.LOW_RELEVANCE, retrieved)).is_answered


def test_the_lines_of_the_agent_contract() -> None:
    reply = make_answer([("It has teeth.", GEAR)])
    shown = ["It has teeth.", "", "[1] Drives › Gears  similarity 0.82", "    /drives#gears"]
    assert lines(reply_to(ContractName.AGENT, reply)) == shown
    times = ["", "Retrieval   3.0 ms", "Generation  2.0 ms", "Total       6.0 ms"]
    assert lines(reply_to(ContractName.AGENT, reply, verbose=True)) == shown + times
    assert lines(reply_to(ContractName.AGENT, make_refusal())) == [NOT_IN_BOOK_MESSAGE]


def test_the_lines_of_the_grounded_agent_contract() -> None:
    reply = make_answer([("It has teeth.", GEAR)])
    citation = "[Source: /drives#gears | Chapter: Drives | Section: Gears | Score: 0.82]"
    assert lines(reply_to(ContractName.GROUNDED_AGENT, reply)) == ["It has teeth.", "", citation]
    verbose = lines(reply_to(ContractName.GROUNDED_AGENT, reply, verbose=True))
    assert verbose[-2:] == ["Total       6.0 ms", "Tools       search_textbook"]
    assert lines(reply_to(ContractName.GROUNDED_AGENT, make_refusal())) == [grounded_agent.REFUSAL_NO_CONTEXT]


def failing(error: Exception, *arguments: str) -> tuple[int, Any]:
    """The exit code and the JSON if the book cannot be opened."""

    def open_book(_: object) -> NoReturn:
        raise error

    done = CliRunner().invoke(app, ["ask", "Why?", "--json", *arguments], obj=SimpleNamespace(open_book=open_book))
    return done.exit_code, json.loads(done.stdout)


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (errors.ServiceUnreachableError("Qdrant is gone.", service="qdrant"), 3, "retrieval"),
        (errors.ServiceTimeoutError("The model is slow.", service="openai"), 3, "generation"),
        (errors.CorruptIndexError("Index again."), 2, "retrieval"),
        (errors.ConfigError("Set the key."), 2, "validation"),
    ],
)
def test_an_error_in_json_has_the_shape_of_the_contract_and_the_exit_code_of_its_type(
    error: errors.BookboundError, code: int, kind: str
) -> None:
    expected = {"error_type": kind, "message": str(error), "details": None}
    assert failing(error, "--contract", "agent") == (code, expected)
    for contract in ("canonical", "grounded-agent"):
        status, plain = failing(error, "--contract", contract)
        assert (status, plain["error"]["type"], plain["error"]["message"]) == (
            code,
            type(error).__name__,
            str(error),
        )


def test_a_bug_in_json_has_the_shape_of_the_contract_and_its_own_exit_code() -> None:
    code, plain = failing(KeyError("a reader's secret"), "--contract", "agent")
    assert (code, plain["error_type"], plain["details"]) == (70, "generation", None)
    assert "secret" not in plain["message"]


@pytest.mark.parametrize(
    ("contract", "arguments"),
    [
        ("agent", (" ",)),
        ("agent", ("x" * 2001,)),
        ("agent", ("why?", "-k", "0")),
        ("agent", ("why?", "-k", "21")),
        ("agent", ("why?", "-t", "1.1")),
        ("grounded-agent", (" ",)),
        ("grounded-agent", ("why?", "-k", "2")),
        ("grounded-agent", ("why?", "-k", "9")),
        ("grounded-agent", ("why?", "-t", "-0.1")),
    ],
)
def test_input_that_breaks_a_rule_of_the_contract_exits_with_4_before_an_index_is_opened(
    tmp_path: Path, contract: str, arguments: tuple[str, ...]
) -> None:
    given = ["ask", *arguments, "--contract", contract, "--format", "json", "--index", str(tmp_path)]
    done = CliRunner().invoke(app, given, obj=bootstrap)
    plain = json.loads(done.stdout)
    assert done.exit_code == 4
    assert (
        (plain["error_type"] == "validation")
        if contract == "agent"
        else (plain["error"]["type"] == "InvalidInputError")
    )


@pytest.mark.parametrize("k", ["3", "8"])
def test_a_number_of_passages_within_the_contract_is_accepted(bookbound: Run, little_index: Path, k: str) -> None:
    done = bookbound("ask", PARTS, "--contract", "grounded-agent", "-k", k, "--index", str(little_index))
    assert done.returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("--contract", "agent", "--selected-text", "words"),
        ("--contract", "grounded-agent", "--selected-text", "words"),
        ("--contract", "unknown"),
        ("--format", "xml"),
    ],
)
def test_an_option_that_a_contract_does_not_have_is_bad_use(arguments: tuple[str, ...]) -> None:
    assert CliRunner().invoke(app, ["ask", "why?", *arguments], obj=SimpleNamespace()).exit_code == 2


def test_a_contract_is_imported_only_if_it_is_used() -> None:
    script = (
        "import sys, bookbound.cli; print([name for name in sys.modules if 'contracts' in name and 'agent' in name])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
