from __future__ import annotations

import pytest

from bookbound.domain.book_ref import BookRef, find_newest_edition
from bookbound.domain.errors import InvalidInputError


@pytest.mark.parametrize(
    ("text", "volume"),
    [
        ("", BookRef()),
        ("robots", BookRef("robots")),
        ("robots@2.0", BookRef("robots", "2.0")),
        ("@1", BookRef("", "1")),
    ],
)
def test_a_volume_is_named_by_book_and_edition_and_gives_its_name_back(text: str, volume: BookRef) -> None:
    assert BookRef.named(text) == volume
    assert str(volume) == text


@pytest.mark.parametrize("text", ["../up", "a/b", ".hidden", "a\0", "é", "x" * 65, "a@.", "a@b@c", "a b"])
def test_a_name_that_could_leave_its_folder_or_its_address_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="letters, digits"):
        BookRef.named(text)


def test_the_newest_edition_is_the_highest_by_its_numbers() -> None:
    editions = [BookRef("b", name) for name in ("1.9", "1.10", "1.10-rc1", "0.99")]
    assert find_newest_edition(editions) == BookRef("b", "1.10")
    assert find_newest_edition([*editions, BookRef("b", "1.10.1")]) == BookRef("b", "1.10.1")
    assert find_newest_edition([BookRef("b"), *editions]) == BookRef("b", "1.10")
    assert find_newest_edition([]) is None


@pytest.mark.parametrize(
    ("named", "held"),
    [
        (BookRef("all"), {"", "@1", "b", "b@1", "b@2", "c"}),
        (BookRef(), {"", "@1"}),
        (BookRef("", "1"), {"@1"}),
        (BookRef("b"), {"b", "b@1", "b@2"}),
        (BookRef("b", "1"), {"b@1"}),
        (BookRef("d"), set()),
    ],
)
def test_a_book_holds_its_editions_and_all_holds_everything(named: BookRef, held: set[str]) -> None:
    there = [BookRef.named(name) for name in ("", "@1", "b", "b@1", "b@2", "c")]
    assert {str(volume) for volume in filter(named.holds, there)} == held
