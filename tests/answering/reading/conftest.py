from __future__ import annotations

from collections.abc import Callable

import pytest

from bookbound.answering.reading.cross_encoder import CrossEncoder
from bookbound.domain.chunk import Chunk, Passage, Place
from bookbound.domain.document import SourceSpan
from bookbound.models.onnx import ModelRuntime
from bookbound.text.sentences import split_sentences


@pytest.fixture
def passage() -> Callable[..., Passage]:
    """Makes a passage that stands 100 characters into its file."""

    def make(text: str, name: str = "c1", score: float = 0.6) -> Passage:
        place = Place("a.md", "/a", "Motion", "Walking", (), "", 100, 100 + len(text))
        runs = (SourceSpan(0, len(text), 100, 100 + len(text)),)
        return Passage(Chunk(name, text, place, 0, runs, tuple(split_sentences(text))), score)

    return make


@pytest.fixture(scope="session")
def models() -> ModelRuntime:
    return ModelRuntime()


@pytest.fixture(scope="session")
def reader(models: ModelRuntime) -> CrossEncoder:
    """The network that ships with the package."""
    return CrossEncoder(models)
