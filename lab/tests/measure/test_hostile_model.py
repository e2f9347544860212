"""Few false sentences of a hostile model are shown as supported."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bookbound.domain.judgement import SupportLabel
from lab.measure.hostile_cases import Case, load_cases, load_claims
from lab.measure.hostile_model import find_labels, main
from lab.measure.question_sets import MEASURE

MIN_TRUE_SHARE, MAX_FALSE_SHARE = 0.5, 0.08
"""The shares of the true and of the false sentences that count as supported, far from those that were measured."""


@pytest.fixture(scope="module")
def example() -> list[Case]:
    return load_cases(["example"])


@pytest.fixture(scope="module")
def is_supported(example: list[Case]) -> dict[Case, bool]:
    """Whether each sentence is shown without a mark."""
    labels = (label is SupportLabel.SUPPORTED for label in find_labels(example))
    return dict(zip(example, labels, strict=True))


def test_both_parts_have_many_true_and_false_sentences(example: list[Case]) -> None:
    count = Counter((case.part, case.true) for case in example)
    assert count["dev", True] >= 100
    assert count["dev", False] >= 100
    assert count["test", True] >= 30
    assert count["test", False] >= 30


def test_only_sentences_of_one_kind_cite_nothing(example: list[Case]) -> None:
    assert {case.kind for case in example if not case.evidence} == {"nowhere"}


@pytest.mark.slow
@pytest.mark.parametrize("true", [True, False])
def test_most_true_sentences_are_supported_and_few_false_ones(is_supported: dict[Case, bool], true: bool) -> None:
    shown = [was_shown for case, was_shown in is_supported.items() if case.true == true]
    share = sum(shown) / len(shown)
    assert share > MIN_TRUE_SHARE if true else share < MAX_FALSE_SHARE


def test_a_true_sentence_without_a_passage_that_says_it_is_not_supported(example: list[Case]) -> None:
    copied = [case for case in example if case.true and any(case.text in each.text for each in case.evidence)]
    one, other = copied[0], next(case for case in copied if case.passages != copied[0].passages)
    first, second = find_labels([one, replace(other, passages=())])
    assert first is SupportLabel.SUPPORTED
    assert second is not SupportLabel.SUPPORTED


CLAIM: dict[str, Any] = {
    "id": "1",
    "book": "walking",
    "premise": "A trot moves diagonal legs together. The robot weighs 60 kg.",
    "claim": "The robot weighs 60 kg.",
    "supported": True,
    "kind": "copied",
}
FALSE_CLAIM = CLAIM | {"id": "2", "claim": "The robot weighs 80 kg.", "supported": False, "kind": "number"}


def write_claims(folder: Path, *rows: Any) -> Path:
    (file := folder / "claims.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return file


def test_a_claim_cites_its_premise_sentence_by_sentence(tmp_path: Path) -> None:
    (case,) = load_claims(write_claims(tmp_path, CLAIM))
    (evidence,) = case.evidence
    assert (case.part, case.kind, case.true, case.text) == ("claims", "copied", True, "The robot weighs 60 kg.")
    assert [evidence.text[unit.start : unit.end] for unit in evidence.units] == [
        "A trot moves diagonal legs together.",
        "The robot weighs 60 kg.",
    ]


CITING_CLAIM: dict[str, Any] = {
    "id": "3",
    "book": "example",
    "cites": [{"file": "docs/intro.md", "words": "Quaternions are written in the order"}],
    "claim": "Coordinate frames are right-handed.",
    "supported": True,
    "kind": "shortened",
}


def test_a_claim_cites_chunks_of_a_book_by_their_words(tmp_path: Path) -> None:
    (case,) = load_claims(write_claims(tmp_path, CITING_CLAIM))
    assert (case.book, case.part, case.true, case.text) == ("example", "claims", True, CITING_CLAIM["claim"])
    (passage,) = case.passages
    assert "Quaternions are written in the order" in " ".join(passage.chunk.text.split())
    assert passage.chunk.place.heading_path


def test_a_claim_cites_several_chunks_in_their_order(tmp_path: Path) -> None:
    cited = [
        ("docs/01-foundations/02-anatomy-of-a-humanoid.md", "strain wave gear"),
        ("docs/intro.md", "Quaternions are written"),
    ]
    row = CITING_CLAIM | {"cites": [{"file": file, "words": words} for file, words in cited]}
    (case,) = load_claims(write_claims(tmp_path, row))
    assert [passage.chunk.place.file for passage in case.passages] == [file for file, _ in cited]


def test_claims_of_a_file_are_counted_by_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--claims", str(write_claims(tmp_path, CLAIM, FALSE_CLAIM))])
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in capsys.readouterr().out.splitlines()]
    counts = {row[0]: row[1] for row in rows[-5:-1]}
    assert counts == {"false": "0 of 1", "number": "0 of 1", "true": "1 of 1", "copied": "1 of 1"}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"id": "2"}, "book is missing"),
        ("words", "string indices"),
        (CLAIM | {"claim": " "}, "empty or no text"),
        (CLAIM | {"supported": "false"}, "neither true nor false"),
        (CITING_CLAIM | {"cites": []}, "`cites` is empty"),
        (CITING_CLAIM | {"cites": [{"words": "Torque"}]}, "file is missing"),
        (CITING_CLAIM | {"cites": [{"file": "docs/intro.md", "words": 5}]}, "empty or no text"),
        (CITING_CLAIM | {"cites": [{"file": "docs/intro.md", "words": "In no chunk"}]}, "no chunk of docs/intro.md"),
        (CITING_CLAIM | {"book": "nobody"}, "there is no book 'nobody'"),
    ],
)
def test_a_bad_claim_is_an_error_with_its_line_and_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], row: Any, reason: str
) -> None:
    with pytest.raises(SystemExit):
        main(["--claims", str(write_claims(tmp_path, CLAIM, row))])
    error = " ".join(capsys.readouterr().err.split())
    assert "Line 2 of" in error
    assert reason in error


def test_a_missing_file_of_claims_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--claims", str(tmp_path / "nowhere.jsonl")])
    assert "nowhere.jsonl" in capsys.readouterr().err


@pytest.mark.slow
def test_every_passage_of_the_real_books_is_found(shared: Path) -> None:
    assert {case.book for case in load_cases()} >= {"example", "hf_deep_rl_course", "ros2_docs"}


@pytest.mark.parametrize(
    ("name", "fewest"),
    [
        ("claims.jsonl", 20),
        ("unseen_claims.jsonl", 20),
        # These cite chunks of real books, which have to be parsed and split.
        pytest.param("drafts.jsonl", 20, marks=pytest.mark.slow),
        pytest.param("unseen_drafts.jsonl", 15, marks=pytest.mark.slow),
    ],
)
def test_the_claims_have_enough_sentences_of_many_kinds(shared: Path, name: str, fewest: int) -> None:
    cases = load_claims(MEASURE / name)
    kinds = Counter((case.true, case.kind) for case in cases)
    assert sum(count for (true, _), count in kinds.items() if true) >= 150
    assert sum(count for (true, _), count in kinds.items() if not true) >= 200
    assert min(kinds.values()) >= fewest
    assert all(case.evidence for case in cases)
