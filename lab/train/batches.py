"""Builds the examples of one pass over the data as token ids, in batches of equal length."""

from __future__ import annotations

import json
import lzma
import random
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tokenizers
from numpy.typing import NDArray

from lab.train.constants import CLS, MAX_CLAIM_TOKENS, MAX_QUESTION_TOKENS, MAX_TOKENS, OUT, SEP, TWIN_SOURCES

MAX_BATCH_TOKENS = 24576
NEGATIVES = OUT / "negatives.json"
NO_LABEL = -1.0
Array = NDArray[Any]
Row = dict[str, Any]
SOURCE_SHARES = {
    "squadshifts_amazon_reviews": 0.2,
    "squadshifts_reddit": 0.2,
    "squadshifts_new_wiki": 0.5,
    "fairytaleqa": 0.3,
    "altered": 0.5,
    "edited": 0.5,
    "snli": 0.2,
    "semeval13_student_answers": 0.3,
    "mctest_statements": 0.5,
    "fever_dev": 0.6,
} | dict.fromkeys(TWIN_SOURCES, 0.0)
"""The share of a source's examples that one pass reads; other sources are read completely.

Twins are for `lab.train.claim_adapter`, which needs claims that the encoder never read.
"""
CLAIM_SHARES = SOURCE_SHARES | {
    "altered": 0.3,
    "edited": 0.3,
    "snli": 0.1,
    "semeval13_student_answers": 0.15,
    "mctest_statements": 0.25,
    "fever_dev": 0.4,
    "contrasting": 3.0,
}
"""The shares of a pass that is about claims: it reads the hardest ones three times."""
QUESTION_SHARE = 0.5
"""The share of the questions that such a pass reads, so that nothing is forgotten."""


