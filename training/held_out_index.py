"""Indexes the held-out books and asks them questions: the passages found, their assessments, and the quoted answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from training.batches import ExampleBuilder, Row

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

RELEVANCE_THRESHOLD, MIN_ANSWER_SHARE = 0.03, 0.75
"""The relevance threshold is low: it drops only passages that surely do not answer. An answer is right if it has this
share of the words of the expected one."""
_WORD = re.compile(r"[^\W_]+")


class QuestionReading(NamedTuple):
    """A question, the passages found for it with their assessments, which of them answer, and the expected answers."""

    question: str
    book: str
    passages: Sequence[Passage]
    assessments: Sequence[PassageAssessment]
    has_answer: Sequence[bool]
    answers: Sequence[str]

    def weighted_assessments(self, weights: Mapping[str, float]) -> list[PassageAssessment]:
        """The assessments as in production, which reads only the first passages if these answer."""
        weighted = [weigh_by_rank(weights, each, rank) for rank, each in enumerate(self.assessments)]
        first = weighted[:INITIAL_PASSAGES]
        if max(each.probability for each in first) < STOP_READING_PROBABILITY:
            return weighted
        return first + [PassageAssessment(0.0)] * (len(weighted) - len(first))

    def features(self, weights: Mapping[str, float]) -> QuestionFeatures:
        return compute_question_features(self.question, self.passages, self.weighted_assessments(weights))

    async def is_answered_right(self, weights: Mapping[str, float]) -> bool:
        """Whether the answer contains the expected words, quoted from a passage that answers."""
        question = Question(self.question)
        assessment = Assessment(1.0, tuple(self.weighted_assessments(weights)))
        retrieval, assessment = rank_passages(question, Retrieval(tuple(self.passages)), assessment)
        judgement = decide(question, retrieval, assessment, OperatingPoint(0.0, RELEVANCE_THRESHOLD))
        own = {passage.chunk.id for passage, answers in zip(self.passages, self.has_answer, strict=True) if answers}
        draft = [piece async for piece in QuoteWriter().write(question, retrieval.passages, judgement)]
        quotes = [
            piece.text for piece in draft if isinstance(piece, AnswerSentence) and piece.evidence[0].chunk_id in own
        ]
        return max((answer_share(answer, " ".join(quotes)) for answer in self.answers), default=0.0) >= MIN_ANSWER_SHARE


def answer_share(answer: str, text: str) -> float:
    """The share of an answer's words that are in a text."""
    expected, present = (Counter(_WORD.findall(words.lower())) for words in (answer, text))
    return (expected & present).total() / max(1, expected.total())


class HeldOutIndex:
    """The passages of the held-out books, indexed as one book."""

    def __init__(self, builder: ExampleBuilder, reading: Sequence[Row], folder: Path) -> None:
        self._builder = builder
        source = folder / "source"
        source.mkdir()
        for passage in sorted({row["passage"] for row in reading}):
            text = builder.passages[passage]["text"]
            (source / f"{passage:06}.txt").write_text(text, encoding="utf-8")
        self.settings = Settings(index=folder / "index")
        bootstrap.index_book(source, self.settings)

    async def read(self, asked: Sequence[tuple[Row, bool]]) -> list[QuestionReading]:
        """Reads the passages found for each question; the flag says whether it is about the held-out books."""
        readings = []
        pipeline = await bootstrap.open_pipeline(self.settings)
        reader = CrossEncoder()
        for row, own in asked:
            candidates = (await pipeline.candidates(Question(row["question"][:1000]))).passages
            assessments = await reader.read(row["question"], [passage.chunk for passage in candidates])
            has_answer = [own and row["answerable"] and _is_own_passage(row, passage) for passage in candidates]
            text = self._builder.passages[row["passage"]]["text"]
            answers = [text[start:end] for start, end in row["spans"]] if own else []
            readings.append(
                QuestionReading(row["question"][:1000], row["group"], candidates, assessments, has_answer, answers)
            )
            if len(readings) % 100 == 0:
                print(f"  {len(readings)} of {len(asked)} questions", flush=True)
        await pipeline.close()
        return readings


def _is_own_passage(row: Row, passage: Passage) -> bool:
    return passage.chunk.place.file == f"{row['passage']:06}.txt"
