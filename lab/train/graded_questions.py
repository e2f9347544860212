"""Reads and answers questions as the product does without a threshold, and grades the answers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from bookbound.answering.deciding.decision import decide, rank_passages
from bookbound.answering.deciding.operating_point import OperatingPoint
from bookbound.answering.reading.answerability import (
    CrossEncoderAssessor,
    QuestionFeatures,
    Readings,
    combine_readings,
    compute_question_features,
    names_nothing,
)
from bookbound.answering.reading.answering_words import SURE_PROBABILITY, AnsweringWords, find_answering_words
from bookbound.answering.understanding import understand, understand_part
from bookbound.answering.writers.quotes.quote_writer import QuoteWriter
from bookbound.domain.chunk import Passage
from bookbound.domain.judgement import Assessment
from bookbound.domain.question import NO_DEADLINE, Question, QuestionPart, Retrieval
from bookbound.domain.reply import AnswerSentence
from bookbound.evaluation.quote_locations import FileSpan
from bookbound.models.cross_encoder import CrossEncoder, LogitScale, Weights, logistic_probability
from lab.train.asked_questions import AskedQuestion, ExpectedAnswer

MIN_ANSWER_SHARE = 0.75
"""An answer is right if it has this share of the words of the expected one."""
_WORD = re.compile(r"[^\W_]+")


class TracingAssessor(CrossEncoderAssessor):
    """Stops reading where the product does, and returns the readings of both readers."""

    async def trace(self, question: AskedQuestion) -> tuple[Readings, Readings]:
        fast = await self._read_fast(question.text, question.passages)
        if self._strong is None:
            return fast, {}
        return fast, await self._read_strong(question.text, question.passages, fast, NO_DEADLINE)


class GradedQuestion(NamedTuple):
    """A question with its readings and the words that answer by their place, and whether the quoted answer is right."""

    asked: AskedQuestion
    part: QuestionPart
    fast: Readings
    strong: Readings
    words: AnsweringWords | None
    is_right: bool

    @property
    def best_cosine(self) -> float:
        """The cosine of the passage that most probably answers."""
        readings = self.strong or self.fast
        return self.asked.passages[max(readings, key=lambda i: readings[i].probability)].score

    @property
    def highest_cosine(self) -> float:
        return max(passage.score for passage in self.asked.passages)

    def features(self, score: LogitScale) -> QuestionFeatures:
        passages = score_passages(self.asked.passages, score)
        features = compute_question_features(self.part, passages, self.fast, self.strong)
        return {**features, self.words.feature: 1.0} if self.words else features


@dataclass(frozen=True, slots=True)
class Grading:
    """How answers are graded: what reads, which passages are relevant, and which weights say that a reading is sure.

    Without weights, no words are looked for by their place.
    """

    assessor: TracingAssessor
    relevance: float
    score: LogitScale | None = None
    weights: Weights | None = None

    async def grade(self, asked: AskedQuestion) -> GradedQuestion | None:
        """Reads and answers a question; None if the product decides without reading."""
        part = understand_part(asked.text)
        # Passages have cosines here; the fit itself leaves out what no passage is near enough to.
        if names_nothing(part, asked.passages):
            return None
        fast, strong = await self.assessor.trace(asked)
        readings = combine_readings(len(asked.passages), fast, strong)
        graded = GradedQuestion(asked, part, fast, strong, None, False)
        if self.weights is not None and self.score is not None:
            is_sure = logistic_probability(self.weights, graded.features(self.score)) >= SURE_PROBABILITY
            if words := find_answering_words(part, asked.passages, readings, is_sure=is_sure):
                graded, readings = graded._replace(words=words), words.apply(readings, SURE_PROBABILITY)
        if asked.expected is None:
            return graded
        sentences = await quote_answer(asked, Assessment(1.0, readings), self.relevance)
        return graded._replace(is_right=is_right_answer(sentences, asked.expected))


async def quote_answer(asked: AskedQuestion, assessment: Assessment, relevance: float) -> list[AnswerSentence]:
    """The sentences that the product quotes if it surely answers."""
    understanding = understand(Question(asked.text))
    retrieval, assessment = rank_passages(Retrieval(asked.passages), assessment, understanding.question.k)
    judgement = decide(understanding, retrieval, assessment, OperatingPoint(0.0, relevance))
    draft = QuoteWriter().write(understanding, retrieval.passages, judgement)
    return [piece async for piece in draft if isinstance(piece, AnswerSentence)]


def is_right_answer(sentences: Sequence[AnswerSentence], expected: ExpectedAnswer) -> bool:
    """Whether an answer cites evidence, contains what it must, and has the words of an expected answer."""
    cited = [sentence for sentence in sentences if _cites_evidence(sentence, expected)]
    text = " ".join(sentence.text for sentence in sentences).lower()
    if not cited or not all(words.lower() in text for words in expected.required):
        return False
    quoted = " ".join(sentence.text for sentence in cited)
    shares = [answer_share(answer, quoted) for answer in expected.answers]
    return not shares or max(shares) >= MIN_ANSWER_SHARE


def _cites_evidence(sentence: AnswerSentence, expected: ExpectedAnswer) -> bool:
    places = [FileSpan(each.place.file, each.place.start, each.place.end) for each in sentence.evidence]
    return any(span.overlap(place) for spans in expected.evidence for span in spans for place in places)


def answer_share(answer: str, text: str) -> float:
    """The share of an answer's words that are in a text."""
    expected, present = (Counter(_WORD.findall(words.lower())) for words in (answer, text))
    return (expected & present).total() / max(1, expected.total())


async def read_selection(
    asked: AskedQuestion, fast: CrossEncoder, strong: CrossEncoder | None, score: LogitScale
) -> QuestionFeatures:
    """The features of a question about a selection, read by the fast reader or by both."""
    chunks = [passage.chunk for passage in asked.passages]
    by_fast = {0: (await fast.read(asked.text, chunks))[0]}
    by_strong = {0: (await strong.read(asked.text, chunks))[0]} if strong else {}
    passages = score_passages(asked.passages, score)
    return compute_question_features(understand_part(asked.text), passages, by_fast, by_strong)


def score_passages(passages: Sequence[Passage], score: LogitScale) -> list[Passage]:
    """Passages with scores instead of cosines."""
    return [replace(passage, score=score.probability(passage.score)) for passage in passages]
