"""The files of a book's source, to hold citations against what the author wrote and not only against the index."""

from __future__ import annotations

import re
from pathlib import Path

from bookbound.domain.judgement import Evidence
from bookbound.evaluation.quote_locations import HIDDEN_MARKUP
from bookbound.sources.decoding import decode_text

TITLE = re.compile(r'\A([^\n"]*)"[^\n]*')
"""The title of a code block, and the rest of the line it stands on."""


class Sources:
    """The files of one book, each read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._texts: dict[str, str] = {}

    def text(self, file: str) -> str:
        if file not in self._texts:
            self._texts[file] = decode_text((self._folder / file).read_bytes())[0]
        return self._texts[file]


def is_verbatim(citation: Evidence, sources: Sources) -> bool:
    """Whether a quote's letters and digits are exactly those of the source at its offsets, markup left out."""
    there = sources.text(citation.place.file)[citation.place.start : citation.place.end]
    quoted = _letters(citation.text)
    return bool(quoted) and quoted in (
        _letters(seen) for seen in (there, HIDDEN_MARKUP.sub("", there), TITLE.sub(r"\1", there))
    )


def is_marked(citation: Evidence, sources: Sources) -> bool:
    """Whether each word of a quote is a copy of the source, or marked by its run as shown for what is written there.

    Such are the title that a reference shows, the number of a figure, and the words of an included file.
    """
    source, at = sources.text(citation.place.file), citation.start
    text, runs = (citation.chunk.text, citation.chunk.runs) if citation.chunk else (citation.text, ())
    for run in (run for run in runs if run.at < citation.end and run.at + run.length > citation.start):
        copied = run.end - run.start == run.length
        if copied and text[run.at : run.at + run.length] != source[run.start : run.end]:
            return False
        if _letters(text[at : max(at, run.at)]):
            return False
        at = run.at + run.length
    return not _letters(text[at : citation.end])


def _letters(text: str) -> str:
    return "".join(letter for letter in text if letter.isalnum())
