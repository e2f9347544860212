"""Removes invisible characters and detects letters or markup that the passages do not contain."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby

from bookbound.languages import LANGUAGE

_TYPOGRAPHIC_SIGNS = frozenset("‘’“”„«»‹›–—…·•§′″")
_HYPHENS = frozenset("‐‑−")
# Characters that mean the same as others; a raised or circled one does not.
_COMPATIBILITY_FORMS = ("<wide>", "<narrow>", "<font>", "<compat>", "<noBreak>", "<small>", "<vertical>")
# Every repetition is bounded: a model may write anything.
_MARKUP = re.compile(
    r"<[!/?A-Za-z](?:[^<>]{0,400}>|[^<>\s]{0,80})"  # a tag or a comment, closed or not
    r"|&(?:#\w{1,8}|[A-Za-z]{2,10});"  # a character by its name or number
    r"|!?\[[^\[\]]{0,200}\](?:\([^()]{0,400}\))?"  # a link, an image, and what else is put in brackets
    r"|~~|~\S(?:[^~\n]{0,200}\S)?~(?!\w)"  # words that are struck out
    r"|\\[A-Za-z]{1,20}"  # a command of TeX
    r"|\w\*{1,3}\w|\w`\w{1,8}`\w"  # a word in two styles
    rf"|{LANGUAGE.models.broken_contraction}"
    r"|\b\w{2,12}://\S{0,300}[\w/]|\bwww\.\S{0,300}\w"
)


class UnicodeGuard:
    """The letters and signs of some passages; a draft about them may have no others beyond the plain ones."""

    def __init__(self, book: str) -> None:
        self._book = book
        self._exact = f"{book.casefold()}\n{unicodedata.normalize('NFC', book).casefold()}"
        self._compatible = unicodedata.normalize("NFKC", book).casefold()

    def simplify(self, text: str) -> str:
        """Replaces letters that look like plain ones, unless the passages have the word so."""
        if text.isascii():
            return text
        return "".join(self._simplify_run(run) or run for run in _split_words_and_signs(text))

    def is_foreign(self, text: str) -> bool:
        """Returns whether a text has markup, signs or words in letters that the passages do not have."""
        if any(found.group() not in self._book for found in _MARKUP.finditer(text)):
            return True
        return not text.isascii() and not all(map(self._simplify_run, _split_words_and_signs(text)))

    def _simplify_run(self, run: str) -> str | None:
        """Returns a word or sign in plain letters or as the passages have it, or None if it is neither."""
        if run.isascii() or run in _TYPOGRAPHIC_SIGNS or run.isspace() or run.casefold() in self._exact:
            return run
        alike = "-" if run in _HYPHENS else _replace_compatibility_forms(unicodedata.normalize("NFC", run))
        is_greek_letter = len(alike) == 1 and unicodedata.name(alike, "").startswith("GREEK ")  # a quantity
        if alike.isascii() or alike.casefold() in self._compatible or is_greek_letter:
            return alike
        bare = "".join(c for c in unicodedata.normalize("NFD", alike) if not unicodedata.combining(c))
        return bare if bare.isascii() and bare.casefold() in self._compatible else None


@lru_cache(maxsize=8)  # every sentence and cell of a reply is compared with the same passages
def build_guard(book: str) -> UnicodeGuard:
    return UnicodeGuard(book)


def _split_words_and_signs(text: str) -> Iterator[str]:
    for is_word, run in groupby(text, lambda letter: unicodedata.category(letter)[0] in "LM"):
        if is_word:
            yield "".join(run)
        else:
            yield from run


def _replace_compatibility_forms(text: str) -> str:
    return "".join(
        unicodedata.normalize("NFKC", letter)
        if unicodedata.decomposition(letter).startswith(_COMPATIBILITY_FORMS)
        else letter
        for letter in text
    )


_JOINERS = "\u200c\u200d"  # some alphabets need them between letters
_SCRIPTS_WITHOUT_JOINERS = ("LATIN", "GREEK", "CYRILLIC", "COMBINING")
_INVISIBLE_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"


def strip_invisible(text: str) -> str:
    """Removes invisible characters, direction marks and lone surrogates."""
    shown = [""]
    for letter in text.replace("\r\n", "\n").replace("\r", "\n"):
        if _allows_joiner(shown[-1]) if letter in _JOINERS else letter in "\n\t" or not _is_invisible(letter):
            shown.append(letter)
    return "".join(shown)


def _allows_joiner(letter: str) -> bool:
    is_letter = bool(letter) and unicodedata.category(letter)[0] in "LM"
    return is_letter and unicodedata.name(letter, "").split(" ")[0] not in _SCRIPTS_WITHOUT_JOINERS


def _is_invisible(letter: str) -> bool:
    is_variation = "\ufe00" <= letter <= "\ufe0f" or "\U000e0000" <= letter <= "\U000e0fff"
    return is_variation or letter in _INVISIBLE_LETTERS or unicodedata.category(letter) in ("Cc", "Cf", "Cs")
