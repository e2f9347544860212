"""Text as it shows: nothing hidden in it."""

from __future__ import annotations

import unicodedata

_JOINERS = "\u200c\u200d"  # letters of some alphabets are not the same without them
_UNJOINED = ("LATIN", "GREEK", "CYRILLIC", "COMBINING")
_FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"  # letters by name that show nothing


def visible(text: str) -> str:
    """The text without characters that show nothing or turn its direction, and without halves of characters."""
    shown = [""]
    for letter in text.replace("\r\n", "\n").replace("\r", "\n"):
        if _joined(shown[-1]) if letter in _JOINERS else letter in "\n\t" or not _hidden(letter):
            shown.append(letter)
    return "".join(shown)


def _joined(letter: str) -> bool:
    """Whether a joiner may follow a letter."""
    lettered = bool(letter) and unicodedata.category(letter)[0] in "LM"
    return lettered and unicodedata.name(letter, "").split(" ")[0] not in _UNJOINED


def _hidden(letter: str) -> bool:
    variant = "\ufe00" <= letter <= "\ufe0f" or "\U000e0000" <= letter <= "\U000e0fff"
    return variant or letter in _FILLERS or unicodedata.category(letter) in ("Cc", "Cf", "Cs")
