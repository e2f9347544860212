from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bookbound.book import Place, Run, source_span

RUNS = (Run(0, 5, 2, 7), Run(5, 1, 10, 15), Run(8, 4, 20, 24))


def test_a_span_of_verbatim_text_maps_to_its_characters() -> None:
    assert source_span(RUNS, 1, 4) == (3, 6)


def test_a_span_over_several_runs_reaches_from_the_first_to_the_last() -> None:
    assert source_span(RUNS, 3, 10) == (5, 22)


def test_a_run_that_is_no_copy_is_taken_whole() -> None:
    assert source_span(RUNS, 5, 6) == (10, 15)


def test_a_span_of_inserted_text_is_empty_and_stands_before_what_follows() -> None:
    assert source_span(RUNS, 6, 8) == (20, 20)


def test_a_span_without_runs_is_empty() -> None:
    assert source_span((), 0, 4) == (0, 0)


@given(st.integers(0, 12), st.integers(0, 12))
def test_a_span_never_ends_before_it_starts(one: int, other: int) -> None:
    start, end = source_span(RUNS, min(one, other), max(one, other))
    assert start <= end


def test_a_place_names_what_repeats_once() -> None:
    place = Place("a.md", "/a", "Motion", "Motion", ("Gaits", "Walking"), "walking", 0, 9)
    assert place.path == ("Motion", "Gaits", "Walking")
    assert place.section == "Walking"
    assert place.link == "/a#walking"
    assert Place("a.md", "/a", "Motion", "Gaits", (), "", 0, 9).link == "/a"
