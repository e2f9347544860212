"""Rows of tables: their cells, and which of them name the columns."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.domain.test_reply_blocks import make_chunk

from bookbound.domain.chunk import QuotableUnit, names_columns
from bookbound.domain.document import InlineKind, MarkupSpan
from bookbound.text.sentences import split_sentences


@pytest.mark.parametrize(
    ("row", "cells"),
    [
        ("Loop | Rate", ("Loop", "Rate")),
        ("Loop |  | Rate", ("Loop", "", "Rate")),
        ("Loop |", ("Loop", "")),
        ("| Rate", ("", "Rate")),
        ("Loop", ("Loop",)),
        ("size | int|None", ("size", "int|None")),
        ("a || b | or", ("a || b", "or")),
    ],
)
def test_a_bar_with_space_around_it_ends_a_cell(row: str, cells: tuple[str, ...]) -> None:
    chunk = make_chunk(("row", row))
    assert chunk.split_row(chunk.units[0]) == cells


@pytest.mark.parametrize("kind", ["inline_code", "inline_formula"])
def test_a_bar_in_code_or_a_formula_ends_no_cell(kind: InlineKind) -> None:
    chunk = make_chunk("Limits\n", ("row", "size | int | None | 40"))
    marked = replace(chunk, offset=100, markup=(MarkupSpan(kind, 114, 124),))
    assert marked.split_row(marked.units[0]) == ("size", "int | None", "40")


def find_header(text: str) -> list[str]:
    """Returns the rows that name columns."""
    units = split_sentences(text)
    return [text[unit.start : unit.end] for unit in units if names_columns(make_chunk(text), units, unit)]


def test_the_first_of_several_rows_names_the_columns() -> None:
    assert find_header("Rates differ.\n\nLoop | Rate\nMotor | 10 kHz\nArm | 1 kHz") == ["Loop | Rate"]
    assert find_header("Loop | Rate\nMotor | fast\n\nJoint | Torque\nKnee | high") == ["Loop | Rate", "Joint | Torque"]


def test_a_row_with_an_empty_corner_names_columns() -> None:
    text = "| Gazebo 8 | MuJoCo 3\nStep | 1 ms | 2 ms"
    units = [QuotableUnit("row", 0, 21), QuotableUnit("row", 22, len(text))]
    assert [names_columns(make_chunk(text), units, unit) for unit in units] == [True, False]


def test_a_row_at_the_start_of_a_chunk_names_columns_only_if_it_looks_like_names() -> None:
    assert find_header("Loop | Rate\nMotor | 10 kHz") == ["Loop | Rate"]
    assert find_header("Motor | 10 kHz\nArm | 1 kHz") == []
    assert find_header("Motor | It turns.\nArm | It lifts.") == []
    assert find_header(f"Motor | {'long ' * 9}\nArm | short") == []
    assert find_header("Rates differ.\n\nMotor | 10 kHz\nArm | 1 kHz") == ["Motor | 10 kHz"]


def test_a_single_row_names_no_columns() -> None:
    chunk = make_chunk(("row", "Loop | Rate"))
    assert not names_columns(chunk, chunk.units, chunk.units[0])


def test_a_column_may_have_a_digit_in_its_name_but_does_not_begin_with_one() -> None:
    for first, names in (("Feature | PyTorch2", True), ("Speed | 2 ms", False)):
        chunk = make_chunk(("row", first), ("row", "Logging | Yes"))
        assert names_columns(chunk, chunk.units, chunk.units[0]) is names
