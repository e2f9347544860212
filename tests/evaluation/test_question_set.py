"""Question sets are loaded and checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.conftest import WriteSet

from bookbound.domain.errors import InvalidInputError
from bookbound.evaluation.question_set import (
    UNSPECIFIED_KIND,
    EvaluationQuestion,
    EvidenceQuote,
    load_question_set,
)

EVIDENCE = [{"file": "a.md", "quote": "A trot moves."}]
ROW: dict[str, Any] = {
    "id": "1",
    "question": "What is a trot?",
    "answerable": True,
    "type": "fact",
    "evidence": EVIDENCE,
}


def test_a_row_becomes_a_question_with_its_line(write_set: WriteSet) -> None:
    row = ROW | {"must_contain": ["trot"], "answer": "A gait.", "book": "ignored"}
    silent = {"id": "2", "question": "Who won?", "answerable": False, "type": "off_topic", "why": "sports"}
    assert load_question_set(write_set(row, silent)) == [
        EvaluationQuestion(
            1, "1", "What is a trot?", True, "fact", (EvidenceQuote("a.md", "A trot moves."),), ("trot",), "A gait."
        ),
        EvaluationQuestion(2, "2", "Who won?", False, "off_topic", why="sports"),
    ]


def test_a_question_and_whether_it_is_answerable_are_enough(write_set: WriteSet) -> None:
    rows = [{"question": "What is a trot?", "answerable": True}, {"question": "Who won?", "answerable": False}]
    assert load_question_set(write_set(ROW, *rows))[1:] == [
        EvaluationQuestion(2, "line 2", "What is a trot?", True, UNSPECIFIED_KIND),
        EvaluationQuestion(3, "line 3", "Who won?", False, UNSPECIFIED_KIND),
    ]


def test_an_answer_is_checkable_by_evidence_or_required_text(write_set: WriteSet) -> None:
    bare = {"question": "What is a trot?", "answerable": True}
    rows = (bare, bare | {"must_contain": ["legs"]}, bare | {"evidence": EVIDENCE}, bare | {"answerable": False})
    assert [item.is_checkable for item in load_question_set(write_set(*rows))] == [False, True, True, True]


@pytest.mark.parametrize("name", ["question", "answerable"])
def test_a_missing_field_is_an_error_with_its_line(write_set: WriteSet, name: str) -> None:
    row = {key: value for key, value in ROW.items() if key != name}
    with pytest.raises(InvalidInputError, match=rf"^Line 2 of the question set: `{name}` is missing"):
        load_question_set(write_set(ROW | {"id": "0"}, row))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"id": 7}, "`id` must be text."),
        ({"question": " "}, "`question` is empty."),
        ({"question": "x" * 2001}, "`question` is invalid."),
        ({"question": "\ud800"}, "`question` contains an invalid character."),
        ({"answerable": "yes"}, "`answerable` must be true or false."),
        ({"type": ["fact"]}, "`type` must be text."),
        ({"evidence": {}}, "`evidence` must be a list."),
        ({"evidence": ["a.md"]}, "`evidence[0]` must be an object."),
        ({"evidence": [*EVIDENCE, {"file": "a.md"}]}, "`evidence[1].quote` is missing."),
        ({"evidence": [{"file": "", "quote": "x"}]}, "`evidence[0].file` is empty."),
        ({"evidence": [{"file": "a.md", "quote": 3}]}, "`evidence[0].quote` must be text."),
        ({"must_contain": "trot"}, "`must_contain` must be a list."),
        ({"must_contain": ["trot", 3]}, "`must_contain[1]` must be text."),
        ({"answer": 3}, "`answer` must be text."),
    ],
)
def test_an_invalid_field_is_an_error_with_its_name(tmp_path: Path, changed: Any, message: str) -> None:
    (file := tmp_path / "set.jsonl").write_text(json.dumps(ROW | changed))
    with pytest.raises(InvalidInputError) as error:
        load_question_set(file)
    assert str(error.value).startswith(f"Line 1 of the question set: {message}")


@pytest.mark.parametrize("line", ["{", "nonsense", "[" * 100_000, "12", '["a"]', "null"])
def test_a_line_must_be_a_json_object(tmp_path: Path, line: str) -> None:
    (file := tmp_path / "set.jsonl").write_text(f"\n{line}\n")
    with pytest.raises(InvalidInputError, match=r"^Line 2 of the question set: It is not "):
        load_question_set(file)


def test_an_id_must_be_unique(write_set: WriteSet) -> None:
    with pytest.raises(InvalidInputError, match=r"^Line 2 of the question set: `id` was used"):
        load_question_set(write_set(ROW, ROW))


@pytest.mark.parametrize("content", [b"", b"\n \r\n"])
def test_an_empty_set_is_an_error(tmp_path: Path, content: bytes) -> None:
    (file := tmp_path / "set.jsonl").write_bytes(content)
    with pytest.raises(InvalidInputError, match="is empty"):
        load_question_set(file)


def test_invalid_utf8_is_an_error(tmp_path: Path) -> None:
    (file := tmp_path / "set.jsonl").write_bytes(b"\xff\xfe{")
    with pytest.raises(InvalidInputError, match="not valid UTF-8"):
        load_question_set(file)


def test_a_byte_order_mark_and_line_separators_within_text_are_accepted(write_set: WriteSet) -> None:
    file = write_set(ROW | {"answer": "one\u2028two"})
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert [item.answer for item in load_question_set(file)] == ["one\u2028two"]


def test_no_error_repeats_the_text_of_a_question(write_set: WriteSet) -> None:
    with pytest.raises(InvalidInputError) as error:
        load_question_set(write_set(ROW | {"question": "secret " * 400}))
    assert "secret" not in str(error.value)
