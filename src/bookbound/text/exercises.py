"""Recognises the exercises of a book by their headings."""

from __future__ import annotations

from bookbound.domain.chunk import Chunk
from bookbound.languages import LANGUAGE, compiled


def is_exercise(chunk: Chunk) -> bool:
    """Returns whether a chunk asks the reader to do something, so that its words are no facts."""
    return any(compiled(LANGUAGE.quotes.exercise_heading).match(name) for name in chunk.place.heading_path[-2:])
