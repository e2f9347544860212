from __future__ import annotations

import pytest

from bookbound.errors import InvalidInput
from bookbound.volume import Volume, newest


@pytest.mark.parametrize(
    ("text", "volume"),
    [("", Volume()), ("robots", Volume("robots")), ("robots@2.0", Volume("robots", "2.0")), ("@1", Volume("", "1"))],
)
def test_a_volume_is_named_by_book_and_edition_and_gives_its_name_back(text: str, volume: Volume) -> None:
    assert Volume.named(text) == volume
    assert str(volume) == text


@pytest.mark.parametrize("text", ["../up", "a/b", ".hidden", "a\0", "é", "x" * 65, "a@.", "a@b@c", "a b"])
def test_a_name_that_could_leave_its_folder_or_its_address_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="letters, digits"):
        Volume.named(text)


def test_the_newest_edition_is_the_highest_by_its_numbers() -> None:
    editions = [Volume("b", name) for name in ("1.9", "1.10", "1.10-rc1", "0.99")]
    assert newest(editions) == Volume("b", "1.10")
    assert newest([*editions, Volume("b", "1.10.1")]) == Volume("b", "1.10.1")
    assert newest([Volume("b"), *editions]) == Volume("b", "1.10")
    assert newest([]) is None


@pytest.mark.parametrize(
    ("named", "held"),
    [
        (Volume("all"), {"", "@1", "b", "b@1", "b@2", "c"}),
        (Volume(), {"", "@1"}),
        (Volume("", "1"), {"@1"}),
        (Volume("b"), {"b", "b@1", "b@2"}),
        (Volume("b", "1"), {"b@1"}),
        (Volume("d"), set()),
    ],
)
def test_a_book_holds_its_editions_and_all_holds_everything(named: Volume, held: set[str]) -> None:
    there = [Volume.named(name) for name in ("", "@1", "b", "b@1", "b@2", "c")]
    assert {str(volume) for volume in filter(named.holds, there)} == held
