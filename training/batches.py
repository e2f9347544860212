"""Examples as token ids: what one pass over the data reads, in batches of like length."""

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
from training.shape import CLS, LONGEST, LONGEST_QUESTION, SEP

OUT = Path("training/out")
TOKENS_A_BATCH = 24576
NEGATIVES = OUT / "negatives.json"
NEITHER = -1.0
Array = NDArray[Any]
Row = dict[str, Any]
# How often an example of a source is read in one pass; the rest of the time it is left out.
SHARE = {
    "squadshifts_amazon_reviews": 0.2,
    "squadshifts_reddit": 0.2,
    "squadshifts_new_wiki": 0.5,
    "fairytaleqa": 0.3,
    "altered": 0.5,
    "snli": 0.2,
    "semeval13_student_answers": 0.3,
    "mctest_statements": 0.5,
    "fever_dev": 0.6,
}


def rows(name: str) -> list[Row]:
    with lzma.open(OUT / f"{name}.jsonl.xz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class Words:
    """Texts as word pieces, each text once, with where each piece stands."""

    def __init__(self, file: Path) -> None:
        self._tokenizer = tokenizers.Tokenizer.from_file(str(file))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._kept: dict[str, tuple[Array, Array]] = {}

    def learn(self, texts: list[str]) -> None:
        new = list(dict.fromkeys(text for text in texts if text not in self._kept))
        for text, found in zip(new, self._tokenizer.encode_batch(new, add_special_tokens=False), strict=True):
            self._kept[text] = (np.array(found.ids, np.int32), np.array(found.offsets, np.int32).reshape(-1, 2))

    def __getitem__(self, text: str) -> tuple[Array, Array]:
        if text not in self._kept:
            self.learn([text])
        return self._kept[text]


class Example(NamedTuple):
    """A pair as the network reads it; `starts` and `ends` are the allowed ends of the answer's span."""

    ids: Array
    second: int
    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    answers: float = NEITHER
    supported: float = NEITHER


def pair(first: Array, second: Array) -> tuple[Array, int]:
    """[CLS] first [SEP] second [SEP], cut to what the network reads, and where the second begins."""
    first = first[:LONGEST_QUESTION]
    second = second[: LONGEST - len(first) - 3]
    ids = np.concatenate([[CLS], first, [SEP], second, [SEP]]).astype(np.int32)
    return ids, len(first) + 2


@dataclass
class Library:
    """Everything that can be read, and how it is put together."""

    words: Words
    passages: list[Row]
    negatives: dict[int, list[int]] = field(default_factory=dict)

    def example(self, question: str, passage: int, row: Row | None, pathless: bool = False) -> Example:
        """A question with a passage: its own (`row` says what is there) or one that does not answer."""
        before = self.over(passage)[: 0 if pathless else None]
        ids, offsets = self.words[self.passages[passage]["text"]]
        both, at = pair(self.words[question][0], np.concatenate([before, ids]))
        if row is None or not row["answerable"]:
            return Example(both, at, answers=0.0)
        shift, last = at + len(before), len(both) - 2
        ends = [tokens(offsets, start, end) for start, end in row["spans"]]
        kept_ends = [(s + shift, e + shift) for s, e in ends if s <= e and e + shift <= last]
        if not kept_ends:
            return Example(both, at, answers=NEITHER)
        starts, stops = zip(*kept_ends, strict=True)
        return Example(both, at, tuple(starts), tuple(stops), 1.0)

    def pieces(self, passage: int) -> Array:
        """A passage as the embedder reads it: its path, then its words."""
        return np.concatenate([self.over(passage), self.words[self.passages[passage]["text"]][0]])

    def over(self, passage: int) -> Array:
        """The heading path that stands over a passage, as word pieces."""
        path = self.passages[passage]["path"]
        return self.words[path + "\n"][0] if path else np.empty(0, np.int32)

    def without_sentence(self, row: Row) -> Example | None:
        """The passage with the sentence that answers taken out of it: then it does not."""
        ids, offsets = self.words[self.passages[row["passage"]]["text"]]
        first, last = tokens(offsets, *row["sentence"])
        if last - first + 1 > len(ids) // 2:
            return None
        both, at = pair(self.words[row["question"]][0], np.concatenate([ids[:first], ids[last + 1 :]]))
        return Example(both, at, answers=0.0)

    def claim(self, row: Row) -> Example:
        both, at = pair(self.words[row["claim"]][0], self.words[row["premise"]][0])
        return Example(both, at, supported=float(row["supported"]))


def library(tokenizer: Path, reading: list[Row], support: list[Row]) -> Library:
    words, passages = Words(tokenizer), rows("passages")
    words.learn([row["question"] for row in reading] + [row["claim"] for row in support])
    words.learn([row["premise"] for row in support] + [row["text"] for row in passages])
    words.learn([row["path"] + "\n" for row in passages if row["path"]])
    return Library(words, passages)


def tokens(offsets: Array, start: int, end: int) -> tuple[int, int]:
    """The first and last piece that characters `start` to `end` touch."""
    first = int(np.searchsorted(offsets[:, 1], start, "right"))
    last = int(np.searchsorted(offsets[:, 0], end, "left")) - 1
    return first, last


def epoch(library: Library, reading: list[Row], support: list[Row], rng: random.Random) -> list[Example]:
    """One pass: every book question with hard negatives, a share of the other sources, and the claims."""
    found: list[Example | None] = []
    for i, row in enumerate(reading):
        of_books = row["source"] in ("book_reading", "written")
        if not of_books and rng.random() > SHARE.get(row["source"], 1.0):
            continue
        found.append(library.example(row["question"], row["passage"], row, rng.random() < 0.3))
        others = library.negatives.get(i, [])
        wanted = (3 if row["source"] == "written" else 2) if of_books else int(rng.random() < 0.35)
        for other in rng.sample(others, min(wanted, len(others))):
            found.append(library.example(row["question"], other, None, rng.random() < 0.3))
        if of_books and row["answerable"] and row["sentence"] and rng.random() < 0.3:
            found.append(library.without_sentence(row))
        if row["source"] == "written":
            found.append(library.example(row["question"], row["passage"], row))
    for row in support:
        if rng.random() <= SHARE.get(row["source"], 1.0):
            found.append(library.claim(row))
    return [example for example in found if example]


def batches(examples: list[Example], rng: random.Random) -> list[list[Example]]:
    """Batches of one length each, so that nothing is padded, in random order."""
    lengths: dict[int, list[Example]] = defaultdict(list)
    for example in examples:
        lengths[len(example.ids)].append(example)
    groups = []
    for length, same in lengths.items():
        rng.shuffle(same)
        size = TOKENS_A_BATCH // length
        groups += [same[at : at + size] for at in range(0, len(same), size)]
    rng.shuffle(groups)
    return groups
