"""The questions on which constants are fitted, with the passages that the search finds for them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from bookbound.domain.chunk import Chunk, Passage
from bookbound.evaluation.quote_locations import QuoteSpans
from lab.train.constants import OUT

Role = Literal["held_out", "fitted", "title", "off_topic", "selection", "held_out_selection"]
CANDIDATES = OUT / "candidates.pkl"


@dataclass(frozen=True, slots=True)
class ExpectedAnswer:
    """Where the evidence of an answer is, what it must contain, and answers of which one is expected."""

    evidence: tuple[QuoteSpans, ...]
    required: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question with the passages that the search finds; their scores are cosines.

    `has_answer` says which passages answer, as far as it is known. Without an expected answer, every answer is wrong.
    """

    text: str
    book: str
    role: Role
    passages: tuple[Passage, ...]
    has_answer: tuple[bool, ...] = ()
    expected: ExpectedAnswer | None = None


def iterate_pairs(asked: Sequence[AskedQuestion]) -> Iterator[tuple[str, Chunk]]:
    """Every question with every passage."""
    return ((question.text, passage.chunk) for question in asked for passage in question.passages)


def save_questions(asked: Sequence[AskedQuestion]) -> None:
    CANDIDATES.write_bytes(pickle.dumps(list(asked), protocol=5))


def load_questions() -> list[AskedQuestion]:
    asked: list[AskedQuestion] = pickle.loads(CANDIDATES.read_bytes())
    return asked
