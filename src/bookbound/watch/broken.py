"""Where something broke, without its message, which may hold a reader's words."""

from __future__ import annotations

import traceback

DEEPEST = 4


def where(error: BaseException) -> str:
    """The last places that an error came through, outermost first."""
    frames = traceback.extract_tb(error.__traceback__)[-DEEPEST:]
    return " > ".join(f"{frame.name} ({frame.filename}:{frame.lineno})" for frame in frames)
