from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from bookbound.answering.grounding.verifier import find_verbatim
from bookbound.domain.chunk import Chunk, Passage, Place
from bookbound.domain.document import SourceSpan
from bookbound.domain.judgement import AnswerSpan, Claim, PassageAssessment, SentenceSupport, SupportLabel
from bookbound.domain.reply import AnswerSentence
from bookbound.models.cross_encoder import CrossEncoder, ReaderConstants
from bookbound.models.onnx import ModelRuntime
from bookbound.text import split_sentences


class VerbatimVerifier:
    """Supports a sentence that its evidence contains word for word."""

    async def verify(self, sentence: AnswerSentence) -> SentenceSupport:
        found = find_verbatim((sentence.claim or Claim(sentence.text)).words, sentence.evidence)
        label = SupportLabel.SUPPORTED if found else SupportLabel.UNSUPPORTED
        return SentenceSupport(label, float(bool(found)), found)


class ScriptedReader(CrossEncoder):
    """A reader that finds the first letter of each passage with a fixed probability, and records what it reads.

    Its weights change no probability, and a question is as probable as its best reading.
    """

    def __init__(self, probabilities: Mapping[str, float] | float) -> None:
        self._probabilities = probabilities
        self.calls: list[list[str]] = []
        shipped, weights = ReaderConstants.load(ModelRuntime(), "fast"), {"best": 1.0, "constant": 0.0}
        self.constants = replace(shipped, rank={"odds": 1.0, "constant": 0.0}, question=weights, selection=weights)

    @property
    def names(self) -> list[str]:
        """The chunks that were read, in order."""
        return [name for call in self.calls for name in call]

    async def read(self, question: str, chunks: Sequence[Chunk]) -> tuple[PassageAssessment, ...]:
        self.calls.append([chunk.id for chunk in chunks])
        return tuple(self._read_scripted(chunk.id) for chunk in chunks)

    def _read_scripted(self, name: str) -> PassageAssessment:
        known = self._probabilities
        probability = known if isinstance(known, float) else known.get(name, 0.01)
        return PassageAssessment(probability, (AnswerSpan(0, 1, probability),))


@pytest.fixture
def passage() -> Callable[..., Passage]:
    """Makes a passage that begins 100 characters into its file."""

    def make(text: str, name: str = "c1", score: float = 0.6) -> Passage:
        place = Place("a.md", "/a", "Motion", "Walking", (), "", 100, 100 + len(text))
        spans = (SourceSpan(0, len(text), 100, 100 + len(text)),)
        return Passage(Chunk(name, text, place, 0, spans, tuple(split_sentences(text))), score)

    return make


@pytest.fixture(scope="session")
def models() -> ModelRuntime:
    return ModelRuntime()


@pytest.fixture(scope="session")
def reader(models: ModelRuntime) -> CrossEncoder:
    """The strong reader that ships with the package."""
    return CrossEncoder(models, "strong")


@pytest.fixture(scope="session")
def fast_reader(models: ModelRuntime) -> CrossEncoder:
    return CrossEncoder(models, "fast")
