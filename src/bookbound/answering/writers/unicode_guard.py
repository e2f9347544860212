"""Removes invisible characters and detects letters or markup that the passages do not contain."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby

# What any text may be printed with.
_TYPOGRAPHIC_SIGNS = frozenset("‘’“”„«»‹›–—…·•§′″")
_HYPHENS = frozenset("‐‑−")
# Kinds of characters that stand for others and mean the same; a raised or circled one does not.
_COMPATIBILITY_FORMS = ("<wide>", "<narrow>", "<font>", "<compat>", "<noBreak>", "<small>", "<vertical>")
# Every repetition is bounded: a model may write anything.
_MARKUP = re.compile(
    r"<[!/?A-Za-z](?:[^<>]{0,400}>|[^<>\s]{0,80})"  # a tag or a comment, closed or not
    r"|&(?:#\w{1,8}|[A-Za-z]{2,10});"  # a character by its name or number
    r"|!?\[[^\[\]]{0,200}\](?:\([^()]{0,400}\))?"  # a link, an image, and what else is put in brackets
    r"|~~|~\S(?:[^~\n]{0,200}\S)?~(?!\w)"  # words that are struck out
    r"|\\[A-Za-z]{1,20}"  # a command of TeX
    r"|\w\*{1,3}\w|\w`\w{1,8}`\w|n[‘′‛\"`]t\b"  # a word in two styles, or with a sign for its apostrophe
    r"|\b\w{2,12}://\S{0,300}[\w/]|\bwww\.\S{0,300}\w"
)


class UnicodeGuard:
    """The letters and signs of some passages, which are all that a draft about them may have beyond the plain ones."""

    def __init__(self, book: str) -> None:
        self._book = book
        self._own = f"{book.casefold()}\n{unicodedata.normalize('NFC', book).casefold()}"
        self._alike = unicodedata.normalize("NFKC", book).casefold()

    def plain(self, text: str) -> str:
        """The text with plain letters for those that look like them, unless the passages have the word so."""
        return text if text.isascii() else "".join(self._plain(run) or run for run in _split_words_and_signs(text))

    def strange(self, text: str) -> bool:
        """Whether a text has markup, signs or words in letters that the passages have not."""
        if any(found.group() not in self._book for found in _MARKUP.finditer(text)):
            return True
        return not text.isascii() and not all(map(self._plain, _split_words_and_signs(text)))

    def _plain(self, run: str) -> str | None:
        """A word or a sign in plain letters, or as the passages have it; nothing where it is neither."""
        if run.isascii() or run in _TYPOGRAPHIC_SIGNS or run.isspace() or run.casefold() in self._own:
            return run
        alike = "-" if run in _HYPHENS else _replace_compatibility_forms(unicodedata.normalize("NFC", run))
        if alike.isascii() or alike.casefold() in self._alike or _is_greek_letter(alike):
            return alike
        bare = "".join(c for c in unicodedata.normalize("NFD", alike) if not unicodedata.combining(c))
        return bare if bare.isascii() and bare.casefold() in self._alike else None


def _split_words_and_signs(text: str) -> Iterator[str]:
    """The words of a text, and each sign by itself."""
    for lettered, run in groupby(text, lambda letter: unicodedata.category(letter)[0] in "LM"):
        if lettered:
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


def _is_greek_letter(word: str) -> bool:
    """Whether a word is one Greek letter, as quantities are called."""
    return len(word) == 1 and unicodedata.name(word, "").startswith("GREEK ")


_JOINERS = "\u200c\u200d"  # letters of some alphabets are not the same without them
_SCRIPTS_WITHOUT_JOINERS = ("LATIN", "GREEK", "CYRILLIC", "COMBINING")
_INVISIBLE_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"  # letters by name that show nothing


def strip_invisible(text: str) -> str:
    """The text without characters that show nothing or turn its direction, and without halves of characters."""
    shown = [""]
    for letter in text.replace("\r\n", "\n").replace("\r", "\n"):
        if _allows_joiner(shown[-1]) if letter in _JOINERS else letter in "\n\t" or not _is_invisible(letter):
            shown.append(letter)
    return "".join(shown)


def _allows_joiner(letter: str) -> bool:
    """Whether a joiner may follow a letter."""
    lettered = bool(letter) and unicodedata.category(letter)[0] in "LM"
    return lettered and unicodedata.name(letter, "").split(" ")[0] not in _SCRIPTS_WITHOUT_JOINERS


def _is_invisible(letter: str) -> bool:
    variant = "\ufe00" <= letter <= "\ufe0f" or "\U000e0000" <= letter <= "\U000e0fff"
    return variant or letter in _INVISIBLE_LETTERS or unicodedata.category(letter) in ("Cc", "Cf", "Cs")
