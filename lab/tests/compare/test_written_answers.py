"""The answers of all systems with one language model, and what the readers who judge them get."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bookbound.bootstrap import open_book
from bookbound.domain.chunk import Passage
from bookbound.settings import Settings
from lab.compare import written_answers
from lab.compare.recorded_model import FIXED_CODE, PromptFile
from lab.compare.written_answers import LANGCHAIN, LLAMA_INDEX, QUOTES, WRITTEN, answer_all, write_blind

QUESTION = {
    "id": "example-01",
    "book": "example",
    "question": "What do I need for the exercises?",
    "answerable": True,
    "expected": "Paper, a calculator, or a computer with ROS 2.",
    "type": "fact",
}
REPLY = "The exercises need only paper, a calculator, or a computer with ROS 2 installed. [1]"
SYSTEMS = (QUOTES, WRITTEN, LANGCHAIN, LLAMA_INDEX)


def ask_framework(prompts: PromptFile, question: str, passages: Sequence[Passage]) -> str:
    """Stands in for a framework, none of which is installed for the tests."""
    return prompts.find_reply(passages[0].chunk.text, question)


@pytest.fixture
def answers(example_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Asks all systems the question with the replies that are there."""
    for name in ("ask_langchain", "ask_llama_index"):
        monkeypatch.setattr(written_answers, name, ask_framework)

    def ask() -> dict[str, str | None]:
        prompts = PromptFile(tmp_path / "prompts.jsonl", tmp_path / "replies.jsonl")
        with closing(open_book(Settings(index=example_index))) as book:
            return {row["system"]: row["answer"] for row in answer_all(book, prompts, [QUESTION])}

    return ask


def test_an_answer_is_missing_until_its_reply_is_there(answers: Any, tmp_path: Path) -> None:
    before = answers()
    assert list(before) == [*SYSTEMS]
    assert [name for name, answer in before.items() if answer is None] == [WRITTEN, LANGCHAIN, LLAMA_INDEX]
    prompts = [json.loads(line) for line in (tmp_path / "prompts.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [FIXED_CODE in row["prompt"]["instructions"] for row in prompts] == [True, False]
    rows = (json.dumps({"id": row["id"], "reply": REPLY}) for row in prompts)
    (tmp_path / "replies.jsonl").write_text("\n".join(rows), encoding="utf-8")
    after = answers()
    assert after[QUOTES] == before[QUOTES]
    assert after[LANGCHAIN] == after[LLAMA_INDEX] == REPLY
    assert "calculator" in (after[WRITTEN] or "").lower()
    assert "[1]" not in (after[WRITTEN] or "")


def make_answers() -> list[dict[str, Any]]:
    return [
        QUESTION | {"id": f"example-{number:02}", "system": name, "answer": f"Answer {number}, {place}."}
        for number in range(1, 9)
        for place, name in enumerate(SYSTEMS)
    ]


def test_readers_get_the_answers_without_their_systems(tmp_path: Path) -> None:
    write_blind(make_answers(), tmp_path)
    text = (tmp_path / "answers.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    assert {tuple(row) for row in rows} == {("id", "book", "question", "answerable", "expected", "answer")}
    assert not [name for name in SYSTEMS if name in text]


def test_the_order_of_the_answers_does_not_tell_their_systems(tmp_path: Path) -> None:
    answers = make_answers()
    order = [row["system"] for row in answers]
    write_blind(answers, tmp_path)
    systems = json.loads((tmp_path / "systems.json").read_text(encoding="utf-8"))
    shown = [each["system"] for each in systems.values()]
    assert sorted(shown) == sorted(order)
    assert len({tuple(shown[at : at + len(SYSTEMS)]) for at in range(0, len(shown), len(SYSTEMS))}) > 1


def test_the_number_of_an_answer_leads_to_its_system_and_its_question(tmp_path: Path) -> None:
    expected = {row["answer"]: {"system": row["system"], "question": row["id"]} for row in make_answers()}
    write_blind(make_answers(), tmp_path)
    systems = json.loads((tmp_path / "systems.json").read_text(encoding="utf-8"))
    rows = map(json.loads, (tmp_path / "answers.jsonl").read_text(encoding="utf-8").splitlines())
    assert {row["answer"]: systems[row["id"]] for row in rows} == expected
