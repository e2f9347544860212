"""Drafts held to the letters and signs of the passages they cite: a reader sees what a check reads, and no more."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import groupby

# What any text may be printed with.
_PRINT = frozenset("‘’“”„«»‹›–—…·•§′″")
_HYPHENS = frozenset("‐‑−")
# Kinds of characters that stand for others and mean the same; a raised or circled one does not.
_ALIKE = ("<wide>", "<narrow>", "<font>", "<compat>", "<noBreak>", "<small>", "<vertical>")
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


class Lettering:
    """The letters and signs of some passages, which are all that a draft about them may have beyond the plain ones."""

    def __init__(self, book: str) -> None:
        self._book = book
        self._own = f"{book.casefold()}\n{unicodedata.normalize('NFC', book).casefold()}"
        self._alike = unicodedata.normalize("NFKC", book).casefold()

    def plain(self, text: str) -> str:
        """The text with plain letters for those that look like them, unless the passages have the word so."""
        return text if text.isascii() else "".join(self._plain(run) or run for run in _runs(text))

    def strange(self, text: str) -> bool:
        """Whether a text has markup, signs or words in letters that the passages have not."""
        if any(found.group() not in self._book for found in _MARKUP.finditer(text)):
            return True
        return not text.isascii() and not all(map(self._plain, _runs(text)))

    def _plain(self, run: str) -> str | None:
        """A word or a sign in plain letters, or as the passages have it; nothing where it is neither."""
        if run.isascii() or run in _PRINT or run.isspace() or run.casefold() in self._own:
            return run
        alike = "-" if run in _HYPHENS else _alike(unicodedata.normalize("NFC", run))
        if alike.isascii() or alike.casefold() in self._alike or _greek(alike):
            return alike
        bare = "".join(c for c in unicodedata.normalize("NFD", alike) if not unicodedata.combining(c))
        return bare if bare.isascii() and bare.casefold() in self._alike else None


def _runs(text: str) -> Iterator[str]:
    """The words of a text, and each sign by itself."""
    for lettered, run in groupby(text, lambda letter: unicodedata.category(letter)[0] in "LM"):
        if lettered:
            yield "".join(run)
        else:
            yield from run


def _alike(text: str) -> str:
    return "".join(
        unicodedata.normalize("NFKC", letter) if unicodedata.decomposition(letter).startswith(_ALIKE) else letter
        for letter in text
    )


def _greek(word: str) -> bool:
    """Whether a word is one Greek letter, as quantities are called."""
    return len(word) == 1 and unicodedata.name(word, "").startswith("GREEK ")
