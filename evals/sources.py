"""The files of a book's source, to hold citations against what the author wrote and not only against the index."""

from __future__ import annotations

import re
from pathlib import Path

from bookbound.finding import Evidence
from bookbound.measure.places import UNSEEN
from bookbound.read.decode import decode

TITLE = re.compile(r'\A([^\n"]*)"[^\n]*')
"""The title of a code block, and the rest of the line it stands on."""


class Sources:
    """The files of one book, each read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._texts: dict[str, str] = {}

    def text(self, file: str) -> str:
        if file not in self._texts:
            self._texts[file] = decode((self._folder / file).read_bytes())[0]
        return self._texts[file]


def is_verbatim(citation: Evidence, sources: Sources) -> bool:
    """Whether a quote's letters and digits are exactly those of the source at its offsets, markup left out."""
    there = sources.text(citation.place.file)[citation.place.start : citation.place.end]
    quoted = _letters(citation.text)
    return bool(quoted) and quoted in (
        _letters(seen) for seen in (there, UNSEEN.sub("", there), TITLE.sub(r"\1", there))
    )


def _letters(text: str) -> str:
    return "".join(letter for letter in text if letter.isalnum())
