"""Variables of the environment that look like settings and are none."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import fields

from bookbound.settings import PREFIX, Settings

OTHERS = {"DEBUG"}
"""Variables of the environment that are no settings."""
CLOSE = 0.75
"""How alike a name must be to a setting's to be taken for it, misspelt."""


def misspelt(environment: Mapping[str, str] = os.environ) -> list[str]:
    """A word on each variable of the environment that looks like a setting and is none."""
    names = {f.name.upper() for f in fields(Settings)}
    given = {name.removeprefix(PREFIX) for name in environment if name.startswith(PREFIX)}
    others = sorted(given - names - OTHERS)
    if not others:
        return []
    from difflib import get_close_matches

    near = ((name, get_close_matches(name, names, 1, CLOSE)) for name in others)
    return [f"{PREFIX}{name} is no setting. Was {PREFIX}{meant[0]} meant?" for name, meant in near if meant]


def warn() -> None:
    """A warning for each of these."""
    for word in misspelt():
        warnings.warn(word, stacklevel=2)
