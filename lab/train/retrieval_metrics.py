"""Measures an embedder on the held-out books, the same way for PyTorch and for the shipped network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from lab.train.batches import Array, ExampleBuilder, Row
from lab.train.reader_metrics import Predict

Embed = Callable[[list[Array]], Array]
"""Turns tokenized texts into normalised vectors."""
FIRST, CANDIDATES, SELECTED = 5, 20, 4


def search_books(embed: Embed, builder: ExampleBuilder, books: Sequence[Row]) -> Iterator[tuple[Row, list[int]]]:
    """Each answerable question with all passages of its book, the most similar first."""
    for book in sorted({row["group"] for row in books}):
        asked = [row for row in books if row["group"] == book and row["answerable"]]
        candidates = np.array([i for i, row in enumerate(builder.passages) if row["group"] == book])
        passages = embed([builder.passage_tokens(int(i)) for i in candidates])
        scores = embed([builder.tokens[row["question"]][0] for row in asked]) @ passages.T
        for row, order in zip(asked, np.argsort(-scores, 1, "stable"), strict=True):
            yield row, candidates[order].tolist()


def measure_retrieval(embed: Embed, builder: ExampleBuilder, books: Sequence[Row]) -> dict[str, float]:
    """Mean reciprocal rank and recall in the first five, for each book and over all of them."""
    ranks: dict[str, list[int]] = {}
    for row, found in search_books(embed, builder, books):
        ranks.setdefault(row["group"], []).append(found.index(row["passage"]) + 1)
    figures: dict[str, float] = {}
    for name, of_book in ranks.items():
        figures |= _summarize(name, np.array(of_book))
    means = {end: float(np.mean([figures[f"{book}: {end}"] for book in ranks])) for end in ("MRR", f"recall@{FIRST}")}
    return figures | {f"mean of the books: {end}": round(value, 4) for end, value in means.items()}


def _summarize(name: str, ranks: Array) -> dict[str, float]:
    reciprocal, share = float((1 / ranks).mean()), float((ranks <= FIRST).mean())
    return {f"{name}: MRR": round(reciprocal, 4), f"{name}: recall@{FIRST}": round(share, 4)}


def measure_selection(
    embed: Embed, predict: Predict, builder: ExampleBuilder, books: Sequence[Row]
) -> dict[str, float]:
    """How often a reader puts the passage of a question among the first four of its 20 most similar ones."""
    ranks = []
    searched = list(search_books(embed, builder, books))
    for row, found in searched:
        read = found[:CANDIDATES]
        if row["passage"] in read:
            answers = predict([builder.reading_example(row["question"], passage, None) for passage in read])[2]
            ranks.append(int((answers > answers[read.index(row["passage"])]).sum()) + 1)
    return {
        f"evidence among {CANDIDATES} candidates": round(len(ranks) / len(searched), 4),
        f"of it in the reader's first {SELECTED}": round(float((np.array(ranks) <= SELECTED).mean()), 4),
    }
