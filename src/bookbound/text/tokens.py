"""Extracts normalized search terms and identifiers from text."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from bookbound.languages import LANGUAGE

_WORD = re.compile(r"[^\W_]+")
_IDENTIFIER = re.compile(
    r"`[^`]+`"  # marked as code
    r"|(?<![\w-])--?[a-z][\w-]+"  # an option
    r"|\b\w+(?:[._:/]{1,2}\w+)+\b"  # a dotted, slashed or snake-cased name
    r"|\b[A-Z]+[a-z]*[A-Z]\w*\b"  # an acronym or a CamelCase name
    r"|\b[A-Za-z]+\d\w*\b"  # a name with a number in it
)
STOP_WORDS = LANGUAGE.words.stop_words
DEICTIC_WORDS = LANGUAGE.words.deictic_words
stem = lru_cache(maxsize=65536)(LANGUAGE.words.stem)


def normalize_text(text: str) -> str:
    """The text in lower case, without accents, and with compatible characters unified."""
    return "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))


def split_words(text: str) -> list[str]:
    """The words of a text in lower case, without accents, in order, with repeats."""
    return _WORD.findall(normalize_text(text))


def extract_terms(text: str) -> list[str]:
    """The stems of the words that carry meaning, in order, with repeats."""
    return [stem(word) for word in split_words(text) if word not in STOP_WORDS and (len(word) > 1 or word.isdigit())]


def asks_about_whole_text(question: str) -> bool:
    """Whether a question points at a whole text and names nothing in it: "Explain this", but not "Why?"."""
    words = {word for word in split_words(question) if len(word) > 1}
    return words <= STOP_WORDS | DEICTIC_WORDS and bool(words & (DEICTIC_WORDS | LANGUAGE.words.pointing_words))


def extract_identifiers(text: str) -> set[str]:
    """Identifiers, options, acronyms and other names that cannot be paraphrased, in lower case."""
    return {name.strip("`").casefold() for name in _IDENTIFIER.findall(text)}
