"""Tests the rules of chunks on random pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bookbound.domain.chunk import Chunk
from bookbound.domain.document import Block, Page, find_source_span
from bookbound.indexing.split import split_page

Build = Callable[..., Page]
FindChunkSpans = Callable[[Page, list[Chunk]], list[tuple[int, int]]]
Check = Callable[[Chunk], None]
BUDGET = 240

prose = st.text(alphabet="ab. :?\n本é-|(", min_size=1, max_size=60)
long_words = st.sampled_from(["x" * 900, "word " * 300, "Short sentence. " * 60, "line\n" * 90, "本" * 500])
leaf = st.tuples(
    st.sampled_from(["paragraph", "code", "table", "formula", "list", "admonition"]),
    st.one_of(prose, prose, long_words),
)
tree: st.SearchStrategy[Any] = st.recursive(
    leaf,
    lambda inner: st.tuples(
        st.sampled_from(["list", "item", "table", "admonition"]), st.lists(inner, min_size=1, max_size=5)
    ),
    max_leaves=8,
)
heading = st.tuples(
    st.sampled_from(["h1", "h2", "h3", "h4"]),
    st.sampled_from(["Arms", "Reach", "Grip", " ", "Names " * 60]),
    st.sampled_from(["", "x"]),
)
parts = st.lists(st.one_of(heading, tree), max_size=12)
counts: st.SearchStrategy[Callable[[str], int]] = st.sampled_from(
    [
        len,
        lambda text: 2 + len(text.split()),
        lambda text: len(text) + len(text) ** 2 // 900,
        lambda text: (len(text) + 3) // 4,
    ]
)


def headings(blocks: tuple[Block, ...]) -> Iterator[Block]:
    return (block for block in blocks if block.kind == "heading")


@settings(deadline=None)
@given(parts=parts, count=counts)
def test_every_word_is_in_exactly_one_chunk_and_every_chunk_fits(
    build: Build, find_chunk_spans: FindChunkSpans, parts: list[Any], count: Callable[[str], int]
) -> None:
    page = build(*parts)
    chunks = split_page(page, count, BUDGET)
    spans = find_chunk_spans(page, chunks)
    covered = {at for start, end in spans for at in range(start, end)}
    left = {at for at, character in enumerate(page.text) if at not in covered and not character.isspace()}
    names = {name for chunk in chunks for name in (page.title, *chunk.place.headings)}
    for block in headings(page.blocks):
        if " ".join(page.text[block.start : block.end].split()) in names:
            left -= set(range(block.start, block.end))
    assert not left
    assert all(count(chunk.embedding_text) <= BUDGET for chunk in chunks)
    assert all(chunk.text == chunk.text.rstrip() and chunk.text.split("\n")[0].strip() for chunk in chunks)


@settings(deadline=None)
@given(parts=parts, data=st.data())
def test_the_spans_of_a_chunk_agree_with_those_of_the_page(
    build: Build, find_chunk_spans: FindChunkSpans, parts: list[Any], data: st.DataObject
) -> None:
    page = build(*parts)
    chunks = split_page(page, len, BUDGET)
    for chunk, (start, _) in zip(chunks, find_chunk_spans(page, chunks), strict=True):
        first, last = sorted(data.draw(st.tuples(*[st.integers(0, len(chunk.text))] * 2)))
        if first < last:
            assert chunk.source_span(first, last) == find_source_span(page.spans, start + first, start + last)
        assert all(
            chunk.text[run.at : run.at + run.length] == page.source[run.start : run.end]
            for run in chunk.spans
            if run.end - run.start == run.length
        )


@settings(deadline=None)
@given(parts=parts, more=parts)
def test_ids_are_unique_and_do_not_depend_on_later_sections(build: Build, parts: list[Any], more: list[Any]) -> None:
    body = ("paragraph", "Words enough to stand alone. " * 6)
    before = split_page(build(*parts, ("h2", "Last"), body), len, BUDGET)
    after = split_page(build(*parts, ("h2", "Last"), body, ("h1", "New"), *more), len, BUDGET)
    assert len({chunk.id for chunk in after}) == len(after)
    assert [chunk.id for chunk in before] == [chunk.id for chunk in after[: len(before)]]
    assert [chunk.position for chunk in after] == list(range(len(after)))


@settings(deadline=None)
@given(parts=parts, count=counts)
def test_the_units_of_a_chunk_contain_every_word_once_and_in_order(
    build: Build, check_units: Check, parts: list[Any], count: Callable[[str], int]
) -> None:
    for chunk in split_page(build(*parts), count, BUDGET):
        check_units(chunk)


@pytest.mark.parametrize("count", [len, lambda text: len(text.split())])
def test_splitting_is_repeatable(build: Build, count: Callable[[str], int]) -> None:
    page = build(("h2", "Reach"), ("paragraph", "Far. " * 200), ("list", [("item", "One"), ("item", "Two")]))
    assert split_page(page, count, BUDGET) == split_page(page, count, BUDGET)
