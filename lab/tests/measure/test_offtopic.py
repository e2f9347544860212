"""Off-topic messages that are answered are counted, for books and for every interface."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from rich.console import Console
from rich.progress import Progress

import lab.measure.offtopic
import lab.measure.question_sets
from bookbound.contracts.query_models import QueryRequest
from bookbound.domain.errors import ServiceUnreachableError
from bookbound.domain.question import Question
from bookbound.server.app import CONTRACTS, create_app
from bookbound.settings import Settings
from bookbound.testing import ScriptedBackend, make_refusal
from lab.measure.offtopic import (
    HTTP_INTERFACES,
    MESSAGES,
    Message,
    Tally,
    ask_interfaces,
    build_table,
    format_answered,
    load_messages,
    main,
    make_http_check,
)
from lab.measure.question_sets import BOOK, EXAMPLE, QuestionSet

ON_TOPIC = Message("on-topic", "What are the three parts of a strain wave gear?", "gears")
OFF_TOPIC = Message("off-topic", "What is the capital of Mongolia?", "world")
GREETING = Message("greeting", "Guten Morgen, wie geht es dir?", "small_talk")
FEW = [ON_TOPIC, OFF_TOPIC, GREETING]


def make_tally(answered: int, messages: int = 200) -> Tally:
    asked = tuple(Message(f"m{number}", f"[/b] :smile: {number}", "nonsense") for number in range(messages))
    return Tally("a book", asked, asked[:answered])


def test_there_are_200_messages_of_seven_kinds() -> None:
    assert Counter(message.kind for message in load_messages(MESSAGES)) == {
        "small_talk": 45,
        "arithmetic": 15,
        "command": 45,
        "world": 45,
        "personal": 20,
        "nonsense": 15,
        "other_technology": 15,
    }


def test_no_message_and_no_id_occurs_twice() -> None:
    messages = load_messages(MESSAGES)
    assert len({message.id for message in messages}) == len(messages)
    assert len({message.question.casefold() for message in messages}) == len(messages)


def test_every_interface_accepts_every_message() -> None:
    """The contract of `/api/query` has the smallest limit."""
    for message in load_messages(MESSAGES):
        assert Question(message.question).text == QueryRequest(query=message.question).query == message.question


def test_every_contract_of_the_server_is_asked() -> None:
    assert [contract.paths for contract in CONTRACTS if HTTP_INTERFACES.keys().isdisjoint(contract.paths)] == []


@pytest.fixture(scope="module")
def interfaces(example_index: Path) -> dict[str, Tally]:
    tallies = ask_interfaces(example_index, FEW, Progress(disable=True))
    return {tally.name: tally for tally in tallies}


@pytest.mark.parametrize("name", [*HTTP_INTERFACES, "agent", "grounded_agent"])
def test_every_interface_counts_an_answer_and_no_refusal(interfaces: dict[str, Tally], name: str) -> None:
    assert interfaces.keys() == {*HTTP_INTERFACES, "agent", "grounded_agent"}
    assert interfaces[name].messages == tuple(FEW)
    assert interfaces[name].answered == (ON_TOPIC,)


@pytest.mark.parametrize("path", HTTP_INTERFACES)
def test_an_error_of_the_server_does_not_count_as_a_refusal(path: str) -> None:
    refusing = TestClient(create_app(ScriptedBackend(make_refusal()), Settings()))
    assert make_http_check(refusing, path)("hello") is False
    failing = TestClient(
        create_app(ScriptedBackend(ServiceUnreachableError("Qdrant is away.", service="qdrant")), Settings())
    )
    with pytest.raises(RuntimeError, match=f"{path} replies with status 503"):
        make_http_check(failing, path)("hello")


def test_at_most_two_percent_may_be_answered() -> None:
    assert make_tally(4).is_acceptable
    assert not make_tally(5).is_acceptable


def test_the_table_has_a_row_for_each_kind_and_a_column_for_each_book() -> None:
    tallies = [Tally("one", tuple(FEW), (ON_TOPIC,)), Tally("two", tuple(FEW), ())]
    console = Console(width=110)
    with console.capture() as output:
        console.print(build_table("Answered", tallies))
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in output.get().splitlines() if "│" in line]
    assert rows == [
        ["gears", "1 of 1", "0 of 1"],
        ["world", "0 of 1", "0 of 1"],
        ["small_talk", "0 of 1", "0 of 1"],
        ["all", "1 of 3", "0 of 3"],
        ["share", "33.3%", "0.0%"],
    ]


def test_the_answered_messages_are_listed_as_they_are() -> None:
    assert list(format_answered([make_tally(1)])) == [
        "a book answers:",
        "  m0 nonsense: [/b] :smile: 0",
        "At most 2% may be answered; this holds everywhere.",
    ]
    assert list(format_answered([make_tally(0), make_tally(5)]))[-1].endswith("more are answered by: a book.")


@pytest.mark.parametrize(
    ("messages", "options", "status"), [(FEW, [], 1), ([OFF_TOPIC], [], 0), ([OFF_TOPIC], ["--contracts"], 0)]
)
def test_the_exit_status_says_whether_too_many_are_answered(
    example_index: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    messages: list[Message],
    options: list[str],
    status: int,
) -> None:
    file = tmp_path / "messages.jsonl"
    lines = [json.dumps({"id": each.id, "question": each.question, "kind": each.kind}) for each in messages]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.setattr(lab.measure.offtopic, "MESSAGES", file)
    monkeypatch.setattr(lab.measure.question_sets, "OUT", example_index.parent)
    monkeypatch.setattr(
        lab.measure.offtopic, "list_question_sets", lambda: [QuestionSet(example_index.name, EXAMPLE, BOOK)]
    )
    assert main(["--only", example_index.name, *options]) == status
    printed = capsys.readouterr().out
    assert (f"{ON_TOPIC.id} {ON_TOPIC.kind}: {ON_TOPIC.question}" in printed) is bool(status)
    assert OFF_TOPIC.question not in printed
    assert ("grounded_agent" in printed) is bool(options)
