"""Checks citations against the source files of a book, not only against its index."""

from __future__ import annotations

import re
from pathlib import Path

from bookbound.domain.judgement import Evidence
from bookbound.evaluation.quote_locations import HIDDEN_MARKUP
from bookbound.sources.decoding import decode_text

BLOCK_TITLE = re.compile(r'\A([^\n"]*)"[^\n]*')
"""The title of a code block and the rest of its line."""


class Sources:
    """The files of one book, each read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._texts: dict[str, str] = {}

    def read(self, file: str) -> str:
        if file not in self._texts:
            self._texts[file] = decode_text((self._folder / file).read_bytes())[0]
        return self._texts[file]


def is_verbatim(citation: Evidence, sources: Sources) -> bool:
    """Whether the source has exactly the letters and digits of a quote at its offsets, apart from markup."""
    source = sources.read(citation.place.file)[citation.place.start : citation.place.end]
    letters = _letters(citation.text)
    variants = (source, HIDDEN_MARKUP.sub("", source), BLOCK_TITLE.sub(r"\1", source))
    return bool(letters) and letters in map(_letters, variants)


def is_verbatim_or_substituted(citation: Evidence, sources: Sources) -> bool:
    """Whether each word of a quote is copied from the source or marked as shown for other source text.

    Such text is the title that a reference shows, the number of a figure, or the words of an included file.
    """
    source, at = sources.read(citation.place.file), citation.start
    text, spans = (citation.chunk.text, citation.chunk.spans) if citation.chunk else (citation.text, ())
    for span in (span for span in spans if span.at < citation.end and span.at + span.length > citation.start):
        copied = span.end - span.start == span.length
        if copied and text[span.at : span.at + span.length] != source[span.start : span.end]:
            return False
        if _letters(text[at : max(at, span.at)]):
            return False
        at = span.at + span.length
    return not _letters(text[at : citation.end])


def _letters(text: str) -> str:
    return "".join(letter for letter in text if letter.isalnum())
