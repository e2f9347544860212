"""The training reads texts like the product."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookbound.models import MODELS_FOLDER, TOKENIZER_FILE, cross_encoder
from lab.train import constants
from lab.train.batches import (
    MAX_BATCH_TOKENS,
    Example,
    ExampleBuilder,
    Row,
    TokenCache,
    build_epoch,
    join_texts,
    make_batches,
    token_range,
)
from lab.train.data import DEV_BOOKS, HELD_OUT
from lab.train.reader_metrics import auc, best_span, word_f1


@pytest.fixture(scope="module")
def tokens() -> TokenCache:
    return TokenCache(MODELS_FOLDER / TOKENIZER_FILE)


def make_row(text: str, answer: str, question: str = "How fast is it?") -> tuple[ExampleBuilder, Row]:
    start = text.index(answer)
    span = [start, start + len(answer)]
    builder = ExampleBuilder(
        TokenCache(MODELS_FOLDER / TOKENIZER_FILE), [{"text": text, "group": "", "path": "Gaits > Trot"}]
    )
    return builder, {"question": question, "passage": 0, "answerable": True, "spans": [span], "sentence": span}


def test_the_product_reads_no_more_tokens_than_the_training() -> None:
    assert cross_encoder.MAX_WINDOW_TOKENS <= constants.MAX_TOKENS
    assert cross_encoder.MAX_FIRST_TEXT_TOKENS == constants.MAX_QUESTION_TOKENS
    assert cross_encoder.MAX_CLAIM_TOKENS == constants.MAX_CLAIM_TOKENS


def test_the_tokens_of_an_answer_cover_its_characters(tokens: TokenCache) -> None:
    text = "The trot reaches 2.5 m/s on flat ground."
    _, offsets = tokens[text]
    first, last = token_range(offsets, text.index("2.5"), text.index(" on flat"))
    assert text[offsets[first][0] : offsets[last][1]] == "2.5 m/s"


def test_an_answer_is_marked_behind_question_and_heading_path() -> None:
    builder, asked = make_row("The trot reaches 2.5 m/s on flat ground.", "flat ground")
    example = builder.reading_example(asked["question"], 0, asked)
    ids, _ = builder.tokens["flat ground"]
    assert list(example.ids[example.starts[0] : example.ends[0] + 1]) == list(ids)
    assert example.answers == 1.0
    assert builder.reading_example(asked["question"], 0, None).answers == 0.0


def test_an_answer_that_is_cut_off_has_no_label() -> None:
    builder, asked = make_row("robot " * 400 + "stops", "stops")
    assert builder.reading_example(asked["question"], 0, asked).answers < 0


def test_without_its_sentence_a_passage_does_not_answer() -> None:
    builder, asked = make_row(
        "A gait is a pattern of steps. It reaches 2.5 m/s. Horses know several of them.", "It reaches 2.5 m/s."
    )
    example = builder.without_sentence(asked)
    assert example is not None
    assert example.answers == 0.0
    removed = builder.tokens["reaches"][0][0]
    assert removed not in example.ids


@pytest.mark.parametrize("extra", [0, 3])
def test_a_question_about_a_book_is_read_with_its_hard_negatives(extra: int) -> None:
    builder, asked = make_row("The trot reaches 2.5 m/s on flat ground.", "flat ground")
    builder.passages += [{"text": f"Gait {i} is slow.", "group": "", "path": ""} for i in range(8)]
    builder.negatives = {0: list(range(1, 9))}
    row = asked | {"source": "book_reading", "sentence": None}
    examples = build_epoch(builder, [row], [], random.Random(1), extra)
    assert sorted(each.answers for each in examples) == [0.0] * (2 + extra) + [1.0]


@given(st.integers(0, 200), st.integers(0, 600))
def test_a_pair_is_never_longer_than_the_network_allows(first: int, second: int) -> None:
    ids, at = join_texts(np.full(first, 7, np.int32), np.full(second, 8, np.int32))
    assert len(ids) <= constants.MAX_TOKENS
    assert (ids[0], ids[at - 1], ids[-1]) == (constants.CLS, constants.SEP, constants.SEP)


@given(st.lists(st.integers(5, 60), max_size=60), st.integers(0, 9))
def test_every_example_is_read_once_in_a_batch_of_its_length(lengths: list[int], seed: int) -> None:
    examples = [Example(np.full(length, i, np.int32), 2) for i, length in enumerate(lengths)]
    groups = make_batches(examples, random.Random(seed))
    assert sorted(int(each.ids[0]) for group in groups for each in group) == list(range(len(lengths)))
    assert all(len({len(each.ids) for each in group}) == 1 for group in groups)
    assert all(sum(len(each.ids) for each in group) <= MAX_BATCH_TOKENS for group in groups)


def test_the_area_under_the_curve_counts_ties_as_half() -> None:
    assert auc(np.array([2.0, 3.0]), np.array([0.0, 1.0])) == 1.0
    assert auc(np.array([1.0, 1.0]), np.array([1.0, 1.0])) == 0.5
    assert auc(np.array([0.0]), np.array([1.0])) == 0.0


def test_a_span_does_not_end_before_it_starts() -> None:
    starts, ends = np.array([0.0, 0.0, 9.0]), np.array([9.0, 0.0, 1.0])
    assert best_span(starts, ends) == (2, 2)


def test_word_overlap_ignores_articles_and_punctuation() -> None:
    assert word_f1("the trot.", "Trot") == 1.0
    assert word_f1("a fast trot", "trot") == pytest.approx(2 / 3)
    assert word_f1("", "trot") == 0.0


def test_our_questions_are_not_about_evaluation_books() -> None:
    folder = Path(__file__).resolve().parents[2] / "train"
    for name in ("written", "claims", "contrasting_claims", "twin_claims", "draft_twins"):
        text = (folder / f"{name}.jsonl").read_text(encoding="utf-8")
        for book in (*DEV_BOOKS, *HELD_OUT):
            assert f'"book": "{book}"' not in text


def test_a_pass_about_claims_reads_contrasting_ones_three_times_and_half_of_the_questions() -> None:
    builder, row = make_row("It runs at 40 Hz.", "40 Hz")
    claim = {"source": "contrasting", "claim": "It runs.", "premise": "It runs at 40 Hz.", "supported": True}
    examples = build_epoch(builder, [row | {"source": "squad"}] * 400, [claim], random.Random(1), about_claims=True)
    claims = [example for example in examples if example.supported == 1.0]
    questions = [example for example in examples if example.answers == 1.0]
    assert len(claims) == 3
    assert 100 < len(questions) < 300


def test_a_pass_of_a_reader_reads_no_twins() -> None:
    builder, _ = make_row("It runs at 40 Hz.", "40 Hz")
    twin = {"claim": "It runs.", "premise": "It runs at 40 Hz.", "supported": True, "pair": 1}
    twins = [twin | {"source": source} for source in constants.TWIN_SOURCES]
    for about_claims in (False, True):
        assert not build_epoch(builder, [], twins, random.Random(1), about_claims=about_claims)
