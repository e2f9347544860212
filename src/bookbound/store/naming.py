"""What a generation is called in every store, how many are kept, and what is said where there is none."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta

KEPT = 3
NOTHING_YET = "Nothing has been indexed here yet. Index a book first: bookbound index SOURCE"
NO_EARLIER = (
    "No earlier generation is kept that is whole, so nothing was changed. Index the book again: bookbound index SOURCE"
)
_ID = re.compile(r"\d{8}T\d{12}Z-[0-9a-f]{6}")


def new_id(age: timedelta = timedelta()) -> str:
    """A name for a generation that sorts by the time it was begun: now, or `age` ago."""
    return f"{datetime.now(UTC) - age:%Y%m%dT%H%M%S%fZ}-{os.urandom(3).hex()}"


def is_id(name: str) -> bool:
    """Whether `new_id` could have given this name."""
    return _ID.fullmatch(name) is not None
