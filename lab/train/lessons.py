"""What the last stages of embedder and fast reader learn from: questions, passages of their books, and a teacher.

The teacher is the strong reader. It reads each question with its own passage and with similar ones of the same book, as
the product would.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from lab.train.batches import Array, Example, ExampleBuilder, Row
from lab.train.constants import SEP
from lab.train.negatives import find_nearest
from lab.train.network import WORD_TABLE, Embedder, Encoder, Reader, as_tensors
from lab.train.packed_weights import load_base_weights, load_weights
from lab.train.tensors import DEVICE, collate

ENCODER = "gte"
BOOK_SOURCES = ("book_reading", "written")
NEAREST, MIN_CANDIDATES = 20, 4
"""How many similar passages are looked up, and how many a question needs to teach an order."""
MAX_WINDOW_TOKENS = 320
TAUGHT_TOKENS = 150_000
"""The tokens that the teacher reads at once."""
MIN_SPAN_LOGIT = -1.5
"""Above this answer logit of the teacher, its spans are kept."""


class Taught(NamedTuple):
    """What the teacher says about examples: logits, and start and end probabilities of those that may answer."""

    answers: Array
    supported: Array
    spans: dict[int, tuple[Array, Array]]


def choose_questions(reading: Sequence[Row], others: int, seed: int, sample: int | None = None) -> list[Row]:
    """All training questions about books, and so many answerable ones of other sources."""
    rng = random.Random(seed)
    trained = [row for row in reading if row["part"] == "train"]
    books = [row for row in trained if row["source"] in BOOK_SOURCES]
    rest = [row for row in trained if row["source"] not in BOOK_SOURCES and row["answerable"]]
    chosen = books + rng.sample(rest, others)
    return rng.sample(chosen, sample) if sample else chosen


def find_candidates(builder: ExampleBuilder, asked: list[Row], embedder: Embedder) -> list[list[int]]:
    """The own passage of each question, then the most similar others of its book."""
    nearest = find_nearest(builder, asked, embedder, NEAREST)
    return [
        [row["passage"], *(passage for passage in found if passage != row["passage"])]
        for row, found in zip(asked, nearest, strict=True)
    ]


def make_pair(builder: ExampleBuilder, question: str, passage: int, omit_path: bool = False) -> Example:
    """A question with a passage, cut to what the product reads at once."""
    example = builder.reading_example(question, passage, None, omit_path)
    if len(example.ids) <= MAX_WINDOW_TOKENS:
        return example
    return example._replace(ids=np.append(example.ids[: MAX_WINDOW_TOKENS - 1], np.int32(SEP)))


def teach(teacher: Reader, examples: Sequence[Example], keep_spans: bool = False) -> Taught:
    """Has the teacher read all examples, in half precision on a GPU."""
    answers, supported = np.zeros(len(examples), np.float32), np.zeros(len(examples), np.float32)
    spans: dict[int, tuple[Array, Array]] = {}
    for chosen in group_by_length([len(example.ids) for example in examples], TAUGHT_TOKENS):
        batch = collate([examples[i] for i in chosen], DEVICE)
        with torch.inference_mode(), half_precision(torch.float16):
            start, end, answer, support = (
                part.float() for part in teacher(batch["ids"], batch["mask"], batch["types"])
            )
        answers[chosen], supported[chosen] = answer.cpu().numpy(), support.cpu().numpy()
        if keep_spans:
            starts, ends = (part.softmax(1).half().cpu().numpy() for part in (start, end))
            for row, i in enumerate(chosen):
                if answers[i] > MIN_SPAN_LOGIT:
                    length = len(examples[i].ids)
                    spans[i] = starts[row, :length].copy(), ends[row, :length].copy()
    return Taught(answers, supported, spans)


def group_by_length(lengths: Sequence[int], max_tokens: int) -> Iterator[list[int]]:
    """Groups of rows of similar lengths, each of at most so many tokens with its padding."""
    group: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if group and lengths[i] * (len(group) + 1) > max_tokens:
            yield group
            group = []
        group.append(i)
    if group:
        yield group


def half_precision(kind: torch.dtype) -> AbstractContextManager[None]:
    """Computes in half precision on a GPU, and in full precision on a CPU."""
    return torch.autocast(DEVICE, kind) if DEVICE == "cuda" else nullcontext()


def load_embedder(file: Path, base: Path) -> Embedder:
    """A trained embedder; its file leaves out the word table, which is not trained."""
    encoder = Encoder(ENCODER)
    words = {WORD_TABLE: load_base_weights(ENCODER, base)[WORD_TABLE]}
    encoder.load_state_dict(as_tensors(load_weights(file) | words))
    embedder: Embedder = Embedder(encoder).to(DEVICE).eval()
    return embedder


def load_teacher(file: Path, base: Path) -> Reader:
    teacher: Reader = Reader.load(file, base).to(DEVICE).eval().requires_grad_(False)
    return teacher
