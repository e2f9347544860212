"""How the units of a chunk belong together: lists, tables, and labels."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.answering.writers.conftest import Pages, make_passage

from bookbound.domain.chunk_layout import MAX_WHOLE_CHARACTERS, MAX_WHOLE_UNITS, ChunkLayout


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
