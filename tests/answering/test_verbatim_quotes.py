"""Citations are checked against the source."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.answering.verbatim_quotes import Sources, is_verbatim, is_verbatim_or_substituted

from bookbound.domain.chunk import Chunk, Place
from bookbound.domain.document import SourceSpan
from bookbound.domain.judgement import Evidence

SOURCE = "Intro. A **trot** moves [legs](https://x.example) together. End."
END = SOURCE.index(" End.")


@pytest.mark.parametrize(
    ("text", "start", "end", "verbatim"),
    [
        ("A trot moves legs together.", 7, END, True),
        ("A trot moves legs together.", 7, END - 2, False),
        ("A trot moves legs together.", 3, END, False),
        ("A trot lifts legs together.", 7, END, False),
        ("A trot moves together legs.", 7, END, False),
        ("A trot moves together.", 7, END, False),
        ("", 7, 7, False),
    ],
)
def test_a_verbatim_quote_has_the_letters_of_the_source_at_its_offsets(
    tmp_path: Path, text: str, start: int, end: int, verbatim: bool
) -> None:
    (tmp_path / "a.md").write_text(SOURCE)
    place = Place("a.md", "/a", "", "A", (), "", start, end)
    assert is_verbatim(Evidence("a", text, place, 0, len(text), 0.9), Sources(tmp_path)) is verbatim


@pytest.mark.parametrize(
    ("text", "expected"),
    [("See The Guide for more.", True), ("See The Guide for less.", False), ("Look The Guide for more.", False)],
)
def test_a_quote_may_show_the_title_of_a_reference(tmp_path: Path, text: str, expected: bool) -> None:
    source = "See :doc:`guide` for more."
    (tmp_path / "a.rst").write_text(source)
    place = Place("a.rst", "/a", "", "A", (), "", 0, len(source))
    runs = (SourceSpan(0, 4, 0, 4), SourceSpan(len(text) - 19, 9, 4, 16), SourceSpan(len(text) - 10, 10, 16, 26))
    chunk = Chunk("a", text, place, 0, runs)
    citation = Evidence("a", text, place, 0, len(text), 0.9, chunk=chunk)
    assert not is_verbatim(citation, Sources(tmp_path))
    assert is_verbatim_or_substituted(citation, Sources(tmp_path)) is expected
    assert not is_verbatim_or_substituted(Evidence("a", text, place, 0, len(text), 0.9), Sources(tmp_path))
