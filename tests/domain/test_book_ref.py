from __future__ import annotations

import pytest

from bookbound.domain.book_ref import BookRef, find_newest_edition
from bookbound.domain.errors import InvalidInputError


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("", BookRef()),
        ("robots", BookRef("robots")),
        ("robots@2.0", BookRef("robots", "2.0")),
        ("@1", BookRef("", "1")),
    ],
)
def test_a_reference_is_parsed_from_its_text(text: str, ref: BookRef) -> None:
    assert BookRef.parse(text) == ref
    assert str(ref) == text


@pytest.mark.parametrize("text", ["../up", "a/b", ".hidden", "a\0", "é", "x" * 65, "a@.", "a@b@c", "a b"])
def test_a_name_that_is_unsafe_in_a_path_or_url_is_rejected(text: str) -> None:
    with pytest.raises(InvalidInputError, match="letters, digits"):
        BookRef.parse(text)


def test_the_newest_edition_has_the_highest_numbers() -> None:
    editions = [BookRef("b", name) for name in ("1.9", "1.10", "1.10-rc1", "0.99")]
    assert find_newest_edition(editions) == BookRef("b", "1.10")
    assert find_newest_edition([*editions, BookRef("b", "1.10.1")]) == BookRef("b", "1.10.1")
    assert find_newest_edition([BookRef("b"), *editions]) == BookRef("b", "1.10")
    assert find_newest_edition([]) is None


@pytest.mark.parametrize(
    ("ref", "included"),
    [
        (BookRef("all"), {"", "@1", "b", "b@1", "b@2", "c"}),
        (BookRef(), {"", "@1"}),
        (BookRef("", "1"), {"@1"}),
        (BookRef("b"), {"b", "b@1", "b@2"}),
        (BookRef("b", "1"), {"b@1"}),
        (BookRef("d"), set()),
    ],
)
def test_a_book_includes_its_editions_and_all_includes_everything(ref: BookRef, included: set[str]) -> None:
    books = [BookRef.parse(name) for name in ("", "@1", "b", "b@1", "b@2", "c")]
    assert {str(book) for book in filter(ref.includes, books)} == included
