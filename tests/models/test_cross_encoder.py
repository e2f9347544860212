from __future__ import annotations

import asyncio
import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.models import CONSTANTS_FILE, MODELS_FOLDER, STRONG_READER_FILE
from bookbound.models.cross_encoder import (
    CLAIM_INPUTS,
    MAX_FIRST_TEXT_TOKENS,
    MAX_SPAN_TOKENS,
    MAX_SPANS,
    MAX_WINDOW_TOKENS,
    MIN_SPAN_SHARE,
    WINDOW_OVERLAP_TOKENS,
    CrossEncoder,
    LogitScale,
    TokenWindow,
    build_windows,
    find_answer_spans,
    include_combining_marks,
)
from bookbound.models.onnx import ModelRuntime

Logits = list[float]


@pytest.fixture(scope="module")
def models() -> ModelRuntime:
    return ModelRuntime()


@pytest.fixture(scope="module")
def reader(models: ModelRuntime) -> CrossEncoder:
    return CrossEncoder(models, "strong")


@pytest.fixture(scope="module")
def fast_reader(models: ModelRuntime) -> CrossEncoder:
    return CrossEncoder(models, "fast")


def found(start: Logits, end: Logits, words: list[int] | None = None) -> list[tuple[int, int]]:
    chosen = find_answer_spans(np.array(start, np.float32), np.array(end, np.float32), words or list(range(len(start))))
    return [(first, last) for first, last, _ in chosen]


def test_the_most_probable_start_and_end_form_the_first_span() -> None:
    assert found([0, 9, 0, 0], [0, 0, 9, 0])[0] == (1, 2)


def test_a_span_never_ends_before_it_starts() -> None:
    (first, last) = found([0, 0, 0, 9], [9, 0, 0, 0])[0]
    assert first <= last


def test_a_span_has_whole_words() -> None:
    assert found([0, 0, 9, 0, 0], [0, 0, 0, 9, 0], [0, 1, 1, 2, 2])[0] == (1, 4)


def test_a_second_answer_is_found() -> None:
    start, end = [0.0] * 20, [0.0] * 20
    start[2], end[3], start[12], end[14] = 9, 9, 8.5, 8.5
    assert found(start, end)[:2] == [(2, 3), (12, 14)]


def test_overlapping_answers_share_their_probability() -> None:
    start, end = [-9.0] * 12, [-9.0] * 12
    start[2] = start[3] = start[4] = 5
    end[6] = end[10] = 5
    (only,) = find_answer_spans(np.array(start, np.float32), np.array(end, np.float32), list(range(12)))
    assert only.share == pytest.approx(1, abs=0.01)


@given(st.lists(st.tuples(st.floats(-30, 30), st.floats(-30, 30), st.booleans()), min_size=1, max_size=90))
def test_spans_are_few_and_do_not_overlap(row: list[tuple[float, float, bool]]) -> None:
    words = list(np.cumsum([new for _, _, new in row]))
    start, end = (np.array([each[i] for each in row], np.float32) for i in (0, 1))
    chosen = find_answer_spans(start, end, words)
    assert 1 <= len(chosen) <= MAX_SPANS
    assert sum(share for _, _, share in chosen) <= 1 + 1e-9
    assert all(share >= MIN_SPAN_SHARE for _, _, share in chosen)
    assert [share for _, _, share in chosen] == sorted((share for _, _, share in chosen), reverse=True)
    taken = [piece for first, last, _ in chosen for piece in range(first, last + 1)]
    assert len(taken) == len(set(taken))


def test_a_span_is_not_too_long() -> None:
    start, end = [0.0] * 200, [0.0] * 200
    start[0] = end[199] = 30
    assert all(last - first < MAX_SPAN_TOKENS for first, last in found(start, end))


@pytest.mark.parametrize(
    ("text", "end", "whole"),
    [("cafe\u0301 x", 4, 5), ("नमस्ते x", 5, 6), ("ok\ufe0f!", 2, 3), ("plain", 5, 5), ("a b", 1, 1)],
)
def test_combining_marks_belong_to_the_last_letter(text: str, end: int, whole: int) -> None:
    assert include_combining_marks(text, 0, end) == (0, whole)


