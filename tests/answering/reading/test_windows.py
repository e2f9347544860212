from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bookbound.answering.reading.cross_encoder import (
    MAX_FIRST_TEXT_TOKENS,
    MAX_WINDOW_TOKENS,
    WINDOW_OVERLAP_TOKENS,
    TokenWindow,
    build_windows,
)

MARKS = (-1, -2)


def rows(first: int, over: int, second: int) -> list[TokenWindow]:
    return list(build_windows(MARKS, [7] * first, [8] * over, list(range(100, 100 + second))))


def test_a_row_is_the_first_text_then_what_stands_over_the_second_then_the_second() -> None:
    (row,) = rows(2, 1, 3)
    assert row.ids == [-1, 7, 7, -2, 8, 100, 101, 102, -2]
    assert row.types == [0, 0, 0, 0, 1, 1, 1, 1, 1]
    assert (row.at, row.piece) == (5, 0)


def test_a_text_without_words_has_no_row() -> None:
    assert rows(3, 2, 0) == []


def test_a_text_that_just_fits_takes_one_row_and_one_word_more_takes_two() -> None:
    room = MAX_WINDOW_TOKENS - 3 - 10
    assert len(rows(10, 0, room)) == 1
    assert len(rows(10, 0, room + 1)) == 2


@given(st.integers(0, 200), st.integers(0, 160), st.integers(1, 3000))
def test_every_piece_is_read_in_rows_that_fit_and_share_enough(first: int, over: int, second: int) -> None:
    found = rows(first, over, second)
    assert all(len(row.ids) <= MAX_WINDOW_TOKENS for row in found)
    assert all(row.ids.count(7) == min(first, MAX_FIRST_TEXT_TOKENS) for row in found)
    stretches = [row.ids[row.at : -1] for row in found]
    assert all(stretch[0] == 100 + row.piece for row, stretch in zip(found, stretches, strict=True))
    assert {piece for stretch in stretches for piece in stretch} == set(range(100, 100 + second))
    shared = min(WINDOW_OVERLAP_TOKENS, len(stretches[0]) // 2)
    assert all(len(set(one) & set(other)) >= shared for one, other in pairwise(stretches))
