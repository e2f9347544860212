"""Tests the rules of chunks on real books with the shipped tokenizer."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tokenizers import Tokenizer

import bookbound
from bookbound.domain.chunk import Chunk
from bookbound.domain.document import Block, Page, find_source_span
from bookbound.domain.errors import SourceError
from bookbound.indexing.split import split_page
from bookbound.sources import parse_book

FindChunkSpans = Callable[[Page, list[Chunk]], list[tuple[int, int]]]
Check = Callable[[Chunk], None]
BUDGET = 256
MANY = 60
"""Larger books are sampled."""
BOOKS = [
    "byte_of_python", "docusaurus_docs", "fastapi_docs", "hf_deep_rl_course", "isaaclab_docs", "learn2love",
    "mdbook_guide", "mkdocs_docs", "physical_ai_2", "python_robotics_docs",
]  # fmt: skip


@pytest.fixture(scope="module")
def count() -> Callable[[str], int]:
    tokenizer = Tokenizer.from_file(str(Path(bookbound.__file__).parent / "models" / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text).ids)


def count_words(text: str) -> Counter[str]:
    """Counts the words of a text, without those so long that they were cut."""
    return Counter(word for word in text.split() if len(word) < BUDGET)


@pytest.mark.slow
@pytest.mark.parametrize("book", BOOKS)
def test_every_rule_holds_for(
    book: str, shared: Path, count: Callable[[str], int], find_chunk_spans: FindChunkSpans, check_units: Check
) -> None:
    try:
        pages = parse_book(shared / "data" / "books" / book).pages
    except SourceError as error:
        pytest.skip(f"no reader: {error}")
    known: set[str] = set()
    for page in pages[:: 1 + len(pages) // MANY]:
        chunks = split_page(page, count, BUDGET)
        found = count_words("\n".join(part for chunk in chunks for part in (chunk.text, *chunk.place.heading_path)))
        assert not count_words(page.text) - found, page.file
        for chunk, (start, _) in zip(chunks, find_chunk_spans(page, chunks), strict=True):
            assert count(chunk.embedding_text) <= BUDGET
            check_units(chunk)
            middle = len(chunk.text) // 2
            assert chunk.source_span(middle, middle + 1) == find_source_span(
                page.spans, start + middle, start + middle + 1
            )
            assert chunk.id not in known
            known.add(chunk.id)
    assert known


@pytest.mark.slow
@pytest.mark.parametrize("book", ["byte_of_python", "hf_deep_rl_course", "mdbook_guide"])
def test_code_is_quoted_exactly(book: str, shared: Path, count: Callable[[str], int]) -> None:
    seen = 0
    for page in parse_book(shared / "data" / "books" / book).pages:
        blocks = [page.text[block.start : block.end].rstrip() for block in code(page.blocks)]
        chunks = split_page(page, count, BUDGET)
        quoted = [chunk.text[a:b] for chunk in chunks for kind, a, b in chunk.units if kind == "code"]
        assert count_words("\n".join(quoted)) == count_words("\n".join(blocks)), page.file
        assert [block for block in blocks if count(block) <= BUDGET // 2 and block not in quoted] == [], page.file
        seen += len(blocks)
    assert seen > 50


def code(blocks: tuple[Block, ...]) -> Iterator[Block]:
    for block in blocks:
        yield from [block] if block.kind == "code" else code(block.children)


def all_chunks(folder: Path, count: Callable[[str], int]) -> list[Chunk]:
    return [chunk for page in parse_book(folder).pages for chunk in split_page(page, count, BUDGET)]


@pytest.mark.slow
def test_a_change_in_one_section_changes_no_other_id(shared: Path, tmp_path: Path, count: Callable[[str], int]) -> None:
    shutil.copytree(shared / "data" / "books" / "mdbook_guide", tmp_path / "book")
    before = all_chunks(tmp_path / "book", count)
    longest = max(before, key=lambda chunk: len(re.findall(r"\w+", chunk.text)))
    file = next((tmp_path / "book").rglob(Path(longest.place.file).name))
    source = file.read_text(encoding="utf-8")
    at = longest.place.end
    file.write_text(source[:at] + "\n\nA new paragraph, of a few words.\n\n" + source[at:], encoding="utf-8")
    after = {chunk.id for chunk in all_chunks(tmp_path / "book", count)}
    changed = [chunk.place for chunk in before if chunk.id not in after]
    assert {(place.file, place.headings) for place in changed} <= {(longest.place.file, longest.place.headings)}
    assert {chunk.id for chunk in before} != after
