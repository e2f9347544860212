"""Positions of text in its source."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bookbound.sources.rst.text_writer import SourceLocator


@given(
    st.text(alphabet=".: ab\n\t|", max_size=60),
    st.lists(st.tuples(st.lists(st.text(alphabet="ab .:\t", max_size=6), min_size=1, max_size=3), st.integers(-2, 12))),
)
def test_the_position_never_moves_back(source: str, searches: list[tuple[list[str], int]]) -> None:
    locator, position = SourceLocator(source), 0
    for lines, number in searches:
        for start, end in locator.find(lines, number or None) or []:
            assert 0 <= start <= end <= len(source)
        assert position <= locator.position <= len(source)
        position = locator.position
        start, end = locator.take_lines(number or None, 1)
        assert position <= start <= end <= len(source)
        position = locator.position
