from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.answering.reading.cross_encoder import (
    MAX_SPAN_TOKENS,
    MAX_SPANS,
    MIN_SPAN_SHARE,
    find_answer_spans,
    include_combining_marks,
)

Logits = list[float]


def found(start: Logits, end: Logits, words: list[int] | None = None) -> list[tuple[int, int]]:
    chosen = find_answer_spans(np.array(start, np.float32), np.array(end, np.float32), words or list(range(len(start))))
    return [(first, last) for first, last, _ in chosen]


def test_the_likeliest_start_and_end_make_the_first_stretch() -> None:
    assert found([0, 9, 0, 0], [0, 0, 9, 0])[0] == (1, 2)


def test_a_stretch_never_ends_before_it_starts() -> None:
    (first, last) = found([0, 0, 0, 9], [9, 0, 0, 0])[0]
    assert first <= last


def test_a_stretch_holds_whole_words() -> None:
    assert found([0, 0, 9, 0, 0], [0, 0, 0, 9, 0], [0, 1, 1, 2, 2])[0] == (1, 4)


def test_a_second_answer_is_found_beside_the_first() -> None:
    start, end = [0.0] * 20, [0.0] * 20
    start[2], end[3], start[12], end[14] = 9, 9, 8.5, 8.5
    assert found(start, end)[:2] == [(2, 3), (12, 14)]


def test_answers_that_differ_in_where_they_begin_share_their_weight() -> None:
    start, end = [-9.0] * 12, [-9.0] * 12
    start[2] = start[3] = start[4] = 5
    end[6] = end[10] = 5
    (only,) = find_answer_spans(np.array(start, np.float32), np.array(end, np.float32), list(range(12)))
    assert only.share == pytest.approx(1, abs=0.01)


@given(st.lists(st.tuples(st.floats(-30, 30), st.floats(-30, 30), st.booleans()), min_size=1, max_size=90))
def test_stretches_are_few_apart_and_share_no_more_than_the_whole(row: list[tuple[float, float, bool]]) -> None:
    words = list(np.cumsum([new for _, _, new in row]))
    start, end = (np.array([each[i] for each in row], np.float32) for i in (0, 1))
    chosen = find_answer_spans(start, end, words)
    assert 1 <= len(chosen) <= MAX_SPANS
    assert sum(share for _, _, share in chosen) <= 1 + 1e-9
    assert all(share >= MIN_SPAN_SHARE for _, _, share in chosen)
    assert [share for _, _, share in chosen] == sorted((share for _, _, share in chosen), reverse=True)
    taken = [piece for first, last, _ in chosen for piece in range(first, last + 1)]
    assert len(taken) == len(set(taken))


def test_a_stretch_is_not_longer_than_an_answer_may_be() -> None:
    start, end = [0.0] * 200, [0.0] * 200
    start[0] = end[199] = 30
    assert all(last - first < MAX_SPAN_TOKENS for first, last in found(start, end))


@pytest.mark.parametrize(
    ("text", "end", "whole"),
    [("cafe\u0301 x", 4, 5), ("नमस्ते x", 5, 6), ("ok\ufe0f!", 2, 3), ("plain", 5, 5), ("a b", 1, 1)],
)
def test_marks_on_the_last_letter_belong_to_it(text: str, end: int, whole: int) -> None:
    assert include_combining_marks(text, 0, end) == (0, whole)
