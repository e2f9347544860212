"""Stores the generations of an index; this module defines their ids and the messages that stores share."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta

KEPT_GENERATIONS = 3
NO_INDEX_MESSAGE = "Nothing has been indexed here yet. Index a book first: bookbound index SOURCE"
NO_EARLIER_MESSAGE = (
    "No earlier generation is kept that is whole, so nothing was changed. Index the book again: bookbound index SOURCE"
)
_GENERATION_ID = re.compile(r"\d{8}T\d{12}Z-[0-9a-f]{6}")


def new_generation_id(age: timedelta = timedelta()) -> str:
    """A name for a generation that sorts by the time it was begun: now, or `age` ago."""
    return f"{datetime.now(UTC) - age:%Y%m%dT%H%M%S%fZ}-{os.urandom(3).hex()}"


def is_generation_id(name: str) -> bool:
    """Whether `new_id` could have given this name."""
    return _GENERATION_ID.fullmatch(name) is not None
