from __future__ import annotations

import pytest

from bookbound.answering.writers.llm.citation_marks import strip_citation_marks

SAFE = "The arm is safe when the brake holds. Read a[i] before. Press [Enter] twice. It covers 3 m²."
MARKED_TEXT = "Use arr[1] to read it. The list a = [1, 2, 3] is sorted. See x = [1] there."


@pytest.mark.parametrize(
    ("drafted", "shown"),
    [
        ("The arm is safe¹.", "The arm is safe."),
        ("The arm is safe.¹ ²", "The arm is safe."),
        ("The arm is safe ⁽⁹⁾.", "The arm is safe."),
        ("The brake holds¹,³ twice.", "The brake holds twice."),
        ("The arm is safe [A].", "The arm is safe."),
        ("The arm is safe [one][^2].", "The arm is safe."),
        ("The arm is safe ［１］.", "The arm is safe."),
        ("The arm is safe† ①.", "The arm is safe."),
        ("The arm is **safe** and _not_ *fast*.", "The arm is safe and not fast."),
        ("Read a[i], press [Enter], cover 3 m².", "Read a[i], press [Enter], cover 3 m²."),
        ("It is 2 * 3 * 4 in snake_case_name.", "It is 2 * 3 * 4 in snake_case_name."),
        ("The arm is [safe](/b).", "The arm is [safe](/b)."),
    ],
)
def test_marks_that_the_book_lacks_are_removed(drafted: str, shown: str) -> None:
    assert strip_citation_marks(drafted, SAFE)[0] == shown


@pytest.mark.parametrize(
    ("drafted", "shown", "numbers"),
    [
        ("The gap is large[1].", "The gap is large.", (1,)),
        ("The gap is large [1][2].", "The gap is large.", (1, 2)),
        ("[1] The gap is large.", "The gap is large.", (1,)),
        ("It is large [1, 2], and deep (see passage 2).", "It is large, and deep.", (1, 2, 2)),
        ("It is large (passages 1 and 3).", "It is large.", (1, 3)),
        ("It is large [passage 4].", "It is large.", (4,)),
        ("It is large [passages 1 and 2].", "It is large.", (1, 2)),
        ("It is large【3†source 7】.", "It is large.", (3,)),
        ("It is large. [99]", "It is large.", (99,)),
        ("Use arr[1] to read it [1].", "Use arr[1] to read it.", (1,)),
        ("The list [1, 2, 3] is sorted [2].", "The list [1, 2, 3] is sorted.", (2,)),
        ("\u202eIt\u200b is\x07 large.\ud800", "It is large.", ()),
        ("for x in y:\r\n    print(x)", "for x in y:\n    print(x)", ()),
        ("It weighs 3 kg (about 7 lb).", "It weighs 3 kg (about 7 lb).", ()),
    ],
)
def test_numbers_of_passages_are_read_and_the_book_s_own_marks_stay(
    drafted: str, shown: str, numbers: tuple[int, ...]
) -> None:
    assert strip_citation_marks(drafted, MARKED_TEXT) == (shown, numbers)


@pytest.mark.parametrize("code", ["`arr[1]`", "`row[0][2]`", "`**kwargs`", "`__init__`", "`x¹`", "`[1, 2]`"])
def test_code_stays_as_it_is(code: str) -> None:
    assert strip_citation_marks(f"Use {code} here [1].", MARKED_TEXT) == (f"Use {code} here.", (1,))


@pytest.mark.parametrize("letters", ["[1", "[1] ", "*x", "_x", "†", "(passages 1 and ", "`x", "¹,"])
def test_a_text_may_be_very_long(letters: str) -> None:
    shown, _ = strip_citation_marks(letters * 10_000 + " The arm is safe [2].", SAFE)
    assert shown.endswith("The arm is safe.")
