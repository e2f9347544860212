from __future__ import annotations

from pathlib import Path

import pytest
from evals.sources import Sources, is_verbatim

from bookbound.book import Place
from bookbound.finding import Evidence

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
def test_a_quote_is_verbatim_only_letter_for_letter_at_its_offsets_in_the_source(
    tmp_path: Path, text: str, start: int, end: int, verbatim: bool
) -> None:
    (tmp_path / "a.md").write_text(SOURCE)
    place = Place("a.md", "/a", "", "A", (), "", start, end)
    assert is_verbatim(Evidence("a", text, place, 0, len(text), 0.9), Sources(tmp_path)) is verbatim
