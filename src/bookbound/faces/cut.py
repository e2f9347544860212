"""A text within a limit."""

from __future__ import annotations

import re


def cut(text: str, limit: int) -> str:
    """A text no longer than `limit`, cut between two words where it has to be."""
    if len(text) <= limit:
        return text
    words = re.match(r"(?s).*\S(?=\s)", text[: limit - 2])
    return f"{words.group() if words else text[: limit - 3]}..."
