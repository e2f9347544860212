"""The figures of readers and embedders count what they say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from bookbound.models import MODELS_FOLDER, TOKENIZER_FILE
from lab.train.batches import Array, Example, ExampleBuilder, Row, TokenCache
from lab.train.measure_networks import format_table
from lab.train.reader_metrics import HeldOut, Logits, auc
from lab.train.retrieval_metrics import measure_retrieval, measure_selection

TOPICS = ("trot", "gallop", "hopping", "walking", "running", "crawling")


@pytest.fixture(scope="module")
def builder() -> ExampleBuilder:
    passages = [{"text": f"{topic} is a gait", "group": "gaits", "path": ""} for topic in TOPICS]
    return ExampleBuilder(TokenCache(MODELS_FOLDER / TOKENIZER_FILE), passages)


def make_rows() -> list[Row]:
    common = {"group": "gaits", "answerable": True, "part": "test", "source": "book_reading"}
    return [common | {"question": topic, "passage": i} for i, topic in enumerate(TOPICS)]


def embed(texts: list[Array]) -> Array:
    """One dimension per first token: a question is close to the passage that starts with it."""
    vectors = np.zeros((len(texts), 30522), np.float32)
    vectors[np.arange(len(texts)), [int(ids[0]) for ids in texts]] = 1
    return vectors


def test_a_perfect_embedder_has_a_rank_of_one(builder: ExampleBuilder) -> None:
    figures = measure_retrieval(embed, builder, make_rows())
    assert figures["gaits: MRR"] == figures["mean of the books: recall@5"] == 1.0


def test_the_rank_of_a_wrong_passage_counts_reciprocally(builder: ExampleBuilder) -> None:
    row = make_rows()[0] | {"passage": 1}  # the question finds passage 0 first; the others are equal
    assert measure_retrieval(embed, builder, [row])["gaits: MRR"] == 0.5


@pytest.mark.parametrize(("score", "share"), [(1.0, 1.0), (-1.0, 0.0)])
def test_a_reader_selects_the_evidence_or_not(builder: ExampleBuilder, score: float, share: float) -> None:
    def predict(examples: Sequence[Example]) -> Logits:
        answers = np.array([score * (each.ids[1] in each.ids[2:]) for each in examples])
        return [], [], answers, answers

    figures = measure_selection(embed, predict, builder, make_rows())
    assert figures["evidence among 20 candidates"] == 1.0
    assert figures["of it in the reader's first 4"] == share


def test_a_sample_takes_as_many_rows_of_each_set() -> None:
    reading = [*make_rows(), {"part": "train", "source": "book_reading"}, {"part": "test", "source": "squad2_dev_B"}]
    support = [{"part": "test", "source": source} for source in ("snli", "snli", "begin")]
    held_out = HeldOut.select(reading, support, 1)
    assert (len(held_out.books), len(held_out.squad), len(held_out.claims)) == (1, 1, 2)
    number, row = held_out.books[0]
    assert reading[number] is row
    assert len(HeldOut.select(reading, support).books) == len(TOPICS)


def test_without_a_negative_there_is_no_area_under_the_curve() -> None:
    assert np.isnan(auc(np.array([1.0]), np.array([])))


def test_the_table_has_a_column_for_each_network() -> None:
    lines = format_table({"strong": {"span F1": 0.869}, "embedder": {"MRR": 0.82}}).splitlines()
    assert lines == [
        " " * 7 + "    strong  embedder",
        "span F1    0.8690" + " " * 10,
        "MRR    " + " " * 10 + "    0.8200",
    ]
