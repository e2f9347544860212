from __future__ import annotations

from collections.abc import Callable

import pytest

from bookbound.book import Chunk, Passage, Place, Run
from bookbound.judge.reader import Reader
from bookbound.models.onnx import Models
from bookbound.sentences import sentences


@pytest.fixture
def passage() -> Callable[..., Passage]:
    """Makes a passage that stands 100 characters into its file."""

    def make(text: str, name: str = "c1", score: float = 0.6) -> Passage:
        place = Place("a.md", "/a", "Motion", "Walking", (), "", 100, 100 + len(text))
        runs = (Run(0, len(text), 100, 100 + len(text)),)
        return Passage(Chunk(name, text, place, 0, runs, tuple(sentences(text))), score)

    return make


@pytest.fixture(scope="session")
def models() -> Models:
    return Models()


@pytest.fixture(scope="session")
def reader(models: Models) -> Reader:
    """The network that ships with the package."""
    return Reader(models)
