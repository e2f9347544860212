"""What is counted of the verdicts of two readers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lab.compare.judged_answers import (
    JudgedAnswer,
    count_verdicts,
    find_problems,
    load_rows,
    measure_agreement,
    summarize_judgements,
)
from lab.compare.written_answers import LANGCHAIN, LLAMA_INDEX, QUOTES, WRITTEN

ANSWERS = [{"id": "a0001", "answerable": True}, {"id": "a0002", "answerable": False}]
JUDGED = [{"id": "a0001", "verdict": "right"}, {"id": "a0002", "verdict": "refused"}]


def make_judged(*verdicts: tuple[str, str]) -> list[JudgedAnswer]:
    return [JudgedAnswer("example", f"example-{place:02}", True, QUOTES, each) for place, each in enumerate(verdicts)]


def write_rows(file: Path, rows: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two questions, one of them unanswerable, to four systems; the readers differ on one answer to each."""
    systems, answers, first = {}, [], []
    for number in range(8):
        name, is_answerable = f"a{number:04}", number < 4
        system = (QUOTES, WRITTEN, LANGCHAIN, LLAMA_INDEX)[number % 4]
        systems[name] = {"system": system, "question": "example-01" if is_answerable else "example-02"}
        answers.append({"id": name, "book": "example", "answerable": is_answerable})
        first.append({"id": name, "verdict": "right" if is_answerable else "refused"})
    second = [dict(row) for row in reversed(first)]
    second[-3]["verdict"], second[0]["verdict"] = "partly", "made_up"
    write_rows(tmp_path / "answers.jsonl", answers)
    write_rows(tmp_path / "judge-1.jsonl", first)
    write_rows(tmp_path / "judge-2.jsonl", second)
    (tmp_path / "systems.json").write_text(json.dumps(systems), encoding="utf-8")
    (tmp_path / "run.json").write_text(json.dumps({"date": "today", "versions": {}}), encoding="utf-8")
    return tmp_path


def test_an_answer_on_which_readers_differ_counts_half_for_each_verdict() -> None:
    judged = make_judged(("right", "right"), ("right", "partly"), ("refused", "partly"))
    counts = count_verdicts(judged, ("right", "partly", "wrong", "refused"))
    assert counts == {"questions": 3, "right": 1.5, "partly": 1.0, "wrong": 0.0, "refused": 0.5}


def test_the_agreement_is_the_share_of_equal_verdicts_and_what_chance_does_not_explain() -> None:
    judged = make_judged(("right", "right"), ("right", "right"), ("right", "wrong"), ("wrong", "wrong"))
    agreement = measure_agreement(judged)
    assert (agreement["answers"], agreement["share"]) == (4, 0.75)
    # By chance: 3/4 * 2/4 for right and 1/4 * 2/4 for wrong.
    assert agreement["kappa"] == pytest.approx((0.75 - 0.5) / (1 - 0.5))


def test_readers_who_agree_as_often_as_by_chance_have_a_kappa_of_zero() -> None:
    judged = make_judged(("right", "right"), ("right", "wrong"), ("wrong", "right"), ("wrong", "wrong"))
    assert measure_agreement(judged)["kappa"] == 0


def test_readers_who_only_give_one_verdict_have_no_kappa() -> None:
    assert measure_agreement(make_judged(("right", "right"))) == {"answers": 1, "share": 1.0, "kappa": None}


def test_verdicts_that_follow_the_rules_have_no_problems() -> None:
    assert find_problems(ANSWERS, JUDGED) == []


@pytest.mark.parametrize(
    ("judged", "problem"),
    [
        (JUDGED[:1], "a0002 has no verdict"),
        ([*JUDGED, JUDGED[0]], "a0001 has 2 verdicts"),
        ([*JUDGED, {"id": "a0003", "verdict": "right"}], "a0003 is not an answer"),
        ([{"id": "a0001", "verdict": "good"}, JUDGED[1]], "a0001 has the verdict “good”; if answerable, use right, "),
        (
            [JUDGED[0], {"id": "a0002", "verdict": "right"}],
            "a0002 has the verdict “right”; if unanswerable, use refused",
        ),
    ],
)
def test_verdicts_that_cannot_be_counted_say_why(judged: list[dict[str, Any]], problem: str) -> None:
    (found,) = find_problems(ANSWERS, judged)
    assert found.startswith(problem)


def test_each_system_gets_the_verdicts_on_its_own_answers(folder: Path) -> None:
    figures = summarize_judgements(folder)
    assert figures["books"] == {"example": {"questions": 2, "answerable": 1}}
    assert figures["systems"][QUOTES]["answerable"]["right"] == 1
    answered = figures["systems"][LANGCHAIN]["answerable"]
    assert (answered["questions"], answered["right"], answered["partly"]) == (1, 0.5, 0.5)
    assert figures["systems"][LLAMA_INDEX]["unanswerable"] == {"questions": 1, "refused": 0.5, "made_up": 0.5}
    assert figures["agreement"]["share"] == 0.75
    assert figures["verdicts"]["example-01"][LANGCHAIN] == ("right", "partly")


def test_nothing_is_counted_if_a_verdict_is_missing(folder: Path) -> None:
    file = folder / "judge-2.jsonl"
    write_rows(file, load_rows(file)[1:])
    with pytest.raises(SystemExit, match=r"judge-2\.jsonl: a0007 has no verdict\nNothing is counted"):
        summarize_judgements(folder)
