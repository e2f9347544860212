"""Recognises the exercises of a book by their headings."""

from __future__ import annotations

import re

from bookbound.domain.chunk import Chunk
from bookbound.languages import LANGUAGE

_HEADING = re.compile(LANGUAGE.quotes.exercise_heading, re.I)


def is_exercise(chunk: Chunk) -> bool:
    """Returns whether a chunk asks the reader to do something, so that its words are no facts."""
    return any(_HEADING.match(name) for name in chunk.place.heading_path[-2:])
