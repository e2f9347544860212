"""Text as it shows: nothing hidden in it."""

from __future__ import annotations

import unicodedata

_JOINERS = "\u200c\u200d"  # letters of some alphabets are not the same without them


def visible(text: str) -> str:
    """The text without characters that show nothing or turn its direction, and without halves of characters."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(letter for letter in text if letter in _JOINERS or letter in "\n\t" or not _hidden(letter))


def _hidden(letter: str) -> bool:
    variant = "\ufe00" <= letter <= "\ufe0f" or "\U000e0000" <= letter <= "\U000e0fff"
    return variant or unicodedata.category(letter) in ("Cc", "Cf", "Cs")
