"""Rows of tables and their cells, and how the units of a chunk belong together: lists, tables, and labels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.answering.writers.conftest import Pages, make_passage
from tests.domain.test_reply_blocks import make_chunk

from bookbound.domain.chunk import MAX_WHOLE_CHARACTERS, MAX_WHOLE_UNITS, ChunkLayout, QuotableUnit
from bookbound.domain.document import InlineKind, MarkupSpan
from bookbound.text import split_sentences


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


def lay_out(folder: Path, text: str) -> ChunkLayout:
    (folder / "page.md").write_text(f"# A\n\n{text}", encoding="utf-8")
    return ChunkLayout(Pages(folder).chunks[0])


def test_a_chunk_without_units_is_one_sentence() -> None:
    layout = ChunkLayout(make_passage("a", "Pigs dig. Owls fly.").chunk)
    assert [layout.words(at) for at in range(len(layout))] == ["Pigs dig. Owls fly."]


def test_a_run_is_short_if_it_has_few_units_and_few_characters(tmp_path: Path) -> None:
    item = f"- {'x' * (MAX_WHOLE_CHARACTERS // MAX_WHOLE_UNITS - 2)}"
    layout = lay_out(tmp_path, "\n".join([item] * (MAX_WHOLE_UNITS + 1)))
    assert layout.is_short(range(MAX_WHOLE_UNITS))
    assert not layout.is_short(range(MAX_WHOLE_UNITS + 1))
    wide = lay_out(tmp_path, "\n".join([f"{item}x"] * MAX_WHOLE_UNITS))
    assert wide.is_short(range(MAX_WHOLE_UNITS - 1))
    assert not wide.is_short(range(MAX_WHOLE_UNITS))


def test_a_list_goes_from_its_first_item_to_the_end_of_its_block(tmp_path: Path) -> None:
    layout = lay_out(tmp_path, "Hens eat:\n\n- corn\n  - yellow\n- worms\n\nOwls fly.")
    assert [layout.listed(at) for at in range(len(layout))] == [range(0), *[range(1, 4)] * 3, range(0)]


def test_a_table_is_its_consecutive_rows(tmp_path: Path) -> None:
    table = "| A | B |\n|---|---|\n| 1 | 2 |"
    layout = lay_out(tmp_path, f"{table}\n\n{table}\n")
    assert [layout.table(at) for at in range(len(layout))] == [*[range(2)] * 2, *[range(2, 4)] * 2]
    assert [layout.names_columns(at) for at in range(len(layout))] == [True, False, True, False]


@pytest.mark.parametrize(
    ("words", "is_label"),
    [
        ("Choosing legs", True),
        ("Choosing legs.", False),
        ("Legs: two", False),
        ("Legs – two", False),
        ("Choosing legs over " + "very " * 10 + "small wheels", False),
    ],
)
def test_a_short_line_alone_before_something_else_is_a_label(tmp_path: Path, words: str, is_label: bool) -> None:
    assert lay_out(tmp_path, f"{words}\n\nOwls fly.").is_label(0) is is_label


def test_a_line_before_a_formula_or_at_the_end_is_no_label(tmp_path: Path) -> None:
    assert not lay_out(tmp_path, "The force is\n\n$$\nF = m a\n$$").is_label(0)
    assert not lay_out(tmp_path, "Owls fly.\n\nChoosing legs").is_label(1)


def find_header(text: str) -> list[str]:
    """Returns the rows that name columns."""
    layout = ChunkLayout(replace(make_chunk(text), units=tuple(split_sentences(text))))
    return [layout.words(at) for at in range(len(layout)) if layout.names_columns(at)]


def test_the_first_of_several_rows_names_the_columns() -> None:
    assert find_header("Rates differ.\n\nLoop | Rate\nMotor | 10 kHz\nArm | 1 kHz") == ["Loop | Rate"]
    assert find_header("Loop | Rate\nMotor | fast\n\nJoint | Torque\nKnee | high") == ["Loop | Rate", "Joint | Torque"]


def test_a_row_with_an_empty_corner_names_columns() -> None:
    text = "| Gazebo 8 | MuJoCo 3\nStep | 1 ms | 2 ms"
    units = (QuotableUnit("row", 0, 21), QuotableUnit("row", 22, len(text)))
    layout = ChunkLayout(replace(make_chunk(text), units=units))
    assert [layout.names_columns(0), layout.names_columns(1)] == [True, False]


def test_a_row_at_the_start_of_a_chunk_names_columns_only_if_it_looks_like_names() -> None:
    assert find_header("Loop | Rate\nMotor | 10 kHz") == ["Loop | Rate"]
    assert find_header("Motor | 10 kHz\nArm | 1 kHz") == []
    assert find_header("Motor | It turns.\nArm | It lifts.") == []
    assert find_header(f"Motor | {'long ' * 9}\nArm | short") == []
    assert find_header("Rates differ.\n\nMotor | 10 kHz\nArm | 1 kHz") == ["Motor | 10 kHz"]


def test_a_single_row_names_no_columns() -> None:
    chunk = make_chunk(("row", "Loop | Rate"))
    assert not ChunkLayout(chunk).names_columns(0)


def test_a_column_may_have_a_digit_in_its_name_but_does_not_begin_with_one() -> None:
    for first, names in (("Feature | PyTorch2", True), ("Speed | 2 ms", False)):
        chunk = make_chunk(("row", first), ("row", "Logging | Yes"))
        assert ChunkLayout(chunk).names_columns(0) is names
