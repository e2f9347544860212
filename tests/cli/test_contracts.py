"""Asking by the rules and in the words of each contract."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest
from typer.testing import CliRunner

from bookbound import bootstrap
from bookbound.answering.pipeline import Pipeline
from bookbound.cli import app
from bookbound.cli.ask_command import AskArguments, ContractName, ContractReply, prepare_ask
from bookbound.contracts import agent, grounded_agent
from bookbound.domain import errors
from bookbound.domain.judgement import RefusalReason
from bookbound.domain.reply import NOT_IN_BOOK_MESSAGE, Reply
from bookbound.library import Book
from bookbound.testing import ScriptedBackend, make_answer, make_passage, make_refusal

Run = Callable[..., subprocess.CompletedProcess[str]]
PARTS = "What does a harmonic drive consist of?"
FOREIGN = "Which composer wrote the opera about a flying Dutchman?"
STATES = "It consists of a wave generator, a flexspline and a circular spline."
GEAR = make_passage("A gear has teeth.", score=0.825, chapter="Drives", section="Gears", url="/drives", anchor="gears")
GROUNDED_KEYS = {field.name for field in fields(grounded_agent.AgentResponse)} | {"total_time_ms"}


def said(
    contract: ContractName, script: Reply, *, threshold: float | None = None, verbose: bool = False
) -> ContractReply:
    with asyncio.Runner() as runner:
        book = Book(cast(Pipeline, ScriptedBackend(script)), runner)
        return prepare_ask(contract, AskArguments("Why?", threshold=threshold, verbose=verbose))(book)


def lines(said: ContractReply) -> list[str]:
    return [line.text for line in said.lines]


def test_an_answer_by_the_agent_contract(bookbound: Run, little_index: Path) -> None:
    done = bookbound("ask", PARTS, "--contract", "agent", "--format", "json", "--index", str(little_index))
    reply = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(reply) == {field.name for field in fields(agent.AgentResponse)}
    assert STATES in reply["answer"]
    assert reply["has_relevant_context"] is True
    assert any(source["url"].endswith("#harmonic-drive") for source in reply["sources"])


def test_an_answer_by_the_grounded_agent_contract(bookbound: Run, little_index: Path) -> None:
    done = bookbound("ask", PARTS, "--contract", "grounded-agent", "--json", "--index", str(little_index))
    reply = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(reply) == GROUNDED_KEYS
    assert STATES in reply["answer"]
    assert (reply["grounded"], reply["refused"], reply["tool_calls"]) == (True, False, ["search_textbook"])
    assert reply["total_time_ms"] == reply["retrieval_time_ms"] + reply["generation_time_ms"]


def test_no_context_by_the_agent_contract_is_a_refusal_in_its_shape(bookbound: Run, little_index: Path) -> None:
    done = bookbound("ask", FOREIGN, "--contract", "agent", "--json", "--index", str(little_index))
    assert (done.returncode, done.stderr) == (1, "")
    assert json.loads(done.stdout) == {"error_type": "no_context", "message": NOT_IN_BOOK_MESSAGE, "details": None}


def test_a_refusal_by_the_grounded_agent_contract_is_in_its_shape(bookbound: Run, little_index: Path) -> None:
    done = bookbound("ask", FOREIGN, "--contract", "grounded-agent", "--json", "--index", str(little_index))
    reply = json.loads(done.stdout)
    assert (done.returncode, set(reply)) == (1, GROUNDED_KEYS)
    assert (reply["refused"], reply["citations"], reply["answer"]) == (True, [], grounded_agent.REFUSAL_LOW_SCORE)


@pytest.mark.parametrize(
    ("contract", "shown"),
    [
        ("agent", "[1] Drives › Harmonic drive  similarity 0."),
        ("grounded-agent", "| Section: Harmonic drive | Score: 0."),
    ],
)
def test_a_contract_in_text_shows_the_answer_and_where_it_stands(
    bookbound: Run, little_index: Path, contract: str, shown: str
) -> None:
    done = bookbound("ask", PARTS, "--contract", contract, "--index", str(little_index))
    assert done.returncode == 0
    assert STATES in done.stdout
    assert shown in done.stdout


def test_the_format_json_and_its_short_form_are_the_same(bookbound: Run, little_index: Path) -> None:
    long = bookbound("ask", PARTS, "--format", "json", "--index", str(little_index))
    short = bookbound("ask", PARTS, "--json", "--index", str(little_index))
    text = bookbound("ask", PARTS, "--format", "text", "--index", str(little_index))
    assert json.loads(long.stdout)["citations"] == json.loads(short.stdout)["citations"]
    assert text.stdout.startswith(("The ", "A ", "It "))


def test_the_default_threshold_is_the_contracts_own() -> None:
    near = make_refusal(RefusalReason.INSUFFICIENT_GROUNDING, [make_passage("Words.", score=0.4)])
    assert said(ContractName.CANONICAL, near).plain["refusal"]["kind"] == "insufficient_grounding"
    assert said(ContractName.AGENT, near).plain["error_type"] == "no_context"
    assert said(ContractName.AGENT, near, threshold=0.4).plain["answer"] == NOT_IN_BOOK_MESSAGE
    assert said(ContractName.GROUNDED_AGENT, near).plain["answer"] == grounded_agent.REFUSAL_OFF_TOPIC
    assert said(ContractName.GROUNDED_AGENT, near, threshold=0.5).plain["answer"] == grounded_agent.REFUSAL_LOW_SCORE


@pytest.mark.parametrize("contract", ContractName)
def test_every_contract_says_whether_it_answered(contract: ContractName) -> None:
    assert said(contract, make_answer([("It has teeth.", GEAR)])).answered
    for retrieved in ([], [GEAR]):
        assert not said(contract, make_refusal(RefusalReason.LOW_RELEVANCE, retrieved)).answered


def test_the_lines_of_the_agent_contract() -> None:
    reply = make_answer([("It has teeth.", GEAR)])
    shown = ["It has teeth.", "", "[1] Drives › Gears  similarity 0.82", "    /drives#gears"]
    assert lines(said(ContractName.AGENT, reply)) == shown
    times = ["", "Retrieval   3.0 ms", "Generation  2.0 ms", "Total       6.0 ms"]
    assert lines(said(ContractName.AGENT, reply, verbose=True)) == shown + times
    assert lines(said(ContractName.AGENT, make_refusal())) == [NOT_IN_BOOK_MESSAGE]


def test_the_lines_of_the_grounded_agent_contract() -> None:
    reply = make_answer([("It has teeth.", GEAR)])
    citation = "[Source: /drives#gears | Chapter: Drives | Section: Gears | Score: 0.82]"
    assert lines(said(ContractName.GROUNDED_AGENT, reply)) == ["It has teeth.", "", citation]
    verbose = lines(said(ContractName.GROUNDED_AGENT, reply, verbose=True))
    assert verbose[-2:] == ["Total       5.0 ms", "Tools       search_textbook"]
    assert lines(said(ContractName.GROUNDED_AGENT, make_refusal())) == [grounded_agent.REFUSAL_NO_CONTEXT]


def failing(trouble: Exception, *arguments: str) -> tuple[int, Any]:
    """The exit code and the JSON of asking a book that cannot be opened."""

    def open_book(_: object) -> NoReturn:
        raise trouble

    done = CliRunner().invoke(app, ["ask", "Why?", "--json", *arguments], obj=SimpleNamespace(open_book=open_book))
    return done.exit_code, json.loads(done.stdout)


@pytest.mark.parametrize(
    ("trouble", "code", "kind"),
    [
        (errors.ServiceUnreachableError("Qdrant is gone.", service="qdrant"), 3, "retrieval"),
        (errors.ServiceTimeoutError("The model is slow.", service="openai"), 3, "generation"),
        (errors.CorruptIndexError("Index again."), 2, "retrieval"),
        (errors.ConfigError("Set the key."), 2, "validation"),
    ],
)
def test_an_error_in_json_has_the_contracts_shape_and_the_exit_code_of_its_kind(
    trouble: errors.BookboundError, code: int, kind: str
) -> None:
    told = {"error_type": kind, "message": str(trouble), "details": None}
    assert failing(trouble, "--contract", "agent") == (code, told)
    for contract in ("canonical", "grounded-agent"):
        status, plain = failing(trouble, "--contract", contract)
        assert (status, plain["error"]["type"], plain["error"]["message"]) == (
            code,
            type(trouble).__name__,
            str(trouble),
        )


def test_a_defect_in_json_has_the_contracts_shape_and_a_code_of_its_own() -> None:
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
def test_what_breaks_a_contracts_rule_exits_with_4_before_any_index_is_opened(
    tmp_path: Path, contract: str, arguments: tuple[str, ...]
) -> None:
    given = ["ask", *arguments, "--contract", contract, "--format", "json", "--index", str(tmp_path)]
    done = CliRunner().invoke(app, given, obj=bootstrap)
    plain = json.loads(done.stdout)
    assert done.exit_code == 4
    assert (plain["error_type"] == "validation") if contract == "agent" else (plain["error"]["type"] == "InvalidInput")


@pytest.mark.parametrize("k", ["3", "8"])
def test_a_number_of_passages_within_the_contract_is_taken(bookbound: Run, little_index: Path, k: str) -> None:
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
def test_what_a_contract_does_not_know_is_bad_use(arguments: tuple[str, ...]) -> None:
    assert CliRunner().invoke(app, ["ask", "why?", *arguments], obj=SimpleNamespace()).exit_code == 2


def test_a_contract_is_not_imported_until_it_is_spoken() -> None:
    script = "import sys, bookbound.cli; print([name for name in sys.modules if 'faces' in name and 'agent' in name])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
