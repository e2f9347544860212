"""The books held out, put on a shelf and asked: what is found for a question, what is read there, what is quoted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from training.batches import Library, Row

from bookbound import bootstrap
from bookbound.answering.decision import decide, rank_passages
from bookbound.answering.operating_point import OperatingPoint
from bookbound.answering.reading.answerability import (
    INITIAL_PASSAGES,
    STOP_READING_PROBABILITY,
    QuestionFeatures,
    compute_question_features,
    weigh_by_rank,
)
from bookbound.answering.reading.cross_encoder import CrossEncoder
from bookbound.answering.writers.quotes import QuoteWriter
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Assessment, PassageAssessment
from bookbound.domain.question import Question, Retrieval
from bookbound.domain.reply import AnswerSentence
from bookbound.settings import Settings

RELEVANT, HELD = 0.03, 0.75
"""Low, since it only keeps out what surely does not answer; whether the question is answered is decided after it.
An answer is right that has this share of the words that were given as the answer."""

_WORD = re.compile(r"[^\W_]+")


class Read(NamedTuple):
    """A question, the passages found for it, what was read in each, which of them hold its answer, and its words."""

    question: str
    book: str
    passages: Sequence[Passage]
    readings: Sequence[PassageAssessment]
    holding: Sequence[bool]
    answers: Sequence[str]

    def weighed(self, weights: Mapping[str, float]) -> list[PassageAssessment]:
        """The readings as the examiner has them: no more than the first few where these answer."""
        found = [weigh_by_rank(weights, reading, i) for i, reading in enumerate(self.readings)]
        enough = max(reading.probability for reading in found[:INITIAL_PASSAGES]) >= STOP_READING_PROBABILITY
        return [
            reading if i < INITIAL_PASSAGES or not enough else PassageAssessment(0.0) for i, reading in enumerate(found)
        ]

    def features(self, weights: Mapping[str, float]) -> QuestionFeatures:
        return compute_question_features(self.question, self.passages, self.weighed(weights))

    async def right(self, weights: Mapping[str, float]) -> bool:
        """Whether the answer that would be given holds the words that answer, quoted from where they stand."""
        question = Question(self.question)
        examination = Assessment(1.0, tuple(self.weighed(weights)))
        retrieval, examination = rank_passages(question, Retrieval(tuple(self.passages)), examination)
        judgement = decide(question, retrieval, examination, OperatingPoint(0.0, RELEVANT))
        own = {passage.chunk.id for passage, holds in zip(self.passages, self.holding, strict=True) if holds}
        draft = [piece async for piece in QuoteWriter().write(question, retrieval.passages, judgement)]
        quotes = [
            piece.text for piece in draft if isinstance(piece, AnswerSentence) and piece.evidence[0].chunk_id in own
        ]
        return max((covered(answer, " ".join(quotes)) for answer in self.answers), default=0.0) >= HELD


def covered(answer: str, text: str) -> float:
    """The share of an answer's words that a text has."""
    wanted, there = (Counter(_WORD.findall(words.lower())) for words in (answer, text))
    return (wanted & there).total() / max(1, wanted.total())


class Shelf:
    """The passages of the books held out as one book, indexed and open."""

    def __init__(self, kept: Library, reading: Sequence[Row], folder: Path) -> None:
        self._kept = kept
        source = folder / "source"
        source.mkdir()
        for passage in sorted({row["passage"] for row in reading}):
            text = kept.passages[passage]["text"]
            (source / f"{passage:06}.txt").write_text(text, encoding="utf-8")
        self.settings = Settings(index=folder / "index")
        bootstrap.index_book(source, self.settings)

    async def read(self, asked: Sequence[tuple[Row, bool]]) -> list[Read]:
        """Each question with the passages that were found for it, read."""
        found = []
        pipeline = await bootstrap.pipeline(self.settings)
        reader = CrossEncoder()
        for row, own in asked:
            candidates = (await pipeline.candidates(Question(row["question"][:1000]))).passages
            readings = await reader.read(row["question"], [passage.chunk for passage in candidates])
            holding = [own and row["answerable"] and _holds(row, passage) for passage in candidates]
            text = self._kept.passages[row["passage"]]["text"]
            answers = [text[start:end] for start, end in row["spans"]] if own else []
            found.append(Read(row["question"][:1000], row["group"], candidates, readings, holding, answers))
            if len(found) % 100 == 0:
                print(f"  {len(found)} of {len(asked)} questions", flush=True)
        await pipeline.close()
        return found


def _holds(row: Row, passage: Passage) -> bool:
    return passage.chunk.place.file == f"{row['passage']:06}.txt"