def load_rows(name: str) -> list[Row]:
    with lzma.open(OUT / f"{name}.jsonl.xz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def load_negatives() -> dict[int, list[int]]:
    """The hard negatives of each question, by its number in the data."""
    return dict(enumerate(json.loads(NEGATIVES.read_text())))


class TokenCache:
    """Tokenizes each text once, with the character span of each token."""

    def __init__(self, file: Path) -> None:
        self._tokenizer = tokenizers.Tokenizer.from_file(str(file))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._encoded: dict[str, tuple[Array, Array]] = {}

    def encode_all(self, texts: list[str]) -> None:
        new = list(dict.fromkeys(text for text in texts if text not in self._encoded))
        for text, found in zip(new, self._tokenizer.encode_batch(new, add_special_tokens=False), strict=True):
            self._encoded[text] = (np.array(found.ids, np.int32), np.array(found.offsets, np.int32).reshape(-1, 2))

    def __getitem__(self, text: str) -> tuple[Array, Array]:
        if text not in self._encoded:
            self.encode_all([text])
        return self._encoded[text]


class Example(NamedTuple):
    """A pair of texts for the network; `starts` and `ends` are the first and last tokens of each accepted answer."""

    ids: Array
    second_start: int
    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    answers: float = NO_LABEL
    supported: float = NO_LABEL


def join_texts(first: Array, second: Array, max_first: int = MAX_QUESTION_TOKENS) -> tuple[Array, int]:
    """[CLS] first [SEP] second [SEP], cut to the length of the network, and the start of the second."""
    first = first[:max_first]
    second = second[: MAX_TOKENS - len(first) - 3]
    ids = np.concatenate([[CLS], first, [SEP], second, [SEP]]).astype(np.int32)
    return ids, len(first) + 2


@dataclass
class ExampleBuilder:
    """Builds examples from passages, questions and claims."""

    tokens: TokenCache
    passages: list[Row]
    negatives: dict[int, list[int]] = field(default_factory=dict)

    @classmethod
    def load(cls, tokenizer: Path, reading: list[Row], support: list[Row]) -> ExampleBuilder:
        """Loads all passages and tokenizes them with these questions and claims in one batch."""
        tokens, passages = TokenCache(tokenizer), load_rows("passages")
        tokens.encode_all([row["question"] for row in reading] + [row["claim"] for row in support])
        tokens.encode_all([row["premise"] for row in support] + [row["text"] for row in passages])
        tokens.encode_all([row["path"] + "\n" for row in passages if row["path"]])
        return cls(tokens, passages)

    def reading_example(self, question: str, passage: int, row: Row | None, omit_path: bool = False) -> Example:
        """A question with its own passage (`row`), or with one that does not answer (None)."""
        before = self.heading_tokens(passage)[: 0 if omit_path else None]
        ids, offsets = self.tokens[self.passages[passage]["text"]]
        both, at = join_texts(self.tokens[question][0], np.concatenate([before, ids]))
        if row is None or not row["answerable"]:
            return Example(both, at, answers=0.0)
        shift, last = at + len(before), len(both) - 2
        ends = [token_range(offsets, start, end) for start, end in row["spans"]]
        kept_ends = [(s + shift, e + shift) for s, e in ends if s <= e and e + shift <= last]
        if not kept_ends:
            return Example(both, at, answers=NO_LABEL)
        starts, stops = zip(*kept_ends, strict=True)
        return Example(both, at, tuple(starts), tuple(stops), 1.0)

    def passage_tokens(self, passage: int) -> Array:
        """A passage for the embedder: its heading path, then its text."""
        return np.concatenate([self.heading_tokens(passage), self.tokens[self.passages[passage]["text"]][0]])

    def heading_tokens(self, passage: int) -> Array:
        """The tokens of a passage's heading path."""
        path = self.passages[passage]["path"]
        return self.tokens[path + "\n"][0] if path else np.empty(0, np.int32)

    def without_sentence(self, row: Row) -> Example | None:
        """The passage without the sentence that answers."""
        ids, offsets = self.tokens[self.passages[row["passage"]]["text"]]
        first, last = token_range(offsets, *row["sentence"])
        if last - first + 1 > len(ids) // 2:
            return None
        both, at = join_texts(self.tokens[row["question"]][0], np.concatenate([ids[:first], ids[last + 1 :]]))
        return Example(both, at, answers=0.0)

    def claim_example(self, row: Row) -> Example:
        both, at = join_texts(self.tokens[row["claim"]][0], self.tokens[row["premise"]][0], MAX_CLAIM_TOKENS)
        return Example(both, at, supported=float(row["supported"]))


def token_range(offsets: Array, start: int, end: int) -> tuple[int, int]:
    """The first and last token that overlap characters `start` to `end`."""
    first = int(np.searchsorted(offsets[:, 1], start, "right"))
    last = int(np.searchsorted(offsets[:, 0], end, "left")) - 1
    return first, last


def build_epoch(
    builder: ExampleBuilder,
    reading: list[Row],
    support: list[Row],
    rng: random.Random,
    extra_negatives: int = 0,
    about_claims: bool = False,
) -> list[Example]:
    """One pass: all questions about books with hard negatives, a share of the other sources, and the claims."""
    found: list[Example | None] = []
    shares = CLAIM_SHARES if about_claims else SOURCE_SHARES
    for i, row in enumerate(reading):
        of_books = row["source"] in ("book_reading", "written")
        if (about_claims and rng.random() > QUESTION_SHARE) or (
            not of_books and rng.random() > shares.get(row["source"], 1.0)
        ):
            continue
        found.append(builder.reading_example(row["question"], row["passage"], row, rng.random() < 0.3))
        others = builder.negatives.get(i, [])
        of_a_book = extra_negatives + (3 if row["source"] == "written" else 2)
        wanted = of_a_book if of_books else int(rng.random() < 0.35)
        for other in rng.sample(others, min(wanted, len(others))):
            found.append(builder.reading_example(row["question"], other, None, rng.random() < 0.3))
        if of_books and row["answerable"] and row["sentence"] and rng.random() < 0.3:
            found.append(builder.without_sentence(row))
        if row["source"] == "written":
            found.append(builder.reading_example(row["question"], row["passage"], row))
    for row in support:
        share = shares.get(row["source"], 1.0)
        found += [builder.claim_example(row)] * (int(share) + (rng.random() < share % 1))
    return [example for example in found if example]


def make_batches(examples: list[Example], rng: random.Random) -> list[list[Example]]:
    """Batches in random order, each of one length, so that nothing is padded."""
    lengths: dict[int, list[Example]] = defaultdict(list)
    for example in examples:
        lengths[len(example.ids)].append(example)
    groups = []
    for length, same in lengths.items():
        rng.shuffle(same)
        size = MAX_BATCH_TOKENS // length
        groups += [same[at : at + size] for at in range(0, len(same), size)]
    rng.shuffle(groups)
    return groups