MARKS = (-1, -2)


def rows(first: int, over: int, second: int) -> list[TokenWindow]:
    return list(build_windows(MARKS, [7] * first, [8] * over, list(range(100, 100 + second))))


def test_a_window_has_the_first_text_the_path_and_the_second_text() -> None:
    (row,) = rows(2, 1, 3)
    assert row.ids == [-1, 7, 7, -2, 8, 100, 101, 102, -2]
    assert row.types == [0, 0, 0, 0, 1, 1, 1, 1, 1]
    assert (row.at, row.token) == (5, 0)


def test_an_empty_text_has_no_window() -> None:
    assert rows(3, 2, 0) == []


def test_a_text_that_just_fits_has_one_window() -> None:
    room = MAX_WINDOW_TOKENS - 3 - 10
    assert len(rows(10, 0, room)) == 1
    assert len(rows(10, 0, room + 1)) == 2


@given(st.integers(0, 200), st.integers(0, 160), st.integers(1, 3000))
def test_windows_cover_every_token_and_overlap(first: int, over: int, second: int) -> None:
    found = rows(first, over, second)
    assert all(len(row.ids) <= MAX_WINDOW_TOKENS for row in found)
    assert all(row.ids.count(7) == min(first, MAX_FIRST_TEXT_TOKENS) for row in found)
    stretches = [row.ids[row.at : -1] for row in found]
    assert all(stretch[0] == 100 + row.token for row, stretch in zip(found, stretches, strict=True))
    assert {piece for stretch in stretches for piece in stretch} == set(range(100, 100 + second))
    shared = min(WINDOW_OVERLAP_TOKENS, len(stretches[0]) // 2)
    assert all(len(set(one) & set(other)) >= shared for one, other in pairwise(stretches))


def test_each_reader_has_its_own_constants(fast_reader: CrossEncoder, reader: CrossEncoder) -> None:
    kept = json.loads((MODELS_FOLDER / CONSTANTS_FILE).read_text("utf-8"))
    for name, constants in (("fast", fast_reader.constants), ("strong", reader.constants)):
        assert constants.answers == LogitScale(**kept[name]["answers"])
        assert constants.supported == LogitScale(**kept[name]["supported"])
        for weights in ("rank", "question", "selection"):
            assert getattr(constants, weights) == kept[name][weights]


def test_a_claim_is_supported_only_if_each_piece_of_it_is(fast_reader: CrossEncoder) -> None:
    premise = "The battery holds 900 Wh."
    claim = f"{premise} " * 20
    false = "The moon is made of cheese and was eaten by mice. " * 12
    kept, mixed = (asyncio.run(fast_reader.support(text, premise)) for text in (claim, claim + false))
    assert mixed < kept


def test_nothing_supports_and_nothing_is_supported_by_an_empty_text(fast_reader: CrossEncoder) -> None:
    assert asyncio.run(fast_reader.support("", "A robot walks.")) == 0.0
    assert asyncio.run(fast_reader.support("A robot walks.", "")) == 0.0


def test_the_strong_reader_reads_a_claim_with_other_weights_than_a_question(reader: CrossEncoder) -> None:
    network = ModelRuntime().network(STRONG_READER_FILE)
    ids, types = [101, 2023, 102, 2023, 2003, 102], [0, 0, 0, 1, 1, 1]
    plain, question = (network.read(ids, token_type_ids=types, **more) for more in ({}, {"is_claim": [0]}))
    claim = network.read(ids, token_type_ids=types, **CLAIM_INPUTS["strong"])
    assert plain["supported"] == question["supported"]
    assert abs(plain["supported"] - claim["supported"]) > 0.01
    support = asyncio.run(reader.support("this", "this is"))
    assert support == pytest.approx(reader.constants.supported.probability(float(claim["supported"])), abs=1e-5)
