from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bookbound.domain.chunk import Place, QuotableUnit
from bookbound.domain.document import SourceSpan, find_source_span

SPANS = (SourceSpan(0, 5, 2, 7), SourceSpan(5, 1, 10, 15), SourceSpan(8, 4, 20, 24))


def test_characters_of_a_verbatim_span_map_one_to_one() -> None:
    assert find_source_span(SPANS, 1, 4) == (3, 6)


def test_characters_in_several_spans_reach_from_the_first_to_the_last() -> None:
    assert find_source_span(SPANS, 3, 10) == (5, 22)


def test_a_span_that_is_not_verbatim_maps_as_a_whole() -> None:
    assert find_source_span(SPANS, 5, 6) == (10, 15)


def test_inserted_characters_map_to_an_empty_place_before_the_next_span() -> None:
    assert find_source_span(SPANS, 6, 8) == (20, 20)


def test_without_spans_the_place_is_empty() -> None:
    assert find_source_span((), 0, 4) == (0, 0)


@given(st.integers(0, 12), st.integers(0, 12))
def test_a_place_never_ends_before_it_starts(one: int, other: int) -> None:
    start, end = find_source_span(SPANS, min(one, other), max(one, other))
    assert start <= end


def test_the_heading_path_has_no_direct_repetitions() -> None:
    place = Place("a.md", "/a", "Motion", "Motion", ("Gaits", "Walking"), "walking", 0, 9)
    assert place.heading_path == ("Motion", "Gaits", "Walking")
    assert place.section == "Walking"
    assert place.link == "/a#walking"
    assert Place("a.md", "/a", "Motion", "Gaits", (), "", 0, 9).link == "/a"


def test_trimming_keeps_the_indentation_of_code_and_no_blank_lines() -> None:
    text = " \n\n    a = 1\n    b = 2\n \n"
    assert QuotableUnit("code", 0, len(text)).trimmed(text) == ("code", 3, 22)
    assert QuotableUnit("sentence", 0, len(text)).trimmed(text) == ("sentence", 7, 22)
    assert QuotableUnit("code", 4, 5).trimmed(text) == ("code", 4, 4)
