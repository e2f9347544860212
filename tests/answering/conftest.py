from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from bookbound.answering.grounding.verifier import find_verbatim
from bookbound.answering.reading.cross_encoder import CrossEncoder
from bookbound.domain.chunk import Chunk, Passage, Place
from bookbound.domain.document import SourceSpan
from bookbound.domain.judgement import Evidence, SentenceSupport
from bookbound.models.onnx import ModelRuntime
from bookbound.text.sentences import split_sentences


class VerbatimVerifier:
    """Supports a sentence that its evidence contains word for word."""

    async def support(self, sentence: str, evidence: Sequence[Evidence]) -> SentenceSupport:
        found = find_verbatim(sentence, evidence)
        return SentenceSupport(float(bool(found)), found)


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
    """The network that ships with the package."""
    return CrossEncoder(models)
