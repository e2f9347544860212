from __future__ import annotations

import pytest

from bookbound.answering.writers.unicode_guard import strip_invisible


@pytest.mark.parametrize(
    "hidden", ["\u200b", "\u200c", "\u200d", "\u2060", "\u00ad", "\u202e", "\u034f", "\u3164", "\ufeff"]
)
def test_nothing_hides_within_a_latin_word(hidden: str) -> None:
    assert strip_invisible(f"It is n{hidden}o{hidden}{hidden}t so.{hidden}") == "It is not so."
    assert strip_invisible(f"{hidden}no\u0301{hidden}t") == "no\u0301t"


@pytest.mark.parametrize("word", ["می‌خواهم", "क्‍ष"])
def test_letters_that_are_joined_or_parted_in_writing_stay_so(word: str) -> None:
    assert strip_invisible(word) == word
