"""Rows of tables and their cells."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.domain.test_reply_blocks import make_chunk

from bookbound.domain.document import InlineKind, MarkupSpan


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
