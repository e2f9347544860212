"""Lengths of time as people write them: 12h, 30d, 2w."""

from __future__ import annotations

import re
from datetime import timedelta

import typer

_SPAN = re.compile(r"(\d{1,5})([hdw])", re.ASCII)
UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def ago(words: str) -> timedelta:
    """The time that words like 30d stand for."""
    found = _SPAN.fullmatch(words.strip().lower())
    if not found:
        raise typer.BadParameter("It is a number and h, d or w for hours, days or weeks, as in 30d.")
    return timedelta(**{UNITS[found[2]]: int(found[1])})
