"""TOML of strangers, read in time and memory that grow with its length alone."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from bookbound.read.sound import sound

# For a key of n parts the parser makes n lists of up to n names: a short file of one such key would fill any memory.
_ENDLESS_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}""")


def loads(text: str) -> dict[str, Any]:
    """What a text holds; a ValueError where it is no TOML, or has a key of more parts than anybody writes."""
    if _ENDLESS_KEY.search(text):
        raise ValueError("a key without end")
    read: dict[str, Any] = sound(tomllib.loads(text))
    return read
